"""Networks without PyTorch: they can be checked, and training reports what to install."""

import sys

import numpy as np
import pytest
from encoded import refuses

from protocol import registry

NAMES = [entry.name for entry in registry.entries("hasher") if entry.extra]


@pytest.mark.parametrize("name", NAMES)
def test_without_pytorch_the_error_gives_the_install_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    hasher = registry.get("hasher", name)()
    hasher.check()
    refuses(r"^torch is not installed\. .*: pip install '\.\[learned\]'$", hasher.fit, np.ones((4, 10)), [0, 0, 1, 1])
