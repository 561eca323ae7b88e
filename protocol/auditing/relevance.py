"""Find queries without relevant items, and describe how each convention of the field counts them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Split
from protocol.evaluation import CONVENTIONS

_TREATMENTS = {"zero": "counted as 0 by", "drop": "left out of the mean by"}


def audit_relevance(split: Split) -> list[Finding]:
    """Return a finding for test queries that share no label with any database item, if labels are known."""
    query, database = (split.dataset.class_labels(split[name]) for name in ("query", "database"))
    if query is None or database is None:
        return []
    return _without_relevant(
        "By class label", _without_shared_label(query, database), split.dataset.ids, split["query"]
    )


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
    made = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            empty = _without_shared_label(arrays["query_labels"], arrays["database_labels"])
        made += _without_relevant(f"With the ground truth {name} on the split {split}", empty, ids, np.arange(len(ids)))
    return made


def conventions_of_undefined() -> str:
    """Return how each convention counts a query whose average precision is 0/0, in words."""
    parts = []
    for rule, treatment in _TREATMENTS.items():
        names = [
            convention.name
            for convention in CONVENTIONS
            if any(convention.empty(metric) == rule for metric in convention.called_map)
        ]
        parts.append(f"{treatment} {', '.join(names)}")
    return "; ".join(parts)


def _without_shared_label(query: NDArray, database: NDArray) -> NDArray[np.int64]:
    """Return the positions of queries that share no label with any database item."""
    if query.ndim == 1:
        return np.flatnonzero(~np.isin(query, database))
    return np.flatnonzero(~(query & database.any(axis=0)).any(axis=1))


def _without_relevant(truth: str, empty: NDArray[np.int64], ids: NDArray | None, queries: NDArray) -> list[Finding]:
    names = queries[empty] if ids is None else ids[queries[empty]]
    return found(
        "query-without-relevant",
        "warning",
        len(empty),
        names.tolist(),
        truth=truth,
        conventions=conventions_of_undefined(),
    )
