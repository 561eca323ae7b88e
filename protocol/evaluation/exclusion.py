"""Lists of queries that are excluded, for example because they have a near-duplicate in the database."""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.arrays import as_integers, as_numpy, is_file, named, path_of, read_array
from protocol.inputs.text import lines
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.tables import read_table

_ROLE = "exclude_queries"
_TEXT = ("", ".txt", ".csv", ".tsv", ".gz")
_HEADER = ("query", "row", "id")
_MOST_DIGITS = 18
_DIGEST = 12
COLUMNS = ("split", "run", "position", "item", "id")
"""The columns of ``excluded.csv``: the position of an excluded query in the list of queries, its row number and id."""


def excluded_label(n_excluded: int, sha256: str) -> str:
    """Return the identifier of a set of excluded queries: their number, and the start of their digest.

    Examples
    --------
    >>> excluded_label(8, "1a2b3c4d5e6f7a8b"), excluded_label(0, "e3b0c44298fc1c14")
    ('8 queries (1a2b3c4d5e6f)', 'none')
    """
    queries = "1 query" if n_excluded == 1 else f"{n_excluded} queries"
    return f"{queries} ({sha256[:_DIGEST]})" if n_excluded else NONE_EXCLUDED


def excluded_sha256(rows: Iterable[int]) -> str:
    """Return the SHA-256 of row numbers, one per line, which ``sha256sum`` also prints for a file of these lines."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def excluded_rows(values: Any, n_queries: int, name: str = _ROLE) -> NDArray[np.int64]:
    """Return the row numbers of the queries to exclude, ascending.

    Parameters
    ----------
    values, name
        As for `rows_from`.
    n_queries : int

    Raises
    ------
    ProtocolError
        If the rows can't be read, one is out of range or occurs twice, or no query would remain. An empty list is
        allowed.

    Examples
    --------
    >>> excluded_rows([7, 2], 10)
    array([2, 7])
    """
    rows, name = np.sort(rows_from(values, name)), named(values, name)
    outside = rows[(rows < 0) | (rows >= n_queries)]
    if outside.size:
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_queries - 1:,}, got {outside[0]:,}.")
    twice = rows[1:][rows[1:] == rows[:-1]]
    if twice.size:
        raise ProtocolError(f"{name}: row number {twice[0]:,} is listed more than once.")
    if rows.size == n_queries:
        raise ProtocolError(f"{name}: no query would remain: all {n_queries:,} are excluded.")
    return rows


def read_positions(paths: Iterable[str | Path]) -> dict[tuple[str, int], NDArray[np.int64]]:
    """Return the positions of excluded queries by split and run, from the file ``excluded.csv`` if there is one."""
    return {
        (str(split), int(run)): own.to_numpy(dtype=np.int64)
        for table in map(read_table, paths)
        for (split, run), own in table.groupby(["split", "run"])["position"]
    }


def excluded_labels(
    positions: Mapping[tuple[str, int], NDArray[np.int64]], runs: Iterable[tuple[str, str, int]]
) -> dict[str, str]:
    """Return the column ``excluded_queries`` of a summary by feature and split, separated by a space.

    It is as `excluded_label` writes it, with the positions of all runs one after another;
    numbers that differ between the runs are given as a range.

    Parameters
    ----------
    positions : mapping
        As `read_positions` returns them.
    runs : iterable of (str, str, int)
        The feature, split and run of all scores.
    """
    of_place: dict[str, list[list[int]]] = {}
    for feature, split, run in sorted(runs):
        of_place.setdefault(f"{feature} {split}", []).append(list(positions.get((split, run), ())))
    labels = {}
    for place, rows in of_place.items():
        least, most = min(map(len, rows)), max(map(len, rows))
        label = excluded_label(most, excluded_sha256(itertools.chain.from_iterable(rows)))
        labels[place] = label if least == most else f"{least} to {label}"
    return labels


def rows_from(values: Any, name: str = _ROLE) -> NDArray[np.int64]:
    """Return row numbers of queries, as they are listed.

    Parameters
    ----------
    values : array_like of int, shape (n,), str or Path
        Row numbers, from 0. A file is either text with one row number per line (``.txt``, ``.csv`` or ``.tsv``,
        possibly ``.gz``; the first column is read), or an array (``F.npy``, ``F.npz:key``, ``F.h5:dataset``,
        ``F.mat:variable``).
    name : str
        The name in error messages.

    Raises
    ------
    ProtocolError
        If the file can't be read, or a value is not an integer.
    """
    name = named(values, name)
    if is_file(values):
        path = path_of(values)
        array = _listed(path) if path.suffix.lower() in _TEXT else read_array(values)
    else:
        array = as_numpy(values, name)
    if array.ndim == 2 and 1 in array.shape:  # lists in MATLAB files are 2-D
        array = array.ravel()
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        got = f"shape {array.shape} of {array.dtype}"
        raise ProtocolError(f"{name}: expected row numbers of queries, shape (n,), got {got}.")
    return as_integers(array, name)


def _listed(path: Path) -> NDArray[np.int64]:
    """Return the row numbers in a text file: the first field of each line that is not blank.

    A table of pairs, with the header ``query`` and ``database``, may contain a query several times.
    """
    rows, are_pairs = [], False
    for number, line in enumerate(lines(path, "row numbers of queries"), start=1):
        fields = line.replace(",", " ").replace(";", " ").split()
        if not fields or (number == 1 and fields[0].lower() in _HEADER):
            are_pairs |= "database" in map(str.lower, fields)
            continue
        if not (fields[0].isascii() and fields[0].isdecimal()) or len(fields[0]) > _MOST_DIGITS:
            raise ProtocolError(f"{path}: line {number}: {fields[0][:80]!r} is not the row number of a query.")
        rows.append(int(fields[0]))
    return np.array(list(dict.fromkeys(rows)) if are_pairs else rows, dtype=np.int64)
