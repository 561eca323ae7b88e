"""The input of ground truths, and a ground truth among the items of a single set, written in blocks."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protocol.provenance.storage import Writer

BLOCK = 1 << 26
"""Pairs of items per block, on which no result depends; if 5 % of them have a level, they take about 100 MB."""


class Items:
    """The items of one partition: prepared features (n, d) and class labels (n,) or (n, n_classes), or None.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d), or callable that returns it
        A callable is called when the features are first read, so those of a large database are never computed for a
        ground truth that only requires labels.
    labels : ndarray of int, shape (n,), or of bool, shape (n, n_classes), or None

    Examples
    --------
    >>> Items(lambda: np.zeros((2, 3), dtype=np.float32), None).X.shape
    (2, 3)
    """

    def __init__(self, X: NDArray[np.float32] | Callable[[], NDArray[np.float32]], labels: NDArray | None) -> None:
        self._X, self.labels = X, labels

    @cached_property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name
        """The features (n, d)."""
        return self._X() if callable(self._X) else self._X


def write_among(file: Writer, rule: Callable[..., dict[str, NDArray]], items: Items, **options: object) -> None:
    """Write a ground truth for one set of items, in which each item is a query and the set is the database.

    Parameters
    ----------
    file : Writer
        The output: the arrays of the rule, with ``indices`` and ``levels`` as int32.
    rule : callable
        A ground truth in which a query's relevant items do not depend on the other queries.
    items : Items
        Queries, database and training set.
    **options
        Options of the rule, and its ``seed``.
    """
    n_queries, n_pairs = max(1, BLOCK // len(items.X)), 0
    for start in range(0, len(items.X), n_queries):
        rows = slice(start, start + n_queries)
        query = Items(items.X[rows], None if items.labels is None else items.labels[rows])
        arrays = rule(query, items, items, **options)
        if "query_labels" in arrays:
            file.append("query_labels", arrays.pop("query_labels"))
        if "indptr" in arrays:
            ends = arrays.pop("indptr") + n_pairs
            file.append("indptr", ends[start > 0 :])
            n_pairs = int(ends[-1])
        for name in ("indices", "levels"):
            if name in arrays:
                file.append(name, arrays.pop(name).astype(np.int32))
    for name, array in arrays.items():  # the same for every block
        file.put(name, array)
