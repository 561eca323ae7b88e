"""Recall lost to the code, to the index and to ties by the results of a search engine; and the engine's faults."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes as packing
from protocol.checks import ProtocolError, integer
from protocol.counting import HammingCounts, LabelRelevance, NeighbourRelevance, Relevance, count_in_shards
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.ground_truth import Nearest, check_sizes
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.inputs.arrays import as_integers, named
from protocol.inputs.judgments import read_ids, read_results
from protocol.metrics import ORDERS, mean, neighbours_found
from protocol.scores.tables import Table
from protocol.truth import Distance, Neighbours, check_rows, nearest, pair_distances

_NUMBERS = 1 << 22
"""The number of words of codes of retrieved items in a block of queries."""
_MOST_QUERIES = 4096
_ROWS = 4096
_SMALLEST_SHARE = 0.5
"""Distances are compared with those of the items if those of more than this share of the queries agree with them."""
_UNKNOWN = "of no known kind"
_ERROR = 4 * 2.0**-23
"""Four times the distance from 1 to the next number in float32, in which engines compute distances."""
_LOST = {"lost_to_code": "lost to the code", "lost_to_index": "lost to the index", "lost_to_ties": "lost to ties"}
_BY = {"cosine": "cosine of the vectors", "euclidean": "Euclidean distance", "dot": "inner product of the vectors"}
_FORMS = {"cosine": "cosine distances", "euclidean": "Euclidean distances", "dot": "inner products"}

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LostRecall:
    """The recall of one set of results, and the parts of it that are lost, which add up with it to 1.

    These are means, or arrays (n_queries,) with the values of each query.

    Parameters
    ----------
    name : str
    recall : float or ndarray
        The share of the K true neighbours among the results.
    lost_to_index : float or ndarray
        The recall of the same results with every wrong item replaced, minus `recall`, see `attribute`.
    exact : float or ndarray
        The share of the K positions that an exact search could have filled with the same items.
    lost_to_code : float, ndarray or None
        1 minus the recall of exact search by code, as the expected value over ties; this and the following are None
        unless there are both codes and vectors.
    lost_to_ties : float, ndarray or None
        The recall of exact search by code minus that of the repaired results: negative if the engine's choice among
        ties is better than a random one.
    least_lost_to_ties, most_lost_to_ties : float, ndarray or None
        The smallest and the largest value of `lost_to_ties` that an exact search can have.
    distances : str or None
        What the engine's distances are, for example ``Hamming distances``; ``of no known kind`` if those of half of the
        queries or more differ from the distances of the items; None without distances.
    """

    name: str
    recall: Any
    lost_to_index: Any
    exact: Any
    lost_to_code: Any = None
    lost_to_ties: Any = None
    least_lost_to_ties: Any = None
    most_lost_to_ties: Any = None
    distances: str | None = None

    def mean(self) -> "LostRecall":
        """Return the means over the queries."""
        values: dict[str, Any] = {name: mean(of) for name, of in vars(self).items() if isinstance(of, np.ndarray)}
        return replace(self, **values)


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
    example : str
        What is wrong with this query.
    """

    name: str
    kind: str
    n_queries: int
    query: int
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
    per_query : mapping of str to LostRecall
        By name of the results: the values of each query.
    space : str
        What the engine searches: ``code`` or ``vector``.
    neighbours : str
        What the true neighbours are.
    k, n_queries, n_database : int
    """

    rows: tuple[LostRecall, ...]
    faults: tuple[Fault, ...]
    per_query: Mapping[str, LostRecall]
    space: str
    neighbours: str
    k: int
    n_queries: int
    n_database: int

    def parts(self) -> list[str | Table]:
        """Return the inputs, the table of the recall that is lost, the range that ties allow, and the faults."""
        first, result = self.rows[0], list[str | Table]()
        lines = [f"{self.n_queries:,} queries, {self.n_database:,} database items; {self.neighbours}"]
        for form in dict.fromkeys(row.distances for row in self.rows if row.distances):
            engines = ", ".join(row.name for row in self.rows if row.distances == form)
            checked = form if form != _UNKNOWN else f"{form}, so not compared with those of the items"
            lines.append(f"distances of {engines}: {checked}")
        names = [name for name in _LOST if getattr(first, name) is not None]
        cells = [
            [row.name, *(f"{getattr(row, name) + 0.0:.4f}" for name in ("recall", *names, "exact"))]
            for row in self.rows
        ]
        header = ["results", f"recall@{self.k}", *(_LOST[name] for name in names), f"exact by {self.space}"]
        result += ["\n".join(lines), Table("attribution", "", header, cells)]
        if first.lost_to_ties is not None:
            gains = -first.most_lost_to_ties, -first.least_lost_to_ties
            result.append("ties change the recall of an exact search by {:+.2f} to {:+.2f}".format(*gains))
        return result + ["\n".join(map(str, self.faults))] * bool(self.faults)

    def content(self) -> dict[str, Any]:
        """Return all fields but the values per query."""
        names = ("space", "neighbours", "k", "n_queries", "n_database", "rows", "faults")
        return {"attribution": {name: getattr(self, name) for name in names}}


class _Exact(NamedTuple):
    """What exact search finds for a block of queries: items nearer than the K-th item, and those as far as it.

    Parameters
    ----------
    kth : ndarray of float64, shape (n_block, 1)
        The key of the K-th item. A key grows with the distance.
    nearer : ndarray of int64, shape (n_block,)
        The number of items nearer than the K-th.
    tied : ndarray of int64, shape (n_block,)
        The number of items at the distance of the K-th.
    counts : HammingCounts or None
        With codes and vectors: the counts of the true neighbours.
    truth : Neighbours or None
        With codes and vectors: the true neighbours.
    """

    kth: Values
    nearer: NDArray[np.int64]
    tied: NDArray[np.int64]
    counts: HammingCounts | None = None
    truth: Neighbours | None = None


class _ByVector(NamedTuple):
    """A search by vector. Keys are squared Euclidean distances, or the other distances.

    Parameters
    ----------
    query, database : ndarray
    metric : {"cosine", "euclidean", "dot"}
    longest : float
        For ``dot``, the length of the longest database vector.
    space : str
    """

    query: NDArray
    database: NDArray
    metric: Distance
    longest: float
    space: str = "vector"

    @classmethod
    def of(cls, vectors: Nearest) -> "_ByVector":
        """Return the search by vectors that were read and checked."""
        query, database = vectors.vectors()
        check_rows(query, named(vectors.query, "query vectors"), unit=vectors.distance == "cosine")
        starts = range(0, len(database) if vectors.distance == "dot" else 0, _ROWS)
        lengths = (np.linalg.norm(database[at : at + _ROWS].astype(np.float64), axis=1).max() for at in starts)
        return cls(query, database, vectors.distance, max(map(float, lengths), default=0.0))

    def nearest(self, block: slice, k: int, threads: int) -> Neighbours:
        """Return the K nearest items and those that tie with the last."""
        return nearest(self.query[block], self.database, k, distance=self.metric, threads=threads)

    def exact(self, block: slice, k: int, threads: int) -> _Exact:
        """Return what exact search finds."""
        truth = self.nearest(block, k, threads)
        keys, starts, sizes = self._keys(truth.distances), truth.indptr[:-1], np.diff(truth.indptr)
        kth = np.maximum.reduceat(keys, starts)[:, None]
        below = kth - self.tolerance(block, kth)
        nearer = np.add.reduceat((keys < np.repeat(below[:, 0], sizes)).astype(np.int64), starts)
        return _Exact(kth, nearer, sizes - nearer)

    def keys(self, block: slice, ids: NDArray[np.int64]) -> Values:
        """Return the keys of items, (n_block, n)."""
        rows = np.repeat(np.arange(len(ids)), ids.shape[1])
        distances = pair_distances(self.query[block], self.database, rows, ids.ravel(), distance=self.metric)
        return self._keys(distances).reshape(ids.shape)

    def _keys(self, distances: Values) -> Values:
        return distances**2 if self.metric == "euclidean" else distances

    def distance(self, keys: Any) -> Any:
        """Return the distances of keys."""
        return np.sqrt(keys) if self.metric == "euclidean" else keys

    def tolerance(self, block: slice, keys: Values) -> Any:
        """Return the errors that keys may have if an engine adds d products: 4 sqrt(d) roundings of their size.

        An item is at most as long as the query plus their distance.
        """
        relative = _ERROR * self.query.shape[1] ** 0.5
        lengths = np.linalg.norm(self.query[block].astype(np.float64), axis=1)[:, None]
        sizes = {"euclidean": lengths**2 + (lengths + self.distance(np.abs(keys))) ** 2, "dot": lengths * self.longest}
        return relative * sizes.get(self.metric, 1.0)

    def from_distances(self, distances: Values) -> tuple[str, Values]:
        """Return what an engine's distances should be, and their keys."""
        keys = {"euclidean": distances * np.abs(distances), "dot": -distances}  # a negative number is no distance
        return _FORMS[self.metric], keys.get(self.metric, distances)


