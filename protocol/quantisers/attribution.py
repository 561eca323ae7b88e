"""Recall lost to the code, to the index and to ties by the results of a search engine; and the engine's faults."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from protocol import codes as packing
from protocol.checks import ProtocolError, counted, integer
from protocol.counting import HammingCounts, LabelRelevance, NeighbourRelevance, Relevance, count_in_shards
from protocol.counting.counts import Floats, Integers
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.ground_truth import Nearest, check_sizes
from protocol.evaluation.output import with_ties
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.inputs import validation
from protocol.inputs.arrays import as_integers, named
from protocol.inputs.judgments import read_ids, read_results
from protocol.metrics import ORDERS, mean, neighbours_found
from protocol.scores.tables import Table
from protocol.truth import Distance, Neighbours, check_rows, nearest, pair_distances

_SAMPLE, _FEWEST = 1000, 10  # queries, and pairs, that show from which number items are counted
_DOUBTFUL, _FEW = 0.01, 100
"""If results lose more recall than this, so many queries are also compared by the other distances between vectors."""
_SMALLEST_SHARE = 0.5
"""Distances are compared with those of the items if those of more than this share of the queries agree with them."""
_Kind = tuple[str, Distance | None, Floats, NDArray[np.bool_], NDArray[np.bool_]]
_Returned = tuple[Integers, Floats | None]
_ERROR = 4 * 2.0**-23
"""Four times the distance from 1 to the next number in float32, in which engines compute distances."""
_LOST = {"lost_to_code": "lost to the code", "lost_to_index": "lost to the index", "lost_to_ties": "lost to ties"}
_BY = {"cosine": "cosine of the vectors", "euclidean": "Euclidean distance", "dot": "inner product of the vectors"}
_KINDS: dict[str | None, dict[str, Callable[[Floats], Floats]]] = {
    None: {"Hamming distances": lambda h: h},
    "cosine": {
        "cosine distances": lambda c: c,
        "cosines of the vectors": lambda c: 1 - c,
        "Euclidean distances of unit vectors": lambda c: np.copysign(np.sqrt(2 * np.abs(c)), c),
        "squared Euclidean distances of unit vectors": lambda c: 2 * c,
    },
    "euclidean": {"Euclidean distances": lambda d: d, "squared Euclidean distances": lambda d: d * np.abs(d)},
    "dot": {"inner products": lambda p: -p, "minus inner products": lambda p: p, "1 - inner products": lambda p: 1 + p},
}
"""What engines return, by the distance of `_Space` of which it is a monotone function, also below 0 by a rounding."""


@dataclass(frozen=True, eq=False)
class LostRecall:
    """The recall of one set of results, and the parts of it that are lost, which add up with it to 1.

    These are means, or arrays (n_queries,) with the values of each query.

    Parameters
    ----------
    name : str
    recall : float or ndarray
        The number of results that are true neighbours, divided by K. All items as far as the K-th nearest one, up to
        the precision of float32, are true neighbours.
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
        What the engine's distances are, for example ``Hamming distances``; ``of no known kind`` and their order if
        those of half of the queries or more differ from the distances of the items; None without distances.
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
        queries = counted(self.n_queries, "query")
        return f"{self.name}: {self.kind} ({queries}, first query {self.query}: {self.example})"


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Printed):
    """The recall of search engines, the parts of it that are lost, and the engines' faults.

    Parameters
    ----------
    rows : tuple of LostRecall
        One for each set of results.
    faults : tuple of Fault
    warnings : tuple of str
        Results that fit another distance between vectors than the one that defines the true neighbours.
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
    warnings: tuple[str, ...]
    per_query: Mapping[str, LostRecall]
    space: str
    neighbours: str
    k: int
    n_queries: int
    n_database: int

    def parts(self) -> list[str | Table]:
        """Return the inputs, the table of the recall that is lost, the range that ties allow, and the faults."""
        first = self.rows[0]
        lines = [f"{self.n_queries:,} queries, {self.n_database:,} database items; {self.neighbours}"]
        for form in dict.fromkeys(row.distances for row in self.rows if row.distances):
            engines = ", ".join(row.name for row in self.rows if row.distances == form)
            lines.append(f"distances of {engines}: {form}")
        lines += (f"warning: {warning}" for warning in self.warnings)
        lost = [name for name in _LOST if getattr(first, name) is not None]
        names = ["recall", *lost, "exact"]
        cells = [[row.name, *(f"{getattr(row, name) + 0.0:.4f}" for name in names)] for row in self.rows]
        header = ["results", f"recall@{self.k}", *map(_LOST.__getitem__, lost), f"exact by {self.space}"]
        result: list[str | Table] = ["\n".join(lines), Table("attribution", "", header, cells)]
        if first.lost_to_ties is not None:
            gains = -first.most_lost_to_ties, -first.least_lost_to_ties
            result.append("ties change the recall of an exact search by {:+.2f} to {:+.2f}".format(*gains))
        return result + ["\n".join(map(str, self.faults))] * bool(self.faults)

    def content(self) -> dict[str, Any]:
        """Return all fields but the values per query."""
        names = ("space", "neighbours", "k", "n_queries", "n_database", "rows", "faults", "warnings")
        return {"attribution": {name: getattr(self, name) for name in names}}


class _Exact(NamedTuple):
    """What exact search finds: items nearer than the K-th item, and those as far as it.

    Parameters
    ----------
    kth : ndarray of float64, shape (n_queries, 1)
        The distance of the K-th item.
    nearer : ndarray of int64, shape (n_queries,)
        The number of items nearer than the K-th.
    tied : ndarray of int64, shape (n_queries,)
        The number of items at the distance of the K-th.
    kth_true : ndarray of float64, shape (n_queries, 1)
        The distance of the K-th item by the vectors if there are any, otherwise `kth`.
    counts : HammingCounts or None
        With codes and vectors: the counts of the true neighbours.
    """

    kth: Floats
    nearer: Integers
    tied: Integers
    kth_true: Floats
    counts: HammingCounts | None = None


class _Space(NamedTuple):
    """What an engine searches: codes as words, by the Hamming distance, or vectors.

    All distances ascend with the rank: for ``dot``, they are minus the inner products.

    Parameters
    ----------
    name : {"code", "vector"}
    query, database : ndarray, shapes (n_queries, d), (n_database, d)
    distance : {"cosine", "euclidean", "dot"} or None
        None for codes.
    """

    name: str
    query: NDArray
    database: NDArray
    distance: Distance | None

    def distances(self, ids: Integers, threads: int = 1) -> Floats:
        """Return the distances of items from their queries, (n_queries, n); NaN for -1 and items out of range."""
        apart, is_item = np.full(ids.shape, np.nan), (ids >= 0) & (ids < len(self.database))
        if self.distance is not None:
            pairs = self.query, self.database, np.nonzero(is_item)[0], ids[is_item]
            apart[is_item] = pair_distances(*pairs, distance=self.distance, threads=threads)
            return apart
        for row, found in enumerate(is_item):
            apart[row, found] = np.bitwise_count(self.query[row] ^ self.database[ids[row, found]]).sum(axis=1)
        return apart

    def tolerance(self, distances: Floats) -> Any:
        """Return the errors that distances may have, (n_queries, n), if an engine adds d products: 4 sqrt(d) roundings.

        The roundings are of the size of inner products and squares. An item is at most as long as the query plus their
        distance. An error e of a square changes its root x by e / 2x, or by the root of e at most.
        """
        if self.distance is None:
            return 0.0
        error, length = _ERROR * self.query.shape[1] ** 0.5, _lengths(self.query)
        if self.distance == "euclidean":
            error = error * (length[:, None] ** 2 + (length[:, None] + distances) ** 2)
            return error / np.maximum(2 * distances, np.maximum(np.sqrt(error), np.finfo(np.float64).tiny))
        if self.distance == "dot":
            return error * length[:, None] * _lengths(self.database).max()
        return error

    def others(self) -> Iterator["_Space"]:
        """Yield the same vectors with each other distance; none if one is zero or extreme, and may not have it."""
        lengths = np.concatenate(
            [_lengths(side) for side in (self.query, self.database) if self.distance] or [np.zeros(1)]
        )
        if lengths.min() > 1e-100 and lengths.max() < 1e100:
            yield from (self._replace(distance=one) for one in get_args(Distance) if one != self.distance)


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

    and the three add up to 1 - recall. The recall is the number of results that are among A or T by the vectors,
    divided by K, as ``neighbours@K``. An exact engine loses no recall to the index, whichever items of T it returns. A
    negative value of lost_to_index means that the engine is better than exact search by code, for example because it
    re-ranks by the vectors.

    With codes only or vectors only, A and T are those of what the engine searches, and the rest is lost to the index.

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
        The distances that the engine returned with the results, in the same form. Their kind is recognised by their
        values: Hamming distances of codes; or of vectors, Euclidean distances, cosines, or 1 minus them, and inner
        products, negated, or 1 minus them; Euclidean distances may be squared, and those of unit vectors.
        Others, such as half precision, are of no known kind; only their order is checked.
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
        If an input is unusable, or row numbers seem to count from 1: they don't include 0, but n_database, or the items
        before them are far more often among the nearest.

    Notes
    -----
    Engines compute distances in float32. Distances of vectors may differ from the exact ones, and those of tied items
    from each other, by 2^-21 sqrt(d) of the squared lengths of the vectors, where d is their dimension. Memory is used
    for a few arrays of the size of the results, and for the true neighbours, in addition to the codes.

    Examples
    --------
    The second item is at distance 1 from the query, but the index returns the last one.

    >>> codes = [[0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    >>> row = attribute([[0, 2]], codes, exact=True)
    >>> row.rows[0].recall, row.rows[0].lost_to_index, row.faults[0].example
    (0.5, 0.5, 'item 1 at distance 1 was left out, but item 2 at distance 2 was returned')
    """
    pair, spaces = _spaces(codes, vectors)
    truth, space, sizes = None, spaces[0], (len(spaces[0].query), len(spaces[0].database))
    returned = _read(results, distances, ids, vectors.k if k is None and vectors is not None else k, sizes)
    k = next(iter(returned.values()))[0].shape[1]
    if vectors is not None:
        done = stage(progress, "finding neighbours", sizes[0] * sizes[1])
        truth = nearest(*spaces[-1][1:3], k, distance=vectors.distance, threads=threads, progress=done)
    if pair is not None:
        ideal = _by_codes(pair, truth, k, threads, progress)
    elif truth is not None:
        ideal = _by_vectors(space, truth)
    measured = [_measured(name, of, spaces, ideal, exact, threads) for name, of in returned.items()]
    per_query, faults, warnings = zip(*measured, strict=True)
    rows, by_name = tuple(map(LostRecall.mean, per_query)), dict(zip(returned, per_query, strict=True))
    n_true = ideal.nearer + ideal.tied if truth is None else np.diff(truth.indptr)
    by, ties = _BY[vectors.distance] if vectors else "code", with_ties(n_true.min(), n_true.max(), k)
    neighbours = f"the {k:,} nearest by {by}{ties}{', which all count' * bool(ties)}"
    every_fault, every_warning = (tuple(itertools.chain(*of)) for of in (faults, warnings))
    return Attribution(rows, every_fault, every_warning, by_name, space.name, neighbours, k, *sizes)


