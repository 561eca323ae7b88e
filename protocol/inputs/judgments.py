"""Read relevance judgments and results of search engines: qrels and runs of TREC, or matrices."""

import math
import operator
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named, path_of, read_stored
from protocol.inputs.formats import TEXT
from protocol.inputs.lists import read_listings

_RUN = (".run", ".trec", "")
_TEXT = (*_RUN, *TEXT, ".gz")
_MOST = 2**31  # larger levels would not fit in an array
_FORM = "`query Q0 item rank score tag`"
_BEIR = ["query-id", "corpus-id", "score"]
Number = TypeVar("Number", int, float)


def read_ids(values: Any, role: str, size: int | None) -> dict[str, int]:
    """Return the position of each id.

    Parameters
    ----------
    values : array_like, str or Path
        Ids in the order of the items, or a list in any form of `protocol.inputs.lists`.
    role : str
        The name in error messages: "query" or "database".
    size : int or None
        The number of items; None if it is not known.

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
    if size not in (None, len(positions)):
        items = f"{size:,} queries" if role == "query" else counted(size, "database item")
        raise ProtocolError(f"{name}: {counted(len(positions), 'id')} for {items}.")
    return positions


def judged_pairs(judgments: Any, query_ids: Any, database_ids: Any, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the judged pairs of a query and a database item and their levels, shape (3, n_pairs).

    Parameters
    ----------
    judgments : mapping of str to mapping of str to int, str or Path
        The levels of the items by query; or a file with lines ``query iteration item level`` (qrels), or ``query Q0
        item rank score tag`` (a run, whose items have level 1); or, below the header ``query-id corpus-id score`` of
        BEIR, with lines ``query item level``.
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
    for number, query, item, level in _lines(Path(judgments)) if is_file(judgments) else _entries(judgments):
        if query not in positions[0] or item not in positions[1]:
            word, name = (item, names[1]) if query in positions[0] else (query, names[0])
            place = f"{judgments}, line {number}" if is_file(judgments) else f"judgment {number}"
            unknown.append(f"{place}: {word!r} is not in {name}")
            continue
        pair = positions[0][query], positions[1][item]
        levels[pair] = min(max(level, 0), _MOST)
    if unknown:
        raise ProtocolError(f"{unknown[0]} ({counted(len(unknown), 'such judgment')}).")
    return np.array([(*pair, level) for pair, level in levels.items()], dtype=np.int64).reshape(-1, 3).T


def _entries(judgments: Any) -> Iterator[tuple[int, str, str, int]]:
    """Yield the number, query, item and level of each judgment of a mapping."""
    levels = [(query, *pair) for query, of_query in read_judgments(judgments).items() for pair in of_query.items()]
    for number, judgment in enumerate(levels, start=1):
        yield number, *judgment


def _lines(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Yield the number, query, item and level of each line of qrels, of the qrels of BEIR, or of a run."""
    lines, judged = text.lines(path, "judgments"), set[tuple[str, str]]()
    is_beir = lines[:1] != [] and lines[0].split() == _BEIR
    for number, line in enumerate(lines[is_beir:], start=1 + is_beir):
        fields = line.split()
        try:
            if is_beir:
                fields.insert(1, "0")
            query, _, item, level = [*fields[:3], "1"] if len(fields) == 6 else fields
            judgment = number, query, item, int(level)
        except ValueError:
            raise ProtocolError(
                f"{path}, line {number}: {textwrap.shorten(line, 60)!r} is neither `query iteration item level` nor a "
                f"line of a run, which has six fields, nor `query item level` below the header `{' '.join(_BEIR)}`."
            ) from None
        if (query, item) in judged:
            raise ProtocolError(f"{path}, line {number}: item {item!r} is judged twice for query {query!r}.")
        judged.add((query, item))
        yield judgment


def read_judgments(values: Any) -> dict[str, dict[str, int]]:
    """Return the level of each judged item of each query.

    Parameters
    ----------
    values : mapping of str to mapping of str to int, str or Path
        The levels of the items by query, or a file as for `judged_pairs`.

    Raises
    ------
    ProtocolError
        If the file can't be read, a pair is judged twice, or a level is not an integer.
    """
    if not is_file(values):
        return _by_query(values, "relevance", operator.index)
    levels = defaultdict[str, dict[str, int]](dict)
    for _, query, item, level in _lines(Path(values)):
        levels[query][item] = min(level, _MOST)
    return dict(levels)


