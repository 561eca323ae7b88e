"""Check codes against labels, and labels as ground truth of the queries."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Split
from protocol.auditing.runs import Run
from protocol.counting import LabelRelevance
from protocol.evaluation.code_utilisation import ITEMS_PER_CLASS, code_utilisation, tells_constant_bits


def audit_codes(run: Run) -> tuple[list[Finding], list[str]]:
    """Return the findings on the codes of a split, and the checks that were not possible."""
    split, codes = run.split, run.codes
    if codes is None:
        return [], ["one-code-per-class, collapsed-codes, constant-bits (need codes)"]
    query, database = (np.asarray(split.dataset.class_labels(split.entries[side])) for side in ("query", "database"))
    utilisation = code_utilisation(codes, LabelRelevance(query, database))
    bits, n_items = utilisation.constant_bits, len(codes.database)
    facts: dict[str, tuple[str, int, Any]] = {
        "one-code-per-class": ("warning", round(utilisation.one_code * n_items), ()),
        "collapsed-codes": ("warning", n_items, ()),
        "constant-bits": ("information", len(bits), [f"bit {bit}" for bit in bits]),
    }
    sentences = utilisation.sentences().items()
    findings = [one for name, what in sentences for one in findings_of(name, *facts[name], what=what)]
    need = f"one-code-per-class (needs {ITEMS_PER_CLASS} items of each class on average, in the database)"
    not_checked = [need] * (utilisation.n_items < ITEMS_PER_CLASS * utilisation.n_classes)
    not_checked += ["constant-bits (needs more database items)"] * (not tells_constant_bits(n_items, codes.n_bits))
    return findings, not_checked


# Queries without relevant items


def audit_relevance(split: Split) -> list[Finding]:
    """Return a finding for test queries that share no label with any database item, if labels are known."""
    query, database = (split.dataset.class_labels(split[name]) for name in ("query", "database"))
    if query is None or database is None:
        return []
    queries = split["query"][_without_shared_label(query, database)]
    return split.findings("query-without-relevant", "warning", queries, truth="By class label")


def audit_truth(truths: Mapping[str, Mapping[str, NDArray]], ids: NDArray, *, split: str) -> list[Finding]:
    """Return a finding for each ground truth in which queries have no relevant items.

    Parameters
    ----------
    truths : mapping
        The arrays of each ground truth, by name: neighbour lists (``indptr``), or labels.
    ids : ndarray, shape (n_queries,)
        The names of the queries.
    split : str
        The split protocol to which the database belongs.
    """
    findings = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            empty = _without_shared_label(arrays["query_labels"], arrays["database_labels"])
        truth = f"With the ground truth {name} on the split {split}"
        findings += findings_of("query-without-relevant", "warning", len(empty), ids[empty].tolist(), truth=truth)
    return findings


def _without_shared_label(query: NDArray, database: NDArray) -> NDArray[np.int64]:
    """Return the positions of queries that share no label with any database item."""
    if query.ndim == 1:
        return np.flatnonzero(~np.isin(query, database))
    return np.flatnonzero(~(query & database.any(axis=0)).any(axis=1))