def _spaces(codes: tuple[Any, Any] | None, vectors: Nearest | None) -> tuple[CodePair | None, list[_Space]]:
    """Return the codes, and what defines neighbours: first what the engine searches, last what the true ones are by."""
    pair, spaces = None, list[_Space]()
    if vectors is not None:
        spaces.append(_Space("vector", *vectors.vectors(), vectors.distance))
        check_rows(spaces[0].query, named(vectors.query, "query vectors"), unit=vectors.distance == "cosine")
    if codes is not None:
        pair = read_codes(*codes).binary()
        if spaces:
            check_sizes(pair.sizes, spaces[0].query, spaces[0].database)
        spaces.insert(0, _Space("code", packing.words(pair.query), packing.words(pair.database), None))
    if not spaces:
        raise ProtocolError("codes and vectors are missing. Pass those that the engine searches.")
    return pair, spaces


def _by_vectors(space: _Space, truth: Neighbours) -> _Exact:
    """Return what exact search by the vectors finds, which are the true neighbours."""
    starts, n_near, kth = truth.indptr[:-1], np.diff(truth.indptr), _kth(truth)
    below = np.repeat((kth - space.tolerance(kth))[:, 0], n_near)
    nearer = np.add.reduceat((truth.distances < below).astype(np.int64), starts)
    return _Exact(kth, nearer, n_near - nearer, kth)


