"""Compiled loops where neither the package nor the home folder can be written to."""

import os
import shutil
import subprocess
import sys

CODE = """
import numpy as np
from protocol.features import _kernels

shared = np.empty((1, 2, 8, 2), np.float32)
_kernels.share(np.zeros((1, 2, 2), np.float32), np.ones((1, 2, 2), np.float32), shared)
print(shared.sum(), _kernels.__file__)
"""


def test_where_nothing_can_be_stored_loops_are_compiled_with_one_warning(root, tmp_path):
    """In a copy of the package in which numba can store nothing: root may write to any folder, but not to a file's."""
    copy = tmp_path / "protocol"
    shutil.copytree(root / "protocol", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": "/proc/nowhere", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"4.0 {copy / 'features' / '_kernels.py'}\n")
    assert done.stderr.count("Warning: ") == done.stderr.count("NUMBA_CACHE_DIR to a folder") == 1
