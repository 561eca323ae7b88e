"""Recall lost to the code, to the index and to ties by the results of a search engine; and the engine's faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.counting import in_buckets
from protocol.evaluation.buckets import Tables
from protocol.evaluation.exact_search import PRECISION, ByCode, ByVector, Exact
from protocol.evaluation.ground_truth import Nearest
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.inputs.arrays import as_integers
from protocol.inputs.conversion import is_file, named
from protocol.inputs.judgments import read_ids
from protocol.inputs.rankings import read_results
from protocol.metrics import ORDERS, mean, neighbours_found
from protocol.scores.tables import Table

_NUMBERS = 1 << 22
"""The number of words of codes of retrieved items in a block of queries."""
_MOST_QUERIES = 4096
_SMALLEST_SHARE = 0.5
"""A form of distances is recognised if the distances of more than this share of the queries agree with it."""
_IMPOSSIBLE = "impossible distances"
_UNKNOWN = "of no known kind"
_OUT_OF_RANGE = "item {item} of {n_database:,}, counted from 0"
_LOST = {"lost_to_code": "lost to the code", "lost_to_index": "lost to the index", "lost_to_ties": "lost to ties"}
_PER_QUERY = ("recall", *_LOST, "exact", "least_lost_to_ties", "most_lost_to_ties")
Example = tuple[Any, Any, str]
"""An item, its distance, and what is wrong with it."""
_BY = {"cosine": "cosine of the vectors", "euclidean": "Euclidean distance", "dot": "inner product of the vectors"}


@dataclass(frozen=True)
class LostRecall:
    """The mean recall of one set of results, and the parts of it that are lost, which add up with it to 1.

    Parameters
    ----------
    name : str
    recall : float
        The share of the K true neighbours among the results.
    lost_to_code : float or None
        1 minus the recall of exact search by code, as the expected value over ties; None unless there are both codes
        and vectors.
    lost_to_index : float
        The recall of the same results with every wrong item replaced, minus `recall`, see `attribute`.
    lost_to_ties : float or None
        The recall of exact search by code minus that of the repaired results: negative if the engine's choice among
        ties is better than a random one. None unless there are both codes and vectors.
    exact : float
        The share of the K positions that an exact search could have filled with the same items.
    least_lost_to_ties, most_lost_to_ties : float or None
        The smallest and the largest value of `lost_to_ties` that an exact search can have.
    distances : str or None
        What the engine's distances are, for example ``squared Euclidean distances``; ``of no known kind`` if those of
        half of the queries or more differ from every known kind; None without distances.
    """

    name: str
    recall: float
    lost_to_code: float | None
    lost_to_index: float
    lost_to_ties: float | None
    exact: float
    least_lost_to_ties: float | None
    most_lost_to_ties: float | None
    distances: str | None = None


@dataclass(frozen=True)
class Fault:
    """Something that no correct engine returns.

    Parameters
    ----------
    name : str
        The name of the results.
    kind : str
        For example ``duplicate items``.
    n_queries : int
        The number of queries for which it happens.
    query : int
        The first of them.
    item : int or None
        The item of this query.
    distance : float or None
        Its distance, or that which the engine returned if this is at fault.
    example : str
        What is wrong with this query.
    """

    name: str
    kind: str
    n_queries: int
    query: int
    item: int | None
    distance: float | None
    example: str

    def __str__(self) -> str:
        queries = "1 query" if self.n_queries == 1 else f"{self.n_queries:,} queries"
        return f"{self.name}: {self.kind} ({queries}, first query {self.query}: {self.example})"


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Printed):
    """The recall of search engines, the parts of it that are lost, and the engines' faults.

    Parameters
    ----------
    rows : tuple of LostRecall
        One for each set of results.
    faults : tuple of Fault
    per_query : mapping of str to mapping of str to ndarray
        By name of the results: the values of each query, as in `LostRecall`.
    searched : str
        What the engine searches: ``code`` or ``vector``.
    neighbours : str
        What the true neighbours are.
    k, n_queries, n_database : int
    """

    rows: tuple[LostRecall, ...]
    faults: tuple[Fault, ...]
    per_query: Mapping[str, Mapping[str, NDArray[np.float64]]]
    searched: str
    neighbours: str
    k: int
    n_queries: int
    n_database: int

    def parts(self) -> list[str | Table]:
        """Return the inputs, the table of the recall that is lost, and the faults."""
        lines = [f"{self.n_queries:,} queries, {self.n_database:,} database items; {self.neighbours}"]
        kinds = {
            row.distances: [each.name for each in self.rows if each.distances == row.distances] for row in self.rows
        }
        unchecked = {_UNKNOWN: ", so they are not compared with those of the items"}
        lines += [
            f"distances of {', '.join(names)}: {kind}{unchecked.get(kind, '')}" for kind, names in kinds.items() if kind
        ]
        first, title = self.rows[0], "means over the queries; recall and lost recall add up to 1"
        names = [name for name in _LOST if getattr(first, name) is not None]
        if first.lost_to_ties is not None:
            least, most = first.least_lost_to_ties, first.most_lost_to_ties
            title += f"; an exact search loses between {least:.4f} and {most:.4f} to ties"
        columns = ("recall", *names, "exact")
        cells = [[row.name, *(f"{getattr(row, name) + 0.0:.4f}" for name in columns)] for row in self.rows]
        header = ["results", f"recall@{self.k}", *(_LOST[name] for name in names), f"exact by {self.searched}"]
        table = Table("attribution", f"{title}:", header, cells)
        return ["\n".join(lines), table, "\n".join(map(str, self.faults)) or "no faults"]

    def content(self) -> dict[str, Any]:
        """Return all fields but the values per query."""
        names = ("searched", "neighbours", "k", "n_queries", "n_database", "rows", "faults")
        return {"attribution": {name: getattr(self, name) for name in names}}


@dataclass
class _Results:
    """One set of results, the values of `_PER_QUERY` by block, and the faults by kind."""

    name: str
    ids: NDArray
    distances: NDArray | None = None
    source: str = "results"
    is_checked: bool = True
    values: list[NDArray[np.float64]] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    form: tuple[str, float] | None = None

    @property
    def per_query(self) -> dict[str, NDArray[np.float64]]:
        """The values of all queries."""
        return dict(zip(_PER_QUERY, np.hstack(self.values), strict=True))

    def means(self, space: ByCode | ByVector) -> LostRecall:
        """Return the means; the parts lost to the code and to ties are None unless there are codes and vectors."""
        form, factor = self.form or (None, 1)
        distances = _UNKNOWN if form == "" else form if factor == 1 else f"{form}, times {factor:.6g}"
        means: dict[str, Any] = {name: mean(values) for name, values in self.per_query.items()}
        if isinstance(space, ByVector) or space.vectors is None:
            means |= dict.fromkeys(("lost_to_code", "lost_to_ties", "least_lost_to_ties", "most_lost_to_ties"))
        return LostRecall(self.name, **means, distances=distances)

    def withdraw(self, n_queries: int) -> None:
        """Withdraw the form, and what follows from it, if the distances of most queries contradict it."""
        fault = self.faults.get(_IMPOSSIBLE)
        if fault is not None and fault.n_queries > _SMALLEST_SHARE * n_queries:
            self.form = ("", 1.0)
            del self.faults[_IMPOSSIBLE]

    def note(self, kind: str, block: slice, wrong: NDArray[np.bool_], example: Callable[[int, int], Example]) -> None:
        """Note the queries with a fault at any place; `example` describes it for a row of the block and a place."""
        rows = np.flatnonzero(wrong.any(axis=1))
        if rows.size and kind not in self.faults:
            item, distance, text = example(rows[0], wrong[rows[0]].argmax())
            distance = None if distance is None else float(distance)
            self.faults[kind] = Fault(self.name, kind, 0, block.start + int(rows[0]), int(item), distance, text)
        if rows.size:
            self.faults[kind] = replace(self.faults[kind], n_queries=self.faults[kind].n_queries + rows.size)


def attribute(
    results: Any = None,
    codes: tuple[Any, Any] | None = None,
    vectors: Nearest | None = None,
    *,
    distances: Any = None,
    ids: tuple[Any, Any] | None = None,
    tables: Sequence[str] = (),
    k: int | None = None,
    exact: bool = False,
    threads: int = 1,
    progress: Progress = None,
) -> Attribution:
    """Divide the recall that a search engine loses among the code, the index and ties; find the engine's faults.

    For each query, let r be the distance of the K-th nearest item, T the set of items at distance r, and A the set of
    the a nearer items. An exact search returns A and any K - a items of T. The engine's results are *repaired*: items
    farther than r are replaced by the missing items of A, and then by random items of T that the engine did not return.
    If the engine returned more than K - a items of T, a random selection of K - a of them stays. Repaired results are
    therefore exact, and share as many items with the engine's results as exact results can. With codes and vectors,

    - lost_to_code = 1 - recall of exact search by code, in expectation over the order of T,
    - lost_to_ties = recall of exact search by code - recall of the repaired results, in expectation,
    - lost_to_index = recall of the repaired results - recall of the engine,

    and the three add up to 1 - recall. The recall is the share of the K nearest items by the vectors, as
    ``neighbours@K``. An exact engine loses no recall to the index, whichever items of T it returns. A negative value of
    lost_to_index means that the engine is better than exact search by code, for example because it re-ranks by the
    vectors.

    With codes only or vectors only, the true neighbours are an exact result: the recall is the largest share of the
    results that one exact result contains, and the rest is lost to the index.

    Parameters
    ----------
    results : array_like, str, Path, or mapping of str to these, optional
        Row numbers of the items that were found for each query, from 0, the nearest first, (n_queries, K); -1 is no
        item. Or files, see `protocol.inputs.rankings.read_results`; or several results by name.
    codes : pair, optional
        The codes of queries and database that the engine searches, in any form that `evaluate` accepts.
    vectors : Nearest, optional
        The vectors of queries and database, and the distance. Without codes, these are what the engine searches.
    distances : array_like, str, Path, or mapping of str to these, optional
        The distances that the engine returned with the results, in the same form.
    ids : pair, optional
        The ids of queries and of database items in runs of TREC, in the order of the codes or vectors, or their files
        with an id on each line. If None, runs have row numbers.
    tables : sequence of str, default=()
        Kinds of hash tables such as ``16x4``, as for `bucket_search`: the items in the query's buckets are ranked by
        Hamming distance, and are a row of their own. They require codes.
    k : int, optional
        K. If None, that of `vectors`, or else the largest number of columns of the results.
    exact : bool, default=False
        Whether the engine claims to be exact, so that leaving out a nearer item is a fault.
    threads : int, default=1
    progress : callable, optional
        As for `evaluate`.

    Returns
    -------
    Attribution

    Raises
    ------
    ProtocolError
        If an input is unusable.

    Notes
    -----
    Engines compute distances in float32. Distances of vectors may differ from the exact ones, and those of tied items
    from each other, by 2^-21 sqrt(d) of the squared lengths of the vectors, where d is their dimension. Memory is used
    for blocks of at most 4,096 queries, in addition to the codes.

    Examples
    --------
    The second item is at distance 1 from the query, but the index returns the last one.

    >>> codes = [[0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    >>> row = attribute([[0, 2]], codes, exact=True)
    >>> row.rows[0].recall, row.rows[0].lost_to_index, row.faults[0].example
    (0.5, 0.5, 'item 1 at distance 1 was left out, but item 2 at distance 2 was returned')
    """
    by_vector = None if vectors is None else ByVector.of(vectors)
    space = by_vector if codes is None else ByCode.of(codes, by_vector)
    if space is None:
        raise ProtocolError("codes and vectors are missing. Pass those that the engine searches.")
    n_queries, n_database = len(space.query), len(space.database)
    sides = zip(ids or (), ("query", "database"), (n_queries, n_database), strict=False)
    engines = _read(results, distances, n_queries, [read_ids(*side) for side in sides])
    if not engines and not tables:
        raise ProtocolError("results are missing.")
    k = integer(_number(k, vectors, engines), "neighbours", maximum=n_database)
    engines += [_bucket_results(space, text, k) for text in tables]
    done = stage(progress, "attributing", n_queries) or (lambda _: None)
    size = max(1, min(_MOST_QUERIES, _NUMBERS // (k * space.query.shape[1])))
    for start in range(0, n_queries, size):
        block = slice(start, min(start + size, n_queries))
        ideal = space.exact(block, k, threads)
        for engine in engines:
            places = _Places(_padded(as_integers(engine.ids[block, :k], engine.source), k), space, block)
            engine.values.append(_measured(places, space, ideal))
            if engine.is_checked:
                _check(engine, places, exact)
        done(block.stop - start)
    for engine in engines:
        engine.withdraw(n_queries)
    return Attribution(
        rows=tuple(engine.means(space) for engine in engines),
        faults=tuple(fault for engine in engines for fault in engine.faults.values()),
        per_query={engine.name: engine.per_query for engine in engines},
        searched="code" if codes is not None else "vector",
        neighbours=f"the {k:,} nearest by {_BY[vectors.distance] if vectors else 'code'}",
        k=k,
        n_queries=n_queries,
        n_database=n_database,
    )


def _read(results: Any, distances: Any, n_queries: int, ids: Sequence[Mapping[str, int]]) -> list[_Results]:
    """Return the results by name, with their distances."""
    if results is None:
        return []
    if not isinstance(results, Mapping):
        name = Path(results).stem if is_file(results) else "results"
        results, distances = {name: results}, None if distances is None else {name: distances}
    if not isinstance(distances, Mapping | None) or (distances and not distances.keys() <= results.keys()):
        raise ProtocolError(f"distances must be a mapping with the names of results: {', '.join(map(str, results))}.")
    engines = []
    for name, values in results.items():
        found, own = read_results(values, n_queries, ids=ids), (distances or {}).get(name)
        own = None if own is None else read_results(own, n_queries, "distances")
        if own is not None and own.shape != found.shape:
            raise ProtocolError(f"{name}: distances of shape {own.shape} for results of shape {found.shape}.")
        engines.append(_Results(name, found, own, named(values, "results")))
    return engines


def _number(k: Any, vectors: Nearest | None, engines: Sequence[_Results]) -> Any:
    """Return the number K: the one that is given, that of the vectors, or the most columns of results."""
    numbers = [k, vectors and vectors.k, *sorted((engine.ids.shape[1] for engine in engines), reverse=True)]
    for number in numbers:
        if number is not None:
            return number
    raise ProtocolError("neighbours is missing, and there are no results whose columns would determine it.")


def _padded(array: NDArray, k: int) -> NDArray:
    """Return rows of k columns; missing ones are -1."""
    return np.pad(array, [(0, 0), (0, k - array.shape[1])], constant_values=-1)


def _bucket_results(space: ByCode | ByVector, tables: str, k: int) -> _Results:
    """Return the nearest items in the buckets of each query."""
    if isinstance(space, ByVector):
        raise ProtocolError("tables needs codes: hash tables can't be built from vectors.")
    (query, database, n_bits), ids = space.pair[:3], np.full((len(space.query), k), -1, dtype=np.int64)
    for row, found in enumerate(in_buckets(query, database, n_bits, **Tables.parse(tables, n_bits)._asdict())):
        items = np.flatnonzero(found)
        keys = space.keys(slice(row, row + 1), items[None])[0]
        items = items[np.argsort(keys, kind="stable")[:k]]
        ids[row, : items.size] = items
    return _Results(f"tables {tables}", ids, is_checked=False)


class _Places:
    """The places of a block of results, (n_block, K): their items, and the keys of these."""

    def __init__(self, ids: NDArray[np.int64], space: ByCode | ByVector, block: slice) -> None:
        self.ids, self.space, self.block, self.k = ids, space, block, ids.shape[1]
        self.is_item = (ids >= 0) & (ids < len(space.database))
        order = np.argsort(ids, axis=1, kind="stable")
        ordered = np.take_along_axis(ids, order, axis=1)
        repeated = np.zeros(ids.shape, dtype=bool)
        np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        self.is_repeated = repeated & self.is_item
        self.keys = np.where(self.is_item, space.keys(block, np.where(self.is_item, ids, 0)), np.nan)

    def example(self, text: str, row: int, place: int) -> Example:
        """Return the item at a place, its distance, and a text in which the names in braces are replaced."""
        item, distance = self.ids[row, place], self.space.distance(self.keys[row, place])
        words = {"item": item, "n": (self.ids[row] >= 0).sum(), "k": self.k, "n_database": len(self.space.database)}
        return item, distance if self.is_item[row, place] else None, text.format(**words)

    def left_out(self, row: int, _: int) -> Example:
        """Return the nearest item that is not in a row, and compare it with the farthest item of the row."""
        query, items = self.block.start + row, np.arange(len(self.space.database))
        every = self.space.keys(slice(query, query + 1), items[None])[0]
        every[np.isin(items, self.ids[row])] = np.inf
        item = every.argmin()
        text = f"item {item} at distance {self.space.distance(every[item]):.6g} was left out"
        if self.is_item[row].any():
            place = np.nanargmax(self.keys[row])
            distance = self.space.distance(self.keys[row, place])
            text += f", but item {self.ids[row, place]} at distance {distance:.6g} was returned"
        return item, self.space.distance(every[item]), text


def _measured(places: _Places, space: ByCode | ByVector, ideal: Exact) -> NDArray[np.float64]:
    """Return the values of `_PER_QUERY` for a block of queries."""
    keys, k, once = places.keys, places.k, places.is_item & ~places.is_repeated
    tolerance = space.tolerance(places.block, ideal.kth)
    is_nearer = once & (keys < ideal.kth - tolerance)
    is_tied = once & ~is_nearer & (keys <= ideal.kth + tolerance)
    tied, free = is_tied.sum(axis=1), k - ideal.nearer
    exact = (is_nearer.sum(axis=1) + np.minimum(tied, free)) / k
    if ideal.counts is None or ideal.truth is None:
        nothing = 0 * exact
        return np.stack([exact, nothing, 1 - exact, nothing, exact, nothing, nothing])
    rows, kth, n_database = np.arange(len(keys)), ideal.kth[:, 0].astype(np.int64), len(space.database)
    true_pairs = np.repeat(rows, np.diff(ideal.truth.indptr)) * n_database + ideal.truth.indices
    is_true = once & np.isin(rows[:, None] * n_database + places.ids, true_pairs)
    true_tied, every_tied = (is_true & is_tied).sum(axis=1), ideal.counts.relevant[rows, kth]
    some_of_them = true_tied * free / np.maximum(tied, 1)
    and_others = true_tied + (free - tied) * (every_tied - true_tied) / np.maximum(ideal.tied - tied, 1)
    of_ties = np.where(tied > free, some_of_them, and_others)
    repaired = (ideal.counts.relevant_within[rows, kth] - every_tied + of_ties) / k
    by_code, best, worst = (neighbours_found(ideal.counts, nearest=k, retrieved=k, ties=order) for order in ORDERS)
    recall = is_true.sum(axis=1) / k
    parts = [1 - by_code, repaired - recall, by_code - repaired]
    return np.stack([recall, *parts, exact, by_code - best, by_code - worst])


def _check(engine: _Results, places: _Places, is_exact: bool) -> None:
    """Note the faults in a block of queries."""
    note, ids, example = partial(engine.note, block=places.block), places.ids, places.example
    note("ids out of range", wrong=~places.is_item & (ids != -1), example=partial(example, _OUT_OF_RANGE))
    note("duplicate items", wrong=places.is_repeated, example=partial(example, "item {item} twice"))
    note("fewer than K items", wrong=ids == -1, example=partial(example, "{n} of {k}"))
    if is_exact:
        is_inexact = engine.values[-1][_PER_QUERY.index("exact")] < 1
        note("nearer items left out", wrong=is_inexact[:, None], example=places.left_out)
    if engine.distances is not None:
        _check_distances(engine, places, engine.distances[places.block, : places.k])


def _check_distances(engine: _Results, places: _Places, distances: NDArray) -> None:
    """Note distances that are not sorted, and those that are not the items' distances in a form that is recognised."""
    precision = float(np.finfo(distances.dtype).eps) if distances.dtype.kind == "f" else 0.0
    space, keys, values = places.space, places.keys, _padded(distances.astype(np.float64), places.k)
    tolerance = space.tolerance(places.block, keys, max(PRECISION, precision))
    if engine.form is None:
        engine.form = _form(space, values, keys, tolerance)
    name, factor = engine.form
    as_keys = space.forms(values / factor)[name] if name else _ascending(values)
    backwards = np.zeros(keys.shape, dtype=bool)
    backwards[:, 1:] = (as_keys[:, 1:] < as_keys[:, :-1]) & places.is_item[:, 1:] & places.is_item[:, :-1]

    def example(row: int, place: int) -> Example:
        item, value, distance = places.ids[row, place], values[row, place], space.distance(keys[row, place])
        return item, value, f"item {item} was returned with distance {value:.6g}, but is at distance {distance:.6g}"

    engine.note("distances not sorted", places.block, backwards, example)
    wrong = places.is_item & ~(np.abs(as_keys - keys) <= tolerance) & bool(name)
    engine.note(_IMPOSSIBLE, places.block, wrong, example)


def _ascending(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of an unknown kind; negated, if that sorts more of the rows."""
    before, after = values[:, :-1], values[:, 1:]
    rising, falling = (sorted_.all(axis=1).sum() for sorted_ in (before <= after, before >= after))
    return -values if falling > rising else values


def _form(
    space: ByCode | ByVector, values: NDArray[np.float64], keys: NDArray[np.float64], tolerance: NDArray[np.float64]
) -> tuple[str, float]:
    """Return what the distances of most queries are, and the factor by which they are multiplied; "" if unknown.

    A factor is only looked for if there are distances of different size, because it could explain a single one.
    """
    known = np.isfinite(keys) & np.isfinite(values)
    shares, positive = {("", 1.0): _SMALLEST_SHARE}, known & (keys > 0) & (values != 0)
    factors, queries = [1.0], np.flatnonzero(known.any(axis=1))
    if np.unique(keys[positive]).size > 1:
        factors += [float(np.median(values[positive] / x[positive])) for x in (space.distance(keys), keys)]
    for factor in filter(None, factors) if queries.size else ():
        for name, as_keys in space.forms(values / factor).items():
            agrees = (np.abs(as_keys - keys) <= tolerance) | ~known
            shares[name, factor] = float(agrees[queries].all(axis=1).mean())
    return max(shares, key=lambda form: (shares[form], form[1] == 1))