class _ByCode(NamedTuple):
    """A search by code. Keys are Hamming distances.

    Parameters
    ----------
    pair : CodePair
    query : ndarray of uint64
        The codes of the queries as words.
    database : ndarray of uint64
        The codes of the database as words.
    vectors : _ByVector or None
        The vectors by which the true neighbours are nearest.
    space : str
    """

    pair: CodePair
    query: NDArray[np.uint64]
    database: NDArray[np.uint64]
    vectors: _ByVector | None
    space: str = "code"

    @classmethod
    def of(cls, codes: tuple[Any, Any], vectors: _ByVector | None) -> "_ByCode":
        """Return the search by codes that were read and checked."""
        pair = read_codes(*codes)
        if pair.ranking != "hamming":
            raise ProtocolError("The queries need binary codes, not real-valued outputs.")
        if vectors is not None:
            check_sizes(pair.sizes, vectors.query, vectors.database)
        return cls(pair, packing.words(pair.query), packing.words(pair.database), vectors)

    def exact(self, block: slice, k: int, threads: int) -> _Exact:
        """Return what exact search finds."""
        rows, (queries, database, n_bits) = np.arange(len(self.query[block])), self.pair[:3]
        truth = None if self.vectors is None else self.vectors.nearest(block, k, threads)
        relevance: Relevance = LabelRelevance(0 * rows, np.ones(len(database), dtype=np.int64))
        if truth is not None:
            relevance = NeighbourRelevance(truth.indptr, truth.indices, len(database))
        counter = partial(count_in_shards, buckets=False, threads=threads)
        counts = counter(queries[block], database, n_bits, {"": relevance})[""]
        kth = (counts.retrieved_within >= k).argmax(axis=1)
        tied = counts.retrieved[rows, kth]
        nearer = counts.retrieved_within[rows, kth] - tied
        return _Exact(kth[:, None].astype(np.float64), nearer, tied, None if truth is None else counts, truth)

    def keys(self, block: slice, ids: NDArray[np.int64]) -> Values:
        """Return the keys of items, (n_block, n)."""
        differing = self.database[ids] ^ self.query[block][:, None]
        return np.bitwise_count(differing).sum(axis=2, dtype=np.int64).astype(np.float64)

    def distance(self, keys: Any) -> Any:
        """Return the distances of keys."""
        return keys

    def tolerance(self, block: slice, keys: Values) -> Any:
        """Return the errors that keys may have: none."""
        return 0.0

    def from_distances(self, distances: Values) -> tuple[str, Values]:
        """Return what an engine's distances should be, and their keys."""
        return "Hamming distances", distances


