"""Read relevance judgments and runs of search engines, all as ``{query: {item: number}}``."""

import csv
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text, validation
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named, read_stored
from protocol.inputs.formats import TEXT
from protocol.inputs.lists import ids_from

_RUNS = (".run", ".trec", "")
"""The extensions of runs among files of arrays."""
_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_MOST = 2**31  # larger levels would not fit in an array
_AS_RUN = "Lines of a query, an item and a score are read as a run of TREC: F.run with `query Q0 item rank score tag`, "
_AS_RUN += "whose score is minus the distance, or the similarity."
_Ids = Sequence[Mapping[str, int]]
Number = TypeVar("Number", int, float)


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
        As for `protocol.inputs.lists.ids_from`.
    """
    ids = ids_from(values, f"{role} ids", size, noun="query" if role == "query" else "database item")
    return {item: position for position, item in enumerate(map(str, ids.tolist()))}


def judged_pairs(judgments: Any, query_ids: Any, database_ids: Any, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the pairs of a query and a relevant database item and their levels above 0, shape (3, n_pairs).

    Parameters
    ----------
    judgments : mapping, str or Path
        As for `read_judgments`.
    query_ids, database_ids : array_like, str or Path
    sizes : sequence of int
        The numbers of queries and database items.

    Raises
    ------
    ProtocolError
        If something can't be read, an id is not in its list, a pair is judged twice, or there are more or fewer ids
        than items.
    """
    queries, items = read_ids(query_ids, "query", sizes[0]), read_ids(database_ids, "database", sizes[1])
    judged = read_judgments(judgments)
    pairs = [(query, item, level) for query, levels in judged.items() for item, level in levels.items()]
    sides = ((0, queries, named(query_ids, "query ids")), (1, items, named(database_ids, "database ids")))
    unknown = [f"{one[side]!r} is not in {name}" for one in pairs for side, ids, name in sides if one[side] not in ids]
    if unknown:
        name = named(judgments, "relevance")
        raise ProtocolError(f"{name}: {unknown[0]} ({counted(len(unknown), 'such judgment')}).")
    rows = [(queries[query], items[item], level) for query, item, level in pairs if level > 0]
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T


def read_judgments(values: Any) -> dict[str, dict[str, int]]:
    """Return the level of each judged item of each query.

    Parameters
    ----------
    values : mapping of str to mapping of str to int, str or Path
        The levels of the items by query; or a file with lines ``query iteration item level`` (qrels of TREC), or below
        the header ``query-id corpus-id score`` of BEIR, with lines ``query item level``.

    Raises
    ------
    ProtocolError
        If the file can't be read, a pair is judged twice, or a level is not an integer.
    """
    return _numbers(values, "relevance", "query iteration item level", _level)


def read_run(values: Any) -> dict[str, dict[str, float]]:
    """Return the score of each retrieved item of each query.

    Parameters
    ----------
    values : mapping of str to mapping of str to float, str or Path
        The scores of the items by query, or a file with lines ``query Q0 item rank score tag``.

    Raises
    ------
    ProtocolError
        If the file can't be read, a score or rank is not a number, scores ascend with the rank, or a query has an item
        twice.
    """
    return _numbers(values, "run", "query Q0 item rank score tag", _score)


def _level(value: Any) -> int:
    return min(int(value) if isinstance(value, str) else operator.index(value), _MOST)


def _score(value: Any) -> float:
    """Return a number; raise ValueError if it is NaN or anything else."""
    if math.isnan(float(value)):
        raise ValueError("NaN")
    return float(value)