def _kth(truth: Neighbours) -> Floats:
    """Return the distance of the K-th nearest item of each query, (n_queries, 1)."""
    return np.maximum.reduceat(truth.distances, truth.indptr[:-1])[:, None]


def _by_codes(pair: CodePair, truth: Neighbours | None, k: int, threads: int, progress: Progress) -> _Exact:
    """Return what exact search by code finds."""
    rows = np.arange(len(pair.query))
    relevance: Relevance = LabelRelevance(0 * rows, np.ones(len(pair.database), dtype=np.int64))
    if truth is not None:
        relevance = NeighbourRelevance(truth.indptr, truth.indices, len(pair.database))
    done = stage(progress, "counting", len(rows))
    counts = count_in_shards(*pair[:3], {"": relevance}, buckets=False, threads=threads, progress=done)[""]
    within = (counts.retrieved_within >= k).argmax(axis=1)
    tied, kth = counts.retrieved[rows, within], within[:, None].astype(np.float64)
    nearer = counts.retrieved_within[rows, within] - tied
    return _Exact(kth, nearer, tied, *((kth,) if truth is None else (_kth(truth), counts)))


def _by_name(results: Any, distances: Any) -> dict[str, tuple[Any, Any]]:
    """Return the results of each engine, and its distances or None."""
    if not isinstance(results, Mapping):
        return {Path(named(results, "results")).stem: (results, distances)}
    if not results:
        raise ProtocolError("results are missing.")
    by_name = {} if distances is None else distances
    if not (isinstance(by_name, Mapping) and by_name.keys() <= results.keys()):
        raise ProtocolError("distances must be a mapping with the names of the results, as results is one.")
    return {name: (values, by_name.get(name)) for name, values in results.items()}


