"""Metrics without some of the queries, for example without those that have a near-duplicate in the database."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts
from protocol.evaluation.conventions import Convention
from protocol.evaluation.ranked import n_undefined
from protocol.inputs.arrays import as_integers, path_of, read_array
from protocol.inputs.conversion import as_numpy
from protocol.inputs.text import lines
from protocol.scores.identity import NONE_EXCLUDED

_ROLE = "exclude_queries"
_TEXT = ("", ".txt", ".csv", ".tsv", ".gz")
_HEADER = ("query", "row", "id")
_MOST_DIGITS = 18
_DIGEST = 12


@dataclass(frozen=True, eq=False)
class WithoutQueries:
    """The scores of an evaluation without some of its queries.

    Parameters
    ----------
    excluded : ndarray of int64, shape (n_excluded,)
        Row numbers of the excluded queries, ascending.
    n_queries : int
        The number of remaining queries.
    metrics : dict of str to float
        The mean of each metric over the remaining queries; a metric of the pooled queries is computed from these.
    per_query : dict of str to ndarray of float64
        The values of each query, as in `protocol.evaluation.Evaluation`.
    undefined : dict of str to int
        The number of remaining queries for which each metric is undefined.
    """

    excluded: NDArray[np.int64]
    n_queries: int
    metrics: dict[str, float]
    per_query: dict[str, NDArray[np.float64]]
    undefined: dict[str, int]

    @property
    def n_excluded(self) -> int:
        """The number of excluded queries."""
        return len(self.excluded)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one per line."""
        return excluded_sha256(self.excluded.tolist())

    @property
    def label(self) -> str:
        """The identifier of the excluded set in a comparison, see `excluded_label`."""
        return excluded_label(self.n_excluded, self.sha256)


def excluded_label(n_excluded: int, sha256: str) -> str:
    """Return the identifier of a set of excluded queries: their number, and the start of their digest.

    Examples
    --------
    >>> excluded_label(8, "1a2b3c4d5e6f7a8b"), excluded_label(0, "e3b0c44298fc1c14")
    ('8 queries (1a2b3c4d5e6f)', 'none')
    """
    if not n_excluded:
        return NONE_EXCLUDED
    return f"{n_excluded} {'query' if n_excluded == 1 else 'queries'} ({sha256[:_DIGEST]})"


def excluded_sha256(rows: Iterable[int]) -> str:
    """Return the SHA-256 of row numbers, one per line, which ``sha256sum`` also prints for a file of these lines."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def excluded_rows(values: Any, n_queries: int, name: str = _ROLE) -> NDArray[np.int64]:
    """Return the row numbers of the queries to exclude, ascending.

    Parameters
    ----------
    values : array_like of int, shape (n,), str or Path
        Row numbers of the query codes, from 0. A file is either text with one row number per line (``.txt``, ``.csv``
        or ``.tsv``, possibly ``.gz``; the first column is read), or an array (``F.npy``, ``F.npz:key``,
        ``F.h5:dataset``, ``F.mat:variable``).
    n_queries : int
    name : str
        The name of an array in error messages.

    Raises
    ------
    ProtocolError
        If the file can't be read, a value is not a row number or is out of range, a row number occurs twice, or no
        query would remain. An empty list is allowed.

    Examples
    --------
    >>> excluded_rows([7, 2], 10)
    array([2, 7])
    """
    if isinstance(values, (str, Path)):
        name = f"{values}: {name}"
        path = path_of(values)
        array = _listed(path) if path.suffix.lower() in _TEXT else read_array(values)
    else:
        array = as_numpy(values, name)
    if array.ndim == 2 and 1 in array.shape:  # lists in MATLAB files are 2-D
        array = array.ravel()
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        got = "a mask; pass numpy.flatnonzero(mask)" if array.dtype == bool else _described(array)
        raise ProtocolError(f"{name}: expected row numbers of queries, shape (n,), got {got}.")
    rows = np.sort(as_integers(array, name))
    outside = rows[(rows < 0) | (rows >= n_queries)]
    if outside.size:
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_queries - 1}, got {outside[0]}.")
    twice = rows[1:][rows[1:] == rows[:-1]]
    if twice.size:
        raise ProtocolError(f"{name}: expected each row number once, got {twice[0]} more than once.")
    if rows.size == n_queries:
        raise ProtocolError(f"{name}: expected fewer than all {n_queries:,} queries, got all of them.")
    return rows


def _described(array: NDArray) -> str:
    return f"shape {array.shape} of {array.dtype}"


def _listed(path: Path) -> NDArray[np.int64]:
    """Return the row numbers in a text file: the first field of each line that is not blank."""
    found = []
    for number, line in enumerate(lines(path, "row numbers of queries"), start=1):
        fields = line.replace(",", " ").replace(";", " ").split()
        if not fields or (number == 1 and fields[0].lower() in _HEADER):
            continue
        if not (fields[0].isascii() and fields[0].isdecimal()) or len(fields[0]) > _MOST_DIGITS:
            raise ProtocolError(f"{path}: line {number}: expected the row number of a query, got {fields[0][:80]!r}.")
        found.append(int(fields[0]))
    return np.array(found, dtype=np.int64)


def without_queries(
    excluded: NDArray[np.int64],
    values: Mapping[str, NDArray[np.float64]],
    is_undefined: Mapping[str, NDArray[np.bool_]],
    counts: HammingCounts | None,
    rules: Convention,
) -> WithoutQueries:
    """Return the scores without some queries, from the values that were computed for all queries.

    Parameters
    ----------
    excluded : ndarray of int64
        Row numbers from `excluded_rows`.
    values, is_undefined : mapping of str to ndarray, shape (n_queries,) or (1,)
        The values and masks of each metric; a metric without a mask is defined for every query.
    counts : HammingCounts or None
        The counts of all queries, from which metrics of the pooled queries are computed again. None for a ranking that
        has no such metric.
    rules : Convention
    """
    n_queries = max(of_metric.size for of_metric in values.values()) if counts is None else counts.n_queries
    remain = np.ones(n_queries, dtype=np.bool_)
    remain[excluded] = False
    remaining = None if counts is None else counts.of_queries(np.flatnonzero(remain))
    per_query, undefined = {}, {}
    for name, of_metric in values.items():
        if of_metric.size == n_queries:
            per_query[name] = of_metric[remain]
            undefined[name] = int(is_undefined[name][remain].sum()) if name in is_undefined else 0
        elif remaining is not None:
            per_query[name] = scoring.evaluate(remaining, [name], empty=rules.empty(name))[name]
            undefined[name] = n_undefined(remaining, name, per_query[name])
    means = {name: scoring.mean(of_metric) for name, of_metric in per_query.items()}
    return WithoutQueries(excluded, int(remain.sum()), means, per_query, undefined)
