"""Reproduce, audit and compare the evaluation protocols of learning to hash.

The public API, each name loaded when it is first used:

compare
    Compare the scores of experiments and evaluations, where their protocols agree.
evaluate
    Score codes under a named convention.
get, names
    A registered plug-in, and the names of those of a kind.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocol.comparison import compare as compare
    from protocol.evaluation import evaluate as evaluate
    from protocol.registry import get as get
    from protocol.registry import names as names

__version__ = "0.1.0"

_MODULES = {
    "compare": "protocol.comparison",
    "evaluate": "protocol.evaluation",
    "get": "protocol.registry",
    "names": "protocol.registry",
}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'protocol' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