def _read(results: Any, distances: Any, ids: Any, k: Any, sizes: tuple[int, int]) -> dict[str, _Returned]:
    """Return K columns of the results and of their distances by name; without K, the largest number of columns."""
    by_name, returned = _by_name(results, distances), dict[str, _Returned]()
    rows_of = [read_ids(*side) for side in zip(ids or (), ("query", "database"), sizes, strict=False)]
    items = {name: read_results(values, sizes[0], ids=rows_of) for name, (values, _) in by_name.items()}
    k = integer(max(one.shape[1] for one in items.values()) if k is None else k, "neighbours", maximum=sizes[1])

    def columns(array: NDArray) -> NDArray:
        return np.pad(array[:, :k], [(0, 0), (0, max(0, k - array.shape[1]))], constant_values=-1)

    for name, (values, of_values) in by_name.items():
        rows = as_integers(items[name][:, :k], label := named(values, "results"))
        if validation.count_from_one(found := rows[rows != -1], sizes[1]):
            validation.rows(found, sizes[1], label)
        returned[name] = columns(rows), None
        if of_values is not None:
            apart, shape = read_results(of_values, sizes[0], "distances"), items[name].shape
            if apart.shape != shape:
                raise ProtocolError(f"{name}: distances of shape {apart.shape} for results of shape {shape}.")
            returned[name] = returned[name][0], columns(apart.astype(np.float64))
    return returned


def _lengths(vectors: NDArray) -> Floats:
    """Return the Euclidean lengths of vectors, (n,)."""
    every = np.arange(len(vectors))
    return np.sqrt(-pair_distances(vectors, vectors, every, every, distance="dot"))