@dataclass
class _Engine:
    """One set of results with distances, (n_queries, K); the keys of its items and its values, block by block."""

    name: str
    ids: NDArray[np.int64]
    distances: Values | None
    keys: list[Values] = field(default_factory=list)
    values: list[dict[str, Values]] = field(default_factory=list)


def attribute(
    results: Any,
    codes: tuple[Any, Any] | None = None,
    vectors: Nearest | None = None,
    *,
    distances: Any = None,
    ids: tuple[Any, Any] | None = None,
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
    results : array_like, str, Path, or mapping of str to these
        Row numbers of the items that were found for each query, from 0, the nearest first, (n_queries, K); -1 is no
        item. Or files, see `protocol.inputs.judgments.read_results`; or several results by name.
    codes : pair, optional
        The codes of queries and database that the engine searches, in any form that `evaluate` accepts.
    vectors : Nearest, optional
        The vectors of queries and database, and the distance. Without codes, these are what the engine searches.
    distances : array_like, str, Path, or mapping of str to these, optional
        The distances that the engine returned with the results, in the same form: Hamming distances of codes; or of
        vectors, what `vectors` names: Euclidean distances, cosine distances (1 minus the cosine), or inner products.
        Others, such as squares or half precision, are of no known kind, and not compared.
    ids : pair, optional
        The ids of queries and of database items in runs of TREC, in the order of the codes or vectors, or their files
        with an id on each line. If None, runs have row numbers.
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
    for blocks of at most 4,096 queries, in addition to the codes and the results.

    Examples
    --------
    The second item is at distance 1 from the query, but the index returns the last one.

    >>> codes = [[0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    >>> row = attribute([[0, 2]], codes, exact=True)
    >>> row.rows[0].recall, row.rows[0].lost_to_index, row.faults[0].example
    (0.5, 0.5, 'item 1 at distance 1 was left out, but item 2 at distance 2 was returned')
    """
    space = _space(codes, vectors)
    n_queries, n_database = len(space.query), len(space.database)
    wanted = vectors.k if k is None and vectors is not None else k
    engines = _read(results, distances, ids, wanted, (n_queries, n_database))
    k = engines[0].ids.shape[1]
    done = stage(progress, "attributing", n_queries) or (lambda _: None)
    size = max(1, min(_MOST_QUERIES, _NUMBERS // (k * space.query.shape[1])))
    for start in range(0, n_queries, size):
        block = slice(start, min(start + size, n_queries))
        ideal = space.exact(block, k, threads)
        for engine in engines:
            _measure(engine, block, space, ideal)
        done(block.stop - start)
    per_query, faults = zip(*(_checked(engine, space, exact) for engine in engines), strict=True)
    return Attribution(
        rows=tuple(lost.mean() for lost in per_query),
        faults=tuple(itertools.chain(*faults)),
        per_query={lost.name: lost for lost in per_query},
        space=space.space,
        neighbours=f"the {k:,} nearest by {_BY[vectors.distance] if vectors else 'code'}",
        k=k,
        n_queries=n_queries,
        n_database=n_database,
    )


def _space(codes: tuple[Any, Any] | None, vectors: Nearest | None) -> _ByCode | _ByVector:
    """Return the search of the codes, or else of the vectors."""
    by_vector = None if vectors is None else _ByVector.of(vectors)
    if codes is not None:
        return _ByCode.of(codes, by_vector)
    if by_vector is None:
        raise ProtocolError("codes and vectors are missing. Pass those that the engine searches.")
    return by_vector


def _read(results: Any, distances: Any, ids: tuple[Any, Any] | None, k: Any, sizes: tuple[int, int]) -> list[_Engine]:
    """Return the results by name with their distances, K columns of each; without K, the largest number of columns."""
    if not isinstance(results, Mapping):
        name = Path(named(results, "results")).stem
        results, distances = {name: results}, {name: distances}
    if not results:
        raise ProtocolError("results are missing.")
    distances = dict.fromkeys(results) if distances is None else distances
    if not (isinstance(distances, Mapping) and distances.keys() <= results.keys()):
        raise ProtocolError("distances must be a mapping with the names of the results, as results is one.")
    rows_of = [read_ids(*side) for side in zip(ids or (), ("query", "database"), sizes, strict=False)]
    items = {name: read_results(values, sizes[0], ids=rows_of) for name, values in results.items()}
    widest = max(of_engine.shape[1] for of_engine in items.values())
    k = integer(widest if k is None else k, "neighbours", maximum=sizes[1])
    return [_engine(name, items[name], values, distances.get(name), k) for name, values in results.items()]


def _engine(name: str, items: NDArray, source: Any, distances: Any, k: int) -> _Engine:
    """Return K columns of one set of results, and of its distances, if there are any."""
    ids = _padded(as_integers(items[:, :k], named(source, "results")), k)
    if distances is None:
        return _Engine(name, ids, None)
    returned = read_results(distances, len(items), "distances")
    if returned.shape != items.shape:
        raise ProtocolError(f"{name}: distances of shape {returned.shape} for results of shape {items.shape}.")
    return _Engine(name, ids, _padded(returned[:, :k].astype(np.float64), k))


def _padded(array: NDArray, k: int) -> NDArray:
    """Return rows of k columns; missing ones are -1."""
    return np.pad(array, [(0, 0), (0, k - array.shape[1])], constant_values=-1)


def _items(ids: NDArray[np.int64], n_database: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which ids are items, and which of these stand earlier in the same row."""
    is_item, repeated = (ids >= 0) & (ids < n_database), np.zeros(ids.shape, dtype=bool)
    order = np.argsort(ids, axis=1, kind="stable")
    ordered = np.take_along_axis(ids, order, axis=1)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return is_item, repeated & is_item


def _measure(engine: _Engine, block: slice, space: _ByCode | _ByVector, ideal: _Exact) -> None:
    """Add the keys of the items and the values of `LostRecall` for a block of queries."""
    ids = engine.ids[block]
    is_item, is_repeated = _items(ids, len(space.database))
    keys = np.where(is_item, space.keys(block, np.where(is_item, ids, 0)), np.nan)
    engine.keys.append(keys)
    once, k, tolerance = is_item & ~is_repeated, ids.shape[1], space.tolerance(block, ideal.kth)
    is_nearer = once & (keys < ideal.kth - tolerance)
    is_tied = once & ~is_nearer & (keys <= ideal.kth + tolerance)
    tied, free = is_tied.sum(axis=1), k - ideal.nearer
    exact = (is_nearer.sum(axis=1) + np.minimum(tied, free)) / k
    if ideal.counts is None or ideal.truth is None:
        engine.values.append({"recall": exact, "lost_to_index": 1 - exact, "exact": exact})
        return
    rows, kth, n_database = np.arange(len(keys)), ideal.kth[:, 0].astype(np.int64), len(space.database)
    true_pairs = np.repeat(rows, np.diff(ideal.truth.indptr)) * n_database + ideal.truth.indices
    is_true = once & np.isin(rows[:, None] * n_database + ids, true_pairs)
    true_tied, every_tied = (is_true & is_tied).sum(axis=1), ideal.counts.relevant[rows, kth]
    some_of_them = true_tied * free / np.maximum(tied, 1)
    and_others = true_tied + (free - tied) * (every_tied - true_tied) / np.maximum(ideal.tied - tied, 1)
    of_ties = np.where(tied > free, some_of_them, and_others)
    repaired = (ideal.counts.relevant_within[rows, kth] - every_tied + of_ties) / k
    by_code, best, worst = (neighbours_found(ideal.counts, nearest=k, retrieved=k, ties=order) for order in ORDERS)
    recall = is_true.sum(axis=1) / k
    engine.values.append(
        {"recall": recall, "exact": exact, "lost_to_code": 1 - by_code, "lost_to_index": repaired - recall}
        | {"lost_to_ties": by_code - repaired, "least_lost_to_ties": by_code - best}
        | {"most_lost_to_ties": by_code - worst}
    )


def _checked(engine: _Engine, space: _ByCode | _ByVector, claims_exact: bool) -> tuple[LostRecall, list[Fault]]:
    """Return the values of all queries, and the faults of an engine, one of each kind."""
    keys, ids, n_database, faults = np.vstack(engine.keys), engine.ids, len(space.database), list[Fault]()
    is_item, is_repeated = _items(ids, n_database)
    form, returned = (None, None) if engine.distances is None else _form(engine.distances, keys, space)
    values = {name: np.concatenate([of_block[name] for of_block in engine.values]) for name in engine.values[0]}

    def add(kind: str, is_wrong: NDArray[np.bool_], example: Callable[[int, int], str]) -> None:
        queries = np.flatnonzero(is_wrong.any(axis=1))
        if queries.size:
            query = int(queries[0])
            text = example(query, int(is_wrong[query].argmax()))
            faults.append(Fault(engine.name, kind, queries.size, query, text))

    def of_distance(query: int, column: int) -> str:
        right, wrong = space.distance(keys[query, column]), engine.distances[query, column]  # type: ignore[index]
        return f"item {ids[query, column]} was returned with distance {wrong:.6g}, but is at distance {right:.6g}"

    add("ids out of range", ~is_item & (ids != -1), lambda q, i: f"item {ids[q, i]} of {n_database:,}, counted from 0")
    add("duplicate items", is_repeated, lambda q, i: f"item {ids[q, i]} twice")
    add("fewer than K items", ids == -1, lambda q, _: f"{(ids[q] >= 0).sum()} of {ids.shape[1]}")
    if claims_exact:
        add("nearer items left out", values["exact"][:, None] < 1, lambda q, _: _left_out(q, ids[q], keys[q], space))
    if returned is not None:
        falls = (np.diff(returned, axis=1) < 0) & is_item[:, 1:] & is_item[:, :-1]
        add("distances not sorted", np.pad(falls, [(0, 0), (1, 0)]), of_distance)
        differs = ~(np.abs(returned - keys) <= space.tolerance(slice(None), keys))
        add("impossible distances", is_item & differs, of_distance)
    return LostRecall(engine.name, **values, distances=form), faults


def _left_out(row: int, ids: NDArray, keys: Values, space: _ByCode | _ByVector) -> str:
    """Return the nearest item that a query lacks, and the farthest of its items."""
    every = space.keys(slice(row, row + 1), np.arange(len(space.database))[None])[0]
    every[ids[np.isfinite(keys)]] = np.inf
    item = int(every.argmin())
    text = f"item {item} at distance {space.distance(every[item]):.6g} was left out"
    if np.isfinite(keys).any():
        farthest = np.nanargmax(keys)
        text += f", but item {ids[farthest]} at distance {space.distance(keys[farthest]):.6g} was returned"
    return text


def _form(distances: Values, keys: Values, space: _ByCode | _ByVector) -> tuple[str, Values | None]:
    """Return what distances are, and their keys, if those of most queries are the distances of the items."""
    form, returned = space.from_distances(distances)
    known = np.isfinite(keys) & np.isfinite(returned)
    agrees = (np.abs(returned - keys) <= space.tolerance(slice(None), keys)) | ~known
    is_right = agrees.all(axis=1)[known.any(axis=1)]
    return (form, returned) if is_right.sum() > _SMALLEST_SHARE * is_right.size else (_UNKNOWN, None)
