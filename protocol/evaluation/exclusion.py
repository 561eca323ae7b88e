"""Metrics without some of the queries, next to those of all queries: for queries with a (near-)duplicate, say."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.checks import ProtocolError
from protocol.evaluation.conventions import Convention
from protocol.evaluation.frameworks import as_numpy
from protocol.evaluation.ranked import n_undefined
from protocol.formats.arrays import as_integers, path_of, read_array
from protocol.formats.text import lines
from protocol.identity import NONE_EXCLUDED
from protocol.ranking import HammingCounts

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
        Row numbers of the queries that are left out, ascending.
    n_queries : int
        The number of queries that are left.
    metrics : dict of str to float
        The mean of each metric over the queries that are left; a metric of the pooled queries is computed from these.
    per_query : dict of str to ndarray of float64
        The values behind the means, as in `protocol.evaluation.Evaluation`.
    undefined : dict of str to int
        The number of these queries for which each metric is undefined.
    """

    excluded: NDArray[np.int64]
    n_queries: int
    metrics: dict[str, float]
    per_query: dict[str, NDArray[np.float64]]
    undefined: dict[str, int]

    @property
    def n_excluded(self) -> int:
        """The number of queries that are left out."""
        return len(self.excluded)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one a line."""
        return excluded_sha256(self.excluded.tolist())

    @property
    def label(self) -> str:
        """What identifies the set in a comparison, as `excluded_label`."""
        return excluded_label(self.n_excluded, self.sha256)


def excluded_label(n_excluded: int, sha256: str) -> str:
    """Return what identifies a set of excluded queries: how many they are, and the start of their digest.

    Examples
    --------
    >>> excluded_label(8, "1a2b3c4d5e6f7a8b"), excluded_label(0, "e3b0c44298fc1c14")
    ('8 queries (1a2b3c4d5e6f)', 'none')
    """
    if not n_excluded:
        return NONE_EXCLUDED
    return f"{n_excluded} {'query' if n_excluded == 1 else 'queries'} ({sha256[:_DIGEST]})"


def excluded_sha256(rows: Iterable[int]) -> str:
    """Return the SHA-256 of row numbers, one a line: what ``sha256sum`` prints for a file of them in this order."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def excluded_rows(values: Any, n_queries: int, name: str = _ROLE) -> NDArray[np.int64]:
    """Return the row numbers of the queries to leave out, ascending.

    Parameters
    ----------
    values : array_like of int, shape (n,), str or Path
        Row numbers of the query codes, from 0. A file is text with a row number a line (``.txt``, ``.csv`` or
        ``.tsv``, of which the first column is read, also as ``.gz``), or an array (``F.npy``, ``F.npz:key``,
        ``F.h5:dataset``, ``F.mat:variable``).
    n_queries : int
    name : str
        What errors call an array.

    Raises
    ------
    ProtocolError
        If the file can't be read, something is no row number or is out of range, a row number occurs twice, or no query
        would be left. An empty list leaves all of them.

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
    if array.ndim == 2 and 1 in array.shape:  # as MATLAB has lists
        array = array.ravel()
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        got = "a mask; numpy.flatnonzero returns its row numbers" if array.dtype == bool else _described(array)
        raise ProtocolError(f"{name}: expected row numbers of queries, shape (n,), got {got}.")
    rows = np.sort(as_integers(array, name))
    outside = rows[(rows < 0) | (rows >= n_queries)]
    if outside.size:
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_queries - 1}, got {outside[0]}.")
    twice = rows[1:][rows[1:] == rows[:-1]]
    if twice.size:
        raise ProtocolError(f"{name}: expected each row number once, got {twice[0]} more than once.")
    if rows.size == n_queries:
        raise ProtocolError(f"{name}: expected fewer than all {n_queries:,} queries, got every one of them.")
    return rows


def _described(array: NDArray) -> str:
    return f"shape {array.shape} of {array.dtype}"


def _listed(path: Path) -> NDArray[np.int64]:
    """Return the row numbers of a text file: the first field of each line that is not blank."""
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
    """Return the scores without some queries, from what was computed for all of them.

    Parameters
    ----------
    excluded : ndarray of int64
        As `excluded_rows` returns them.
    values, is_undefined : mapping of str to ndarray, shape (n_queries,) or (1,)
        By metric; a metric without a mask is defined for every query.
    counts : HammingCounts or None
        Of all queries; a metric of the pooled queries is computed again from those that are left. None for a ranking
        that has no such metric.
    rules : Convention
    """
    n_queries = max(own.size for own in values.values()) if counts is None else counts.n_queries
    kept = np.ones(n_queries, dtype=np.bool_)
    kept[excluded] = False
    left = None if counts is None else counts.of_queries(np.flatnonzero(kept))
    per_query, undefined = {}, {}
    for name, own in values.items():
        if own.size == n_queries:
            per_query[name] = own[kept]
            undefined[name] = int(is_undefined[name][kept].sum()) if name in is_undefined else 0
        elif left is not None:
            per_query[name] = scoring.evaluate(left, [name], empty=rules.empty(name))[name]
            undefined[name] = n_undefined(left, name, per_query[name])
    means = {name: scoring.mean(own) for name, own in per_query.items()}
    return WithoutQueries(excluded, int(kept.sum()), means, per_query, undefined)