def _measured(
    name: str, returned: _Returned, spaces: list[_Space], ideal: _Exact, claims_exact: bool, threads: int
) -> tuple[LostRecall, list[Fault], list[str]]:
    """Return the values of all queries for one set of results; its faults, one of each kind; and warnings."""
    (ids, distances), space, by, form, distance = returned, spaces[0], spaces[-1], None, None
    k, n_database, faults = ids.shape[1], len(space.database), list[Fault]()
    is_first, measures = np.zeros(ids.shape, dtype=bool), [(one, one.distances(ids, threads)) for one in spaces]
    for row, items in enumerate(ids):
        is_first[row, np.unique(items, return_index=True)[1]] = True
    apart, is_item = measures[0][1], ~np.isnan(measures[0][1])
    lost = _values(name, [(one, np.where(is_first, far, np.nan)) for one, far in measures], ideal)
    _check_first_number(name, ids, lost.exact, space, ideal)

    def add(kind: str, is_wrong: NDArray[np.bool_], example: Callable[[int, int], str]) -> None:
        queries = np.flatnonzero(is_wrong.any(axis=1))
        if queries.size:
            query = int(queries[0])
            faults.append(Fault(name, kind, queries.size, query, example(query, int(is_wrong[query].argmax()))))

    add("ids out of range", ~is_item & (ids != -1), lambda q, i: f"item {ids[q, i]} of {n_database:,}, counted from 0")
    add("duplicate items", is_item & ~is_first, lambda q, i: f"item {ids[q, i]} twice")
    add("fewer than K items", ids == -1, lambda q, _: f"{(ids[q] >= 0).sum()} of {k}")
    if claims_exact:
        add("nearer items left out", lost.exact[:, None] < 1, lambda q, _: _left_out(q, ids[q], apart[q], space))
    if distances is not None:
        others = ((other, other.distances(ids, threads)) for other in by.others())
        form, distance, right, differs, unsorted = _recognised(distances, is_item, itertools.chain(measures, others))

        def example(q: int, i: int) -> str:
            return f"item {ids[q, i]} was returned with distance {distances[q, i]:.6g}"

        add("distances not sorted", unsorted, lambda q, i: f"{example(q, i)} after {distances[q, i - 1]:.6g}")
        add("impossible distances", differs, lambda q, i: f"{example(q, i)}, but is at distance {right[q, i]:.6g}")
    warnings = _doubts(lost, np.where(is_first, ids, -1)[:_FEW], form, distance, spaces, threads)
    return replace(lost, distances=form), faults, list(warnings)


def _doubts(
    lost: LostRecall, ids: Integers, form: str | None, distance: str | None, spaces: list[_Space], threads: int
) -> Iterator[str]:
    """Yield warnings if an engine's distances, or else a few of its results, fit another distance of the vectors.

    Results fit if the recall by the other distance lacks at most half as much.
    """
    space, by, hint = spaces[0], spaces[-1], 'Did you mean --distance {0} (in Python, distance="{0}")?'
    if distance not in (None, by.distance):
        lengths = _lengths(by.database)  # if these are equal, all distances have the same order
        if not np.allclose(lengths, lengths[0], rtol=1e-5, atol=0):
            yield f"{lost.name}: these are {form}, but --distance is {by.distance}. {hint.format(distance)}"
    if distance is None and lost.recall.mean() < 1 - _DOUBTFUL:
        recall = lost.recall[: len(ids)].mean()
        for other in space._replace(query=space.query[: len(ids)]).others():
            kth = _kth(nearest(*other[1:3], ids.shape[1], distance=other.distance or "cosine", threads=threads))
            instead = (other.distances(ids, threads) <= kth + other.tolerance(kth)).mean()
            if 1 - instead <= (1 - recall) / 2:
                of = f"the recall of {counted(len(ids), 'query')} is {recall:.4f} by {space.distance}"
                yield f"{lost.name}: {of}, but {instead:.4f} by {other.distance}. {hint.format(other.distance)}"


def _check_first_number(name: str, ids: Integers, exact: Floats, space: _Space, ideal: _Exact) -> None:
    """Raise ProtocolError if the items before those found, for the first queries, are nearest far more often."""
    before = space.distances(ids[:_SAMPLE] - 1)
    if (ids == 0).any() or np.isfinite(before).sum() < _FEWEST:
        return
    share, instead = exact[:_SAMPLE].mean(), (before <= (ideal.kth + space.tolerance(ideal.kth))[:_SAMPLE]).mean()
    if instead >= _SMALLEST_SHARE and instead > 5 * share:
        shares = f"{share:.1%} of the items are among the K nearest, but {instead:.1%} of those with numbers one below"
        raise ProtocolError(f"{name}: {shares}. They may count from 1: subtract 1 from each.")


