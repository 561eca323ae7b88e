"""Queries to which nothing is relevant, and what each convention of the field makes of them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Split
from protocol.evaluation import CONVENTIONS

_WHAT = {"zero": "counted as 0 by", "drop": "left out of the mean by"}


def audit_relevance(split: Split) -> list[Finding]:
    """Return a finding for test queries that share no label with any database item, where the labels are known."""
    query, database = (split.dataset.class_labels(split[name]) for name in ("query", "database"))
    if query is None or database is None:
        return []
    return _unanswered("By class labels", _without_shared_label(query, database), split.dataset.ids, split["query"])


def audit_truth(truths: Mapping[str, Mapping[str, NDArray]], ids: NDArray, *, split: str) -> list[Finding]:
    """Return a finding for each ground truth under which queries have no relevant item.

    Parameters
    ----------
    truths : mapping
        By ground truth, its arrays: neighbour lists (``indptr``), or labels.
    ids : ndarray, shape (n_queries,)
        What the user calls the queries.
    split : str
        The split protocol whose database it is.
    """
    made = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            empty = _without_shared_label(arrays["query_labels"], arrays["database_labels"])
        made += _unanswered(f"Under {name}, {split} split", empty, ids, np.arange(len(ids)))
    return made


def conventions_of_undefined() -> str:
    """Return what each convention does with a query whose mAP is 0/0, in words."""
    parts = []
    for rule, what in _WHAT.items():
        names = [one.name for one in CONVENTIONS if any(one.empty(metric) == rule for metric in one.called_map)]
        parts.append(f"{what} {', '.join(names)}")
    return "; ".join(parts)


def _without_shared_label(query: NDArray, database: NDArray) -> NDArray[np.int64]:
    """Return the places of queries without a label that some database item has."""
    if query.ndim == 1:
        return np.flatnonzero(~np.isin(query, database))
    return np.flatnonzero(~(query & database.any(axis=0)).any(axis=1))


def _unanswered(truth: str, empty: NDArray[np.int64], ids: NDArray | None, queries: NDArray) -> list[Finding]:
    names = queries[empty] if ids is None else ids[queries[empty]]
    return found(
        "query-without-relevant",
        "warning",
        len(empty),
        names.tolist(),
        truth=truth,
        conventions=conventions_of_undefined(),
    )