def _numbers(values: Any, role: str, form: str, number: Callable[[Any], Number]) -> dict[str, dict[str, Number]]:
    """Return the numbers in a mapping or in lines of a form; judgments may also have the header and form of BEIR."""
    if not is_file(values):
        try:
            return {
                text.without_dot(str(query)): {text.without_dot(str(item)): number(x) for item, x in items.items()}
                for query, items in values.items()
            }
        except (AttributeError, TypeError, ValueError) as error:
            raise ProtocolError(f"{role}: expected a file or {{query: {{item: number}}}} ({error}).") from None
    path, numbers = Path(values), defaultdict[str, dict[str, Number]](dict)
    last, steps = dict[str, tuple[float, Number]](), set[int]()
    lines = text.lines(path, f"{role} in a format of TREC")
    first = int(number is _level and list(map(str.split, lines[:1])) == [_BEIR_HEADER])
    form = "query item level" if first else form
    for at, line in enumerate(lines[first:], start=first + 1):
        try:
            fields = dict(zip(form.split(), line.split(), strict=True))
            rank, value = float(fields.get("rank", 0)), number(fields.get("score", fields.get("level")))
        except ValueError:
            raise ProtocolError(f"{path}, line {at}: {line.strip()[:60]!r} is not `{form}`.") from None
        query, item = text.without_dot(fields["query"]), text.without_dot(fields["item"])
        if item in numbers[query]:
            raise ProtocolError(f"{path}, line {at}: item {item!r} occurs twice for query {query!r}.")
        numbers[query][item] = value
        before, of_before = last.get(query, (rank, value))
        steps.add((rank > before) * ((value > of_before) - (value < of_before)))
        last[query] = rank, value
    if 1 in steps and -1 not in steps:
        hint = "If they are distances, write minus these, because the largest score is that of the first item"
        raise ProtocolError(f"{path}: scores ascend with the rank. {hint}.")
    return dict(numbers)


def read_results(values: Any, n_queries: int, role: str = "results", ids: _Ids = ()) -> NDArray:
    """Return a row of numbers for each query, best item first.

    Parameters
    ----------
    values : array_like, str or Path
        A matrix (n_queries, K) of row numbers, or of `ids`, or a file of it; or ``F.run``, ``F.trec`` or a file without
        extension with lines ``query Q0 item rank score tag``, which are sorted by score. Queries and items of a run are
        row numbers from 0, also as q12 and d12, as this package writes them; or `ids`.
    n_queries : int
    role : str, default="results"
        The name in error messages.
    ids : pair of mapping of str to int, optional
        The row numbers of queries and database items by their ids, see `read_ids`. Without ids of queries, those in a
        run are row numbers. Numbers in a matrix are ids if all are, and some can't be row numbers.

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
    if not is_file(values) or Path(values).suffix.lower() not in _RUNS:
        array = _of_ids(values, name, ids)
        array = matrix_from(values, role, "K") if array is None else array
        if len(array) != n_queries:
            hint = f" {_AS_RUN}" * (is_file(values) and array.shape[1] in (3, 4))
            raise ProtocolError(f"{name}: {counted(len(array), 'row')} for {n_queries:,} queries.{hint}")
        return array
    rows = _ranked_rows(read_run(values), name, ids)
    if not rows:
        raise ProtocolError(f"{name}: no query has a result.")
    validation.rows(list(rows), n_queries, f"{name}: queries")
    return _padded([rows.get(row, []) for row in range(n_queries)])


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return rows as a matrix, in which those that are too short end with -1."""
    return np.array([*zip_longest(*rows, fillvalue=-1)], dtype=np.int64).T