def _recognised(returned: Floats, is_item: NDArray[np.bool_], measures: Iterable[tuple[_Space, Floats]]) -> _Kind:
    """Return what an engine's distances are: the kind with which those of most queries agree, the first of several.

    Spaces after one with which all agree are not tried. Distances of no known kind should be in the order that more
    queries have.

    Returns
    -------
    name : str
    distance : {"cosine", "euclidean", "dot"} or None
        That between the vectors of which they are a function; None for Hamming distances, or if it is not known.
    values : ndarray of float64, shape (n_queries, K)
        The distances of the items in this form.
    differs : ndarray of bool, shape (n_queries, K)
        Where the engine's are others.
    unsorted : ndarray of bool, shape (n_queries, K)
        Where the previous item's should come later.
    """
    rises, falls = np.zeros_like(is_item), np.zeros_like(is_item)
    both, before, after = is_item[:, 1:] & is_item[:, :-1], returned[:, :-1], returned[:, 1:]
    rises[:, 1:], falls[:, 1:] = both & (after > before), both & (after < before)
    largest, sign = _SMALLEST_SHARE, int(np.sign(rises.any(axis=1).sum() - falls.any(axis=1).sum()))
    order = ("neither ascending nor descending", "ascending", "descending")[sign] + " with the rank"
    unknown = f"of no known kind, so not compared with those of the items, but {order}"
    kind: _Kind = unknown, None, returned, np.zeros_like(is_item), rises if sign < 0 else falls
    for space, apart in measures:
        known, tolerance = np.isfinite(apart) & np.isfinite(returned), space.tolerance(apart)
        for name, of in _KINDS[space.distance].items():
            ends = np.stack([of(apart - tolerance), of(apart + tolerance)])
            differs = ~((ends.min(axis=0) <= returned) & (returned <= ends.max(axis=0)))
            agrees = ~(differs & known).any(axis=1)[known.any(axis=1)]
            if agrees.sum() > largest * agrees.size:
                unsorted, largest = rises if (ends[0] > ends[1]).any() else falls, agrees.mean()
                kind = name, space.distance, of(apart), differs & is_item, unsorted
        if largest == 1:
            break
    return kind


def _values(name: str, measures: list[tuple[_Space, Floats]], ideal: _Exact) -> LostRecall:
    """Return the values of each query from the distances of its items, those of repetitions NaN.

    The first measure is that of the engine, the last one that of the true neighbours.
    """
    (space, apart), (by, by_truth) = measures[0], measures[-1]
    rows, k, tolerance = np.arange(len(apart)), apart.shape[1], space.tolerance(ideal.kth)
    is_nearer = apart < ideal.kth - tolerance
    is_tied = ~is_nearer & (apart <= ideal.kth + tolerance)
    tied, free = is_tied.sum(axis=1), k - ideal.nearer
    exact = (is_nearer.sum(axis=1) + np.minimum(tied, free)) / k
    is_true = by_truth <= ideal.kth_true + by.tolerance(ideal.kth_true)
    recall = is_true.sum(axis=1) / k
    if ideal.counts is None:
        return LostRecall(name, recall, 1 - recall, exact)
    at, is_counted = (rows, ideal.kth[:, 0].astype(np.int64)), is_true & (by_truth <= ideal.kth_true)
    true_tied, every_tied = (is_true & is_tied).sum(axis=1), ideal.counts.relevant[at]
    other_ties = every_tied - (is_counted & is_tied).sum(axis=1)
    some_of_them = true_tied * free / np.maximum(tied, 1)
    and_others = true_tied + (free - tied) * other_ties / np.maximum(ideal.tied - tied, 1)
    of_ties = np.where(tied > free, some_of_them, and_others)
    true_nearer = ideal.counts.relevant_within[at] - every_tied + (is_true & ~is_counted & is_nearer).sum(axis=1)
    repaired = (true_nearer + of_ties) / k
    by_code, best, worst = (neighbours_found(ideal.counts, nearest=k, retrieved=k, ties=order) for order in ORDERS)
    return LostRecall(name, recall, repaired - recall, exact, 1 - by_code, *(by_code - [repaired, best, worst]))


def _left_out(query: int, ids: Integers, apart: Floats, space: _Space) -> str:
    """Return the nearest item that a query lacks, and the farthest of its items."""
    missing = space._replace(query=space.query[[query]]).distances(np.arange(len(space.database))[None])[0]
    missing[ids[np.isfinite(apart)]] = np.inf
    text = f"item {missing.argmin()} at distance {missing.min():.6g} was left out"
    if np.isfinite(apart).any():
        farthest = np.nanargmax(apart)
        text += f", but item {ids[farthest]} at distance {apart[farthest]:.6g} was returned"
    return text
