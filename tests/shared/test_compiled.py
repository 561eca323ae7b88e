"""Compiled loops where neither the package nor the home folder can be written to."""

import os
import shutil
import subprocess
import sys

import pytest

LARGE = """
import numpy as np
from protocol import evaluate

rng = np.random.default_rng(0)
query, database = rng.random((1000, 64)) > 0.5, rng.random((300_000, 64)) > 0.5
classes = np.arange(300_000) % 10
found = evaluate(query, database, query_labels=classes[:1000], database_labels=classes, metrics=["mAP"])

import sys
from protocol.compiled import __file__ as file

print("protocol.counting._kernels" in sys.modules, file, f"{found.metrics['mAP']:.3f}")
"""


@pytest.fixture
def package(root, tmp_path):
    """A copy of the package in which numba can store nothing: root may write to any folder, but not to a file's."""
    copy = tmp_path / "installed" / "protocol"
    shutil.copytree(root / "protocol", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    return copy


def run(package, temporary, code):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": "/proc/nowhere", "PYTHONPATH": str(package.parent), "TMPDIR": str(temporary)}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=package.parent, env=environment, capture_output=True, text=True
    )


def test_compiled_code_is_stored_in_a_private_temporary_folder(package, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = run(package, temporary, LARGE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"True {package / 'compiled.py'} 0.100\n"
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert any(path.name.startswith("_kernels.count_planes") for path in folder.rglob("*.nbi"))


def test_a_folder_that_others_can_write_to_is_not_used(package, tmp_path):
    temporary = tmp_path / "temporary"
    folder = temporary / f"hashing-protocol-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    code = """
import numpy as np
from protocol.features import _kernels

shared = np.empty((1, 2, 8, 2), np.float32)
_kernels.share(np.zeros((1, 2, 2), np.float32), np.ones((1, 2, 2), np.float32), shared)
print(shared.sum())
"""
    done = run(package, temporary, code)
    assert (done.returncode, done.stdout) == (0, "4.0\n")
    assert done.stderr.count("Warning: ") == done.stderr.count("NUMBA_CACHE_DIR to a folder") == 1
    assert not list(folder.iterdir())