def _of_ids(values: Any, name: str, ids: _Ids) -> NDArray | None:
    """Return the row numbers of items in a matrix of ids; None if it has row numbers.

    Raises
    ------
    ProtocolError
        If it has ids that are not given, or numbers that may be ids or row numbers.
    """
    queries, given = [*ids, {}, {}][:2]
    if is_file(values) and Path(values).suffix.lower() in TEXT:
        rows = _cells(Path(values))
        are_known = [[word in queries or word in given or text.is_number(word) for word in row] for row in rows]
        is_header = not (rows[0][0] and any(are_known[0])) and all(chain(*are_known[1:]))
        rows = rows[int(is_header and len(rows) > 1) :]
        has_queries = ids and sorted(row[0] for row in rows) == sorted(queries)
        if has_queries and queries.keys().isdisjoint(given):  # the first column has the queries
            rows = [row[1:] for row in sorted(rows, key=lambda row: queries[row[0]])]
            if len(ids) == 1:
                return np.array([[float(word or "nan") for word in row] for row in rows])
    else:
        array = read_stored(values) if is_file(values) else as_numpy(values, name)
        if array.ndim != 2 or not (len(ids) > 1 or array.dtype.kind == "U"):
            return None
        is_whole = array.dtype.kind == "f" and validation.is_integer(array).all()
        rows = (array.astype(np.int64) if is_whole else array).astype(str).tolist()
    words = {*chain.from_iterable(rows)} - {"-1", ""}
    are_numbers = all(map(text.is_number, words))
    no_rows = sorted(word for word in words if are_numbers and not 0 <= float(word) < len(given))
    if lacking := words - given.keys():
        if are_numbers and not (given and no_rows):
            _check_cells(rows, name)
            if given:
                text.INPUTS.info("%s: row numbers, because %s is not an id of the database", name, min(lacking))
            return None
        hint = "If lines begin with ids of queries, pass these as well." if ids and not queries else _AS_RUN
        unknown = min(sorted(lacking & {*no_rows} or lacking), key=text.is_number)[:60]
        raise ProtocolError(f"{name}: {unknown!r} is neither a row number nor an id of the database. {hint}")
    if no_rows:
        row = f"{no_rows[0]} is not a row number of {counted(len(given), 'database item')}"
        text.INPUTS.info("%s: ids of the database, because %s", name, row)
    elif are_numbers and any(given[word] != float(word) for word in words):
        hint = "Save a run of TREC if they are ids, or leave out the lists of ids"
        raise ProtocolError(f"{name}: {min(words)!r} may be an id or a row number. {hint}.")
    return _padded([[given.get(word, -1) for word in row] for row in rows])


def _check_cells(rows: Sequence[Sequence[str]], name: str) -> None:
    """Raise ProtocolError if a row of items has an empty cell, or fewer cells than others below the first row."""
    n_cells = max(map(len, rows[1:] or rows))
    if short := [row for row in rows if "" in row or len(row) < n_cells]:
        row = f"{','.join(short[0])[:60]!r} has an empty cell, or fewer than other rows"
        raise ProtocolError(f"{name}: {row}. Write -1 where there is no item.")


def _cells(path: Path) -> list[list[str]]:
    """Return the cells of each line of a text file, at least one line."""
    rows = [_words(line.strip()) for line in text.lines(path, "results") if line.strip()]
    if not rows:
        raise ProtocolError(f"{path}: the file is empty.")
    return rows


def _words(line: str) -> list[str]:
    """Return the cells of a line: between commas, semicolons or tabs, quoted or not, or else between blanks."""
    mark = next((one for one in ",;\t" if one in line), None)
    return line.split() if mark is None else [cell.strip() for cell in next(csv.reader([line], delimiter=mark))]


def _ranked_rows(run: Mapping[str, Mapping[str, float]], name: str, ids: _Ids) -> dict[int, list[int]]:
    """Return the row numbers of the items of each query of a run by that of the query, best item first."""
    rows = dict[int, list[int]]()
    for query, scores in run.items():
        items = sorted(scores, key=scores.__getitem__, reverse=True)
        try:
            row = ids[0][query] if ids and ids[0] else int(query.removeprefix("q"))
            rows[row] = [ids[1][item] if ids else int(item.removeprefix("d")) for item in items]
        except KeyError as error:
            raise ProtocolError(f"{name}: {error} is not in the list of ids.") from None
        except ValueError:
            lists = "Pass their lists, --query-ids and --database-ids (in Python, ids=)"
            raise ProtocolError(f"{name}: query {query!r} or its items have ids. {lists}.") from None
    return rows
