"""Networks without PyTorch: they can be listed and checked, and training reports what to install."""

import subprocess
import sys
import tomllib

import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError

NAMES = [entry.name for entry in registry.entries("hasher") if entry.extra]


@pytest.mark.parametrize("name", NAMES)
def test_without_pytorch_the_error_gives_the_install_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    hasher = registry.get("hasher", name)()
    hasher.check()
    with pytest.raises(ProtocolError, match=r"^torch is not installed\. .*: pip install '\.\[learned\]'$"):
        hasher.fit(np.ones((4, 10)), [0, 0, 1, 1])


def test_network_hashers_declare_their_extra(root):
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras[registry.entry("hasher", "deep_squared").extra] == ["torch>=2.3"]


def test_pytorch_is_not_imported_until_a_network_is_trained():
    code = (
        "import sys\n"
        "sys.modules['torch'] = None  # as if it were not installed: importing it fails\n"
        "from protocol import registry\n"
        "print(*registry.names('hasher'), 'torch' in sys.modules and sys.modules['torch'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(NAMES) < set(done.stdout.split())
    assert done.stdout.split()[-1] == "None"
