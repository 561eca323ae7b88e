"""Reproduce, audit and compare the evaluation protocols of learning to hash.

This is the public API. Each name is loaded when it is first used:

Codes, Outputs
    The encoding of codes; real-valued outputs of the queries, for the asymmetric ranking.
Labels, Relevant, Judgments, Nearest
    Ground truths for `evaluate`.
compare
    Compare the scores of experiments and evaluations whose protocols agree.
leaderboard
    Rank methods: one that differs significantly from the first of a place opens the next place.
evaluate
    Score codes under a named convention.
evaluate_run
    Score a run of a search engine against relevance judgments.
Evaluator
    Score codes that arrive in batches, as in a training loop.
diagnose
    Find out what a function that scores codes computes.
explain
    Find the evaluation that gives a reported score.
verify
    Check a stored result by computing it again from the codes.
quantisation
    Measure the recall lost to binarisation and to other compressed representations (`protocol recall`).
attribute
    Divide lost recall among the code, the index and ties, and find results of a search engine that can't be right
    (`protocol recall --results`).
bucket_search
    Score the items that hash tables return.
audit
    Find leaks and imbalance in a split.
Evidence
    What an audit knows about the items of a dataset: features, judged pairs, groups.
find_duplicates
    Propose near-duplicates among images or vectors.
load_split
    Read a split of a pipeline: which items of the dataset are queries, database and training set.
get, names
    Return a registered plug-in, or the names of all plug-ins of one kind.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

from protocol import provenance

__version__ = provenance.VERSION

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_MODULES = {name.name: str(node.module) for node in _IMPORTS for name in node.names}
"""The module of each public name, which the stub lists once for type checkers too (SPEC 1 of Scientific Python)."""
_OF_COMMANDS = {"recall": "quantisation, or attribute for the results of a search engine", "list": "names and get"}
"""The functions of commands that have another name."""

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        hint = f"For `protocol {name}`, use {_OF_COMMANDS[name]}. " if name in _OF_COMMANDS else ""
        raise AttributeError(f"module 'protocol' has no attribute {name!r}. {hint}Public names: {', '.join(__all__)}.")
    try:
        return getattr(importlib.import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        from protocol.checks import missing_extra

        raise missing_extra(error) or error from None


def __dir__() -> list[str]:
    return sorted(__all__)