def read_run(values: Any, query_ids: Any = None, database_ids: Any = None) -> dict[str, dict[str, float]]:
    """Return the score of each retrieved item of each query.

    Parameters
    ----------
    values : mapping of str to mapping of str to float, array_like, str or Path
        The scores of the items by query, or a file with lines ``query Q0 item rank score tag``. With `query_ids`, a
        row of items for each query, best first: an array (n_queries, K), or a file of it; -1 stands for no item. Text
        may have lines of different lengths.
    query_ids : array_like, str or Path, optional
        The queries of the rows.
    database_ids : array_like, str or Path, optional
        The ids of the database items, if the rows contain positions in it, from 0.

    Raises
    ------
    ProtocolError
        If something can't be read, a score is not a number, or a query has an item twice.
    """
    if query_ids is not None:
        return _by_rank(values, query_ids, database_ids)
    if not is_file(values):
        return _by_query(values, "run", _number)
    if database_ids is not None or path_of(values).suffix.lower() not in _TEXT:
        raise ProtocolError(f"{values}: rows of items need the ids of the queries as well; a run of TREC is text.")
    scores = defaultdict[str, dict[str, float]](dict)
    for number, query, item, score in _run_lines(Path(values)):
        if item in scores[query]:
            raise ProtocolError(f"{values}, line {number}: item {item!r} occurs twice for query {query!r}.")
        scores[query][item] = score
    return dict(scores)


def _by_query(values: Any, role: str, number: Callable[[Any], Number]) -> dict[str, dict[str, Number]]:
    """Return numbers by query and item from mappings in memory."""
    try:
        return {str(query): {str(item): number(one) for item, one in items.items()} for query, items in values.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ProtocolError(f"{role}: expected a file or {{query: {{item: number}}}} ({error}).") from None


def _number(value: Any) -> float:
    """Return a number; raise ValueError if it is NaN or anything else."""
    if math.isnan(float(value)):
        raise ValueError("NaN")
    return float(value)


def _by_rank(values: Any, query_ids: Any, database_ids: Any) -> dict[str, dict[str, float]]:
    """Return rows of items as a run whose scores are the negative ranks."""
    name, rows = named(values, "run"), _rows(values)
    positions = {} if database_ids is None else read_ids(database_ids, "database", None)
    ids, run = {str(position): item for item, position in positions.items()}, dict[str, dict[str, float]]()
    for row, (query, of_query) in enumerate(zip(read_ids(query_ids, "query", len(rows)), rows, strict=True), start=1):
        items = [item for item in of_query if item not in ("", "-1")]
        if database_ids is not None and not ids.keys() >= {*items}:
            raise ProtocolError(
                f"{name}: row {row:,}: {min({*items} - ids.keys())!r} is no position in the ids, from 0."
            )
        run[query] = {ids.get(item, item): -float(rank) for rank, item in enumerate(items)}
        if len(run[query]) < len(items):
            raise ProtocolError(f"{name}: row {row:,}: query {query!r} has an item twice.")
    return run


def _rows(values: Any) -> list[list[str]]:
    """Return rows of items as text."""
    if not (is_file(values) and path_of(values).suffix.lower() in _TEXT):
        array = np.atleast_2d(read_stored(values) if is_file(values) else as_numpy(values, "run"))
        if array.ndim > 2 or array.dtype.kind not in "iuU":
            raise ProtocolError(
                f"{named(values, 'run')}: expected rows of ids or positions, got {array.dtype} {array.shape}."
            )
        return array.astype(str).tolist()
    rows = [re.split(r"[\s,;]+", line.strip()) for line in text.lines(Path(values), "rows of items")]
    if rows and rows[0][1:2] == ["Q0"]:
        raise ProtocolError(f"{values}: a run of TREC names its queries and items. Leave out their ids.")
    return rows


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
    for number, query_id, item_id, score in _run_lines(path):
        try:
            if ids:
                query, item = ids[0][query_id], ids[1][item_id]
            else:
                query, item = int(query_id.removeprefix("q")), int(item_id.removeprefix("d"))
        except KeyError as error:
            raise ProtocolError(f"{path}, line {number}: {error} is not in the list of ids.") from None
        except ValueError:
            form = f"{_FORM} with row numbers (other ids need the lists of ids)"
            raise ProtocolError(f"{path}, line {number}: not {form}.") from None
        if not 0 <= query < n_queries:
            raise ProtocolError(
                f"{path}, line {number}: query {query:,} is outside the {n_queries:,} queries, counted from 0."
            )
        rows[query].append((-score, item))
    return [[item for _, item in sorted(rows[query], key=itemgetter(0))] for query in range(n_queries)]


def _run_lines(path: Path) -> Iterator[tuple[int, str, str, float]]:
    """Yield the number, query, item and score of each line of a run."""
    for number, line in enumerate(text.lines(path, "a run of TREC"), start=1):
        try:
            query, _, item, _, score, *_ = line.split()
            value = _number(score)
        except ValueError:
            raise ProtocolError(f"{path}, line {number}: not {_FORM}.") from None
        yield number, query, item, value
