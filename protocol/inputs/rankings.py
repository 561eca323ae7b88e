"""Read the results of search engines: the items, or their distances, that each query retrieved, best first."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text
from protocol.inputs.conversion import is_file, matrix_from, named

_JSON, _RUN = (".jsonl", ".ndjson"), (".run", ".trec", "")
_ROW = re.compile(r"[A-Za-z]?([0-9]{1,18})")


def read_results(values: Any, n_queries: int, role: str = "results", ids: Sequence[Mapping[str, int]] = ()) -> NDArray:
    """Return a row of numbers for each query, best item first.

    Parameters
    ----------
    values : array_like, str or Path
        A matrix (n_queries, K), or a file of it; ``F.jsonl`` with a list of numbers on each line; or ``F.run``,
        ``F.trec`` or a file without extension with lines ``query Q0 item rank score tag``, which are sorted by score.
        Queries and items of a run are row numbers from 0, after at most one letter: 12, d12 or d0000012; or `ids`.
    n_queries : int
    role : str, default="results"
        The name in error messages.
    ids : pair of mapping of str to int, optional
        The row numbers of queries and database items by their ids in a run, see `protocol.inputs.judgments.read_ids`.

    Returns
    -------
    ndarray, shape (n_queries, K)
        Rows that are too short end with -1.

    Raises
    ------
    ProtocolError
        If the file can't be read, or does not have a row for each query.
    """
    name, rows = named(values, role), None
    if is_file(values) and Path(values).suffix.lower() in _JSON:
        rows = _json_lines(Path(values))
    elif is_file(values) and Path(values).suffix.lower() in _RUN:
        rows = _run(Path(values), n_queries, ids)
    if rows is None:
        array = matrix_from(values, role, "K")
    else:
        array = np.full((len(rows), max(map(len, rows), default=0)), -1, np.result_type(np.int64, *map(np.array, rows)))
        for row, numbers in zip(array, rows, strict=True):
            row[: len(numbers)] = numbers
    if not array.size:
        raise ProtocolError(f"{name}: no query has a result.")
    if len(array) != n_queries:
        raise ProtocolError(f"{name}: {counted(len(array), 'row')} for {n_queries:,} queries.")
    return array


def _json_lines(path: Path) -> list[list[float]]:
    rows = []
    for number, line in enumerate(text.lines(path, "a list of numbers for each query"), start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, list) or not all(type(n) is float or (type(n) is int and abs(n) < 1 << 63) for n in row):
            raise ProtocolError(f"{path}: line {number}: not a list of numbers, such as [12, 7, 30].")
        rows.append(row)
    return rows


def _run(path: Path, n_queries: int, ids: Sequence[Mapping[str, int]]) -> list[list[float]]:
    rows = defaultdict[int, list[tuple[float, int]]](list)
    for number, line in enumerate(text.lines(path, "a run of TREC"), start=1):
        try:
            query_id, _, item_id, _, score, *_ = line.split()
            query, item = (ids[0][query_id], ids[1][item_id]) if ids else map(_row, (query_id, item_id))
            if math.isnan(float(score)):
                raise ValueError
        except KeyError as error:
            raise ProtocolError(f"{path}: line {number}: {error} is not in the list of ids.") from None
        except ValueError:
            numbers = "" if ids else " with row numbers such as 12 or d12 (other ids need the lists of ids)"
            raise ProtocolError(f"{path}: line {number}: not `query Q0 item rank score tag`{numbers}.") from None
        if query >= n_queries:
            raise ProtocolError(
                f"{path}: line {number}: query {query:,} is outside the {n_queries:,} queries, counted from 0."
            )
        rows[query].append((-float(score), item))
    return [[item for _, item in sorted(rows[query], key=itemgetter(0))] for query in range(n_queries)]


def _row(name: str) -> int:
    """Return the row number that an id contains."""
    if (found := _ROW.fullmatch(name)) is None:
        raise ValueError
    return int(found[1])
