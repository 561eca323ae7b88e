"""Read relevance judgments and results of search engines: qrels and runs of TREC, or matrices."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named
from protocol.inputs.lists import read_listings

_RUN = (".run", ".trec", "")
_MOST = 2**31  # larger levels would not fit in an array


def read_ids(values: Any, role: str, size: int) -> dict[str, int]:
    """Return the position of each id.

    Parameters
    ----------
    values : array_like, str or Path
        Ids in the order of the items, or a list in any form of `protocol.inputs.lists`.
    role : str
        The name in error messages: "query" or "database".
    size : int
        The number of items.

    Raises
    ------
    ProtocolError
        If the file can't be read, an id is empty or occurs twice, or there are more or fewer ids than items.
    """
    name = named(values, f"{role} ids")
    if is_file(values):
        ids = read_listings({role: values}, has_ids=True, form="id")[role].items
    else:
        ids = as_numpy(values, name).ravel()
    positions: dict[str, int] = {}
    for position, item in enumerate(map(str, ids.tolist())):
        if not item or item in positions:
            problem = f"{item!r} is also the id of item {positions[item] + 1:,}" if item else "empty"
            raise ProtocolError(f"{name}: item {position + 1:,}: {problem}.")
        positions[item] = position
    if len(positions) != size:
        items = f"{size:,} queries" if role == "query" else counted(size, "database item")
        raise ProtocolError(f"{name}: {counted(len(positions), 'id')} for {items}.")
    return positions


def judged_pairs(judgments: str | Path, query_ids: Any, database_ids: Any, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the judged pairs of a query and a database item and their levels, shape (3, n_pairs).

    Parameters
    ----------
    judgments : str or Path
        A file with lines ``query iteration item level`` (qrels), or ``query Q0 item rank score tag`` (a run, whose
        items have level 1).
    query_ids, database_ids : array_like, str or Path
    sizes : sequence of int
        The numbers of queries and database items.

    Raises
    ------
    ProtocolError
        If something can't be read, an id is not in its list, a pair is judged twice, or there are more or fewer ids
        than items.
    """
    positions = read_ids(query_ids, "query", sizes[0]), read_ids(database_ids, "database", sizes[1])
    names = named(query_ids, "query ids"), named(database_ids, "database ids")
    levels, unknown = dict[tuple[int, int], int](), list[str]()
    for number, query, item, level in _lines(Path(judgments)):
        if query not in positions[0] or item not in positions[1]:
            word, name = (item, names[1]) if query in positions[0] else (query, names[0])
            unknown.append(f"line {number}: {word!r} is not in {name}")
            continue
        pair = positions[0][query], positions[1][item]
        if pair in levels:
            raise ProtocolError(f"{judgments}: line {number}: item {item!r} is judged twice for query {query!r}.")
        levels[pair] = min(max(level, 0), _MOST)
    if unknown:
        raise ProtocolError(f"{judgments}: {unknown[0]} ({counted(len(unknown), 'such judgment')}).")
    return np.array([(*pair, level) for pair, level in levels.items()], dtype=np.int64).reshape(-1, 3).T


def _lines(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Yield the number, query, item and level of each line of qrels or a run."""
    for number, line in enumerate(text.lines(path, "judgments"), start=1):
        fields = line.split()
        try:
            query, _, item, level = [*fields[:3], "1"] if len(fields) == 6 else fields
            yield number, query, item, int(level)
        except ValueError:
            raise ProtocolError(
                f"{path}: line {number}: {textwrap.shorten(line, 60)!r} is neither `query iteration item level` nor a "
                "line of a run, which has six fields."
            ) from None


def read_results(values: Any, n_queries: int, role: str = "results", ids: Sequence[Mapping[str, int]] = ()) -> NDArray:
    """Return a row of numbers for each query, best item first.

    Parameters
    ----------
    values : array_like, str or Path
        A matrix (n_queries, K), or a file of it; or ``F.run``, ``F.trec`` or a file without extension with lines
        ``query Q0 item rank score tag``, which are sorted by score. Queries and items of a run are row numbers from 0,
        also as q12 and d12, as this package writes them; or `ids`.
    n_queries : int
    role : str, default="results"
        The name in error messages.
    ids : pair of mapping of str to int, optional
        The row numbers of queries and database items by their ids in a run, see `read_ids`.

    Returns
    -------
    ndarray, shape (n_queries, K)
        Rows that are too short end with -1.

    Raises
    ------
    ProtocolError
        If the file can't be read, or does not have a row for each query.
    """
    name = named(values, role)
    if is_file(values) and Path(values).suffix.lower() in _RUN:
        rows = _run(Path(values), n_queries, ids)
        array = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int64)
        for row, items in zip(array, rows, strict=True):
            row[: len(items)] = items
    else:
        array = matrix_from(values, role, "K")
    if not array.size:
        raise ProtocolError(f"{name}: no query has a result.")
    if len(array) != n_queries:
        raise ProtocolError(f"{name}: {counted(len(array), 'row')} for {n_queries:,} queries.")
    return array


def _run(path: Path, n_queries: int, ids: Sequence[Mapping[str, int]]) -> list[list[int]]:
    rows = defaultdict[int, list[tuple[float, int]]](list)
    for number, line in enumerate(text.lines(path, "a run of TREC"), start=1):
        try:
            query_id, _, item_id, _, score, *_ = line.split()
            if ids:
                query, item = ids[0][query_id], ids[1][item_id]
            else:
                query, item = int(query_id.removeprefix("q")), int(item_id.removeprefix("d"))
            if math.isnan(float(score)):
                raise ValueError
        except KeyError as error:
            raise ProtocolError(f"{path}: line {number}: {error} is not in the list of ids.") from None
        except ValueError:
            numbers = "" if ids else " with row numbers (other ids need the lists of ids)"
            raise ProtocolError(f"{path}: line {number}: not `query Q0 item rank score tag`{numbers}.") from None
        if not 0 <= query < n_queries:
            raise ProtocolError(
                f"{path}: line {number}: query {query:,} is outside the {n_queries:,} queries, counted from 0."
            )
        rows[query].append((-float(score), item))
    return [[item for _, item in sorted(rows[query], key=itemgetter(0))] for query in range(n_queries)]
