"""Recall lost to the code, to the index and to ties by the results of a search engine; and the engine's faults."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer
from protocol.codes import unpack
from protocol.counting import HammingCounts, count_by_distance, count_in_shards
from protocol.counting.counts import Floats, Integers
from protocol.evaluation.code_pairs import Outputs, read_codes
from protocol.evaluation.ground_truth import SAME, Nearest, check_sizes
from protocol.evaluation.output import DISTANCE_NAMES, with_ties
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.inputs import validation
from protocol.inputs.arrays import as_integers, named
from protocol.inputs.judgments import read_ids, read_results
from protocol.metrics import ORDERS, mean, neighbours_found
from protocol.quantisers.representations import lengths, ranked_otherwise
from protocol.quantisers.rescoring import hardly_nearer
from protocol.scores.tables import Table
from protocol.truth import Distance, check_rows, nearest, pair_distances
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance, Relevance

_SAMPLE, _FEWEST = 100, 10
"""Queries, and pairs, that show from which number items are counted, and whether another distance fits better."""
_DOUBTFUL = 0.005
"""Another distance is named if the recall by it is larger by more than this."""
_DEVIATIONS = 3.5
"""And if it is larger by as many standard errors, where the engine's distances don't say which they are."""
_MOST, _SHARE_OF_OTHERS, _FEW = 0.9, 0.75, 5
"""Of the queries; of the nearest items; and a number of items, of which a search that finds most seldom misses all."""
_SMALLEST_SHARE = 0.5
"""Distances are compared with those of the items if those of more than this share of the queries agree with them."""
_Kind = tuple[str, Distance | None, Floats, NDArray[np.bool_], NDArray[np.bool_]]
_Returned = tuple[Integers, Floats | None]
_ERROR = 2.0**-23
"""The distance from 1 to the next number in float32, in which engines compute distances."""
_PRECISION = 0.001
"""The recall of exact distances is named if that up to the precision of float32 is larger by more than this."""
_LOST = {"lost_to_code": "lost to the code", "lost_to_index": "lost to the index", "lost_to_ties": "lost to ties"}
_KINDS: dict[Distance | None, dict[str, Callable[[Any], Any]]] = {
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
        Codes or results that are hardly nearer than random items, or that are ranked by, or fit, another distance
        between vectors than the one that defines the true neighbours.
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
        titles = {"recall": f"recall@{self.k}"} | _LOST | {"exact": f"exact by {self.space}"}
        titles = {name: title for name, title in titles.items() if getattr(first, name) is not None}
        cells = [[row.name, *(f"{round(getattr(row, name), 4) + 0.0:.4f}" for name in titles)] for row in self.rows]
        result: list[str | Table] = ["\n".join(lines), Table("attribution", "", ["results", *titles.values()], cells)]
        if first.lost_to_ties is not None:
            gains = (round(-lost, 2) + 0.0 for lost in (first.most_lost_to_ties, first.least_lost_to_ties))
            result.append("ties change the recall of an exact search by {:+.2f} to {:+.2f}".format(*gains))
        return result + ["\n".join(map(str, self.faults))] * bool(self.faults)

    def content(self) -> dict[str, Any]:
        """Return all fields but the values per query."""
        return {"attribution": {name: value for name, value in vars(self).items() if name != "per_query"}}


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
    nearest_true : ndarray of float64, shape (n_queries,)
        That of the nearest item by the vectors; NaN without vectors.
    counts : HammingCounts or None
        With codes and vectors: the counts of the true neighbours.
    """

    kth: Floats
    nearer: Integers
    tied: Integers
    kth_true: Floats
    nearest_true: Floats
    counts: HammingCounts | None = None


class _Space(NamedTuple):
    """What an engine searches: packed codes, by the Hamming distance, or vectors.

    All distances ascend with the rank: for ``dot``, they are minus the inner products.

    Parameters
    ----------
    query, database : ndarray, shapes (n_queries, d), (n_database, d)
    n_bits : int
        The code length; of vectors, any number.
    distance : {"cosine", "euclidean", "dot"} or None
        None for codes.
    """

    query: NDArray
    database: NDArray
    n_bits: int
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
        """Return the errors that distances may have, (n_queries, n), if an engine adds d products: sqrt(d) roundings.

        The roundings are of the size of inner products and squares. An item is at most as long as the query plus their
        distance. An error e of a square changes its root x by e / 2x, or by the root of e at most.
        """
        if self.distance is None:
            return 0.0
        error, length = _ERROR * self.query.shape[1] ** 0.5, lengths(self.query)
        if self.distance == "euclidean":
            error = error * (length[:, None] ** 2 + (length[:, None] + distances) ** 2)
            return error / np.maximum(2 * distances, np.sqrt(error) + 1e-300)
        if self.distance == "dot":
            return error * length[:, None] * lengths(self.database).max()
        return error

    def kinds(self, apart: Floats) -> Iterator[tuple[str, Distance | None, Floats, Floats, Floats, bool]]:
        """Yield what engines may return for distances: name, distance, values, their ends, and if they fall."""
        error, by_bits = self.tolerance(apart), {"Hamming distances / code length": lambda h: h / self.n_bits}
        for name, of in (_KINDS[self.distance] | (by_bits if self.distance is None else {})).items():
            low, high = np.sort([of(apart - error), of(apart + error)], axis=0)
            yield name, self.distance, of(apart), low, high, of(1.0) < of(0.0)

    def others(self) -> list["_Space"]:
        """Return the same vectors with each other distance; none for codes, and if a vector may not have it."""
        if self.distance is None or min(lengths(side).min() for side in self[:2]) < 1e-100:
            return []
        return [self._replace(distance=one) for one in get_args(Distance) if one != self.distance]


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
        values: Hamming distances of codes, which may be divided by the code length; or of vectors, Euclidean distances,
        cosines, or 1 minus them, and inner products, negated, or 1 minus them; Euclidean distances may be squared, and
        those of unit vectors. They may be rounded to decimals or float16 if all agree. Others are of no known kind;
        only their order is checked.
    ids : pair, optional
        The ids of queries, or None, and of database items in the results, in the order of the codes or vectors, or
        their files with an id on each line. If None, results have row numbers.
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
    from each other, by 2^-23 sqrt(d) of the squared lengths of the vectors, where d is their dimension. Memory is used
    for a few arrays of the size of the results, and for the true neighbours, in addition to the codes.

    Examples
    --------
    The second item is at distance 1 from the query, but the index returns the last one.

    >>> codes = [[0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    >>> row = attribute([[0, 2]], codes, exact=True)
    >>> row.rows[0].recall, row.rows[0].lost_to_index, row.faults[0].example
    (0.5, 0.5, 'item 1 at distance 1 was left out, but item 2 at distance 2 was returned')
    """
    spaces = _spaces(codes, vectors)
    sizes = len(spaces[0].query), len(spaces[0].database)
    returned = _read(results, distances, ids, vectors.k if k is None and vectors is not None else k, sizes)
    k = next(iter(returned.values()))[0].shape[1]
    ideal = _ideal(spaces[0], spaces[-1], k, threads, progress)
    measured = [_measured(name, of, spaces, ideal, exact, threads) for name, of in returned.items()]
    per_query, faults, warnings = zip(*measured, strict=True)
    rows, by_name = tuple(map(LostRecall.mean, per_query)), dict(zip(returned, per_query, strict=True))
    ranking = codes[0].ranking if codes is not None and isinstance(codes[0], Outputs) else "hamming"
    otherwise = ranked_otherwise(ranking, spaces[0][:2], spaces[-1].distance, spaces[-1].database)
    of_codes = () if ideal.counts is None else hardly_nearer("codes", 1 - rows[0].lost_to_code, k, sizes[1])
    n_true = ideal.nearer + ideal.tied if ideal.counts is None else ideal.counts.relevant.sum(axis=1)
    space, ties = "vector" if codes is None else "code", with_ties(n_true.min(), n_true.max(), k)
    by = f"{DISTANCE_NAMES[vectors.distance]} of the vectors" if vectors else "code"
    neighbours = f"the {k:,} nearest by {by}{ties}{', which all count' * bool(ties)}"
    every_warning = (*otherwise, *of_codes, *chain(*warnings))
    return Attribution(rows, tuple(chain(*faults)), every_warning, by_name, space, neighbours, k, *sizes)


def _spaces(codes: tuple[Any, Any] | None, vectors: Nearest | None) -> list[_Space]:
    """Return what defines neighbours: first what the engine searches, last what the true ones are by."""
    spaces = list[_Space]()
    if codes is not None:
        pair = read_codes(*codes)
        database = 2 * unpack(*pair[1:3]).astype(np.int8) - 1 if pair.ranking == "asymmetric" else pair.database
        distance = {"hamming": None, "asymmetric": "dot"}.get(pair.ranking, pair.ranking)
        spaces.append(_Space(pair.query, database, pair.n_bits, cast("Distance | None", distance)))
    if vectors is not None:
        spaces.append(_Space(*vectors.vectors(), 0, vectors.distance))
        check_rows(spaces[-1].query, named(vectors.query, "query vectors"), unit=vectors.distance == "cosine")
        check_sizes((len(spaces[0].query), len(spaces[0].database)), *spaces[-1][:2])
    if not spaces:
        raise ProtocolError("codes and vectors are missing. Pass those that the engine searches.")
    return spaces


def _by_vectors(space: _Space, k: int, threads: int, progress: Progress) -> tuple[_Exact, Relevance]:
    """Return what exact search by vectors finds, and the relevance of the items that are not farther than the K-th."""
    done = stage(progress, "finding neighbours", len(space.query) * len(space.database))
    found = nearest(*space[:2], k, distance=cast("Distance", space.distance), threads=threads, progress=done)
    n_near, kth = np.diff(found.indptr), np.maximum.reduceat(found.distances, found.indptr[:-1])[:, None]
    below = np.repeat((kth - space.tolerance(kth))[:, 0], n_near)
    nearer = np.add.reduceat((found.distances < below).astype(np.int64), found.indptr[:-1])
    relevance = NeighbourRelevance(found.indptr, found.indices, len(space.database))
    return _Exact(kth, nearer, n_near - nearer, kth, np.minimum.reduceat(found.distances, found.indptr[:-1])), relevance


def _ideal(space: _Space, by: _Space, k: int, threads: int, progress: Progress) -> _Exact:
    """Return what exact search by codes or vectors finds if the true neighbours are those by the same or by vectors."""
    rows, true = np.arange(len(by.query)), None
    relevance: Relevance = LabelRelevance(0 * rows, np.ones(len(by.database), dtype=np.int64))
    if by.distance is not None:
        true, relevance = _by_vectors(by, k, threads, progress)
        if space is by:
            return true
        if space.distance is not None:
            counts = count_by_distance(*space[:2], {k: relevance}, distance=space.distance, threads=threads)[k]
            of_code, _ = _by_vectors(space, k, threads, progress)
            return true._replace(kth=of_code.kth, nearer=of_code.nearer, tied=of_code.tied, counts=counts)
    done = stage(progress, "counting", len(rows))
    counts = count_in_shards(*space[:3], {"": relevance}, buckets=False, threads=threads, progress=done)[""]
    within = _place(counts, k)
    tied, kth = counts.retrieved[rows, within], within[:, None].astype(np.float64)
    nearer = counts.retrieved_within[rows, within] - tied
    if true is None:
        return _Exact(kth, nearer, tied, kth, np.full(len(rows), np.nan))
    return true._replace(kth=kth, nearer=nearer, tied=tied, counts=counts)


def _place(counts: HammingCounts, k: int) -> Integers:
    """Return the place of the K-th item on the last axis of the counts, (n_queries,)."""
    return (counts.retrieved_within >= k).argmax(axis=1)


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
    roles = zip(ids or (), ("query", "database"), sizes, strict=False)
    rows_of = [{} if values is None else read_ids(values, role, size) for values, role, size in roles]
    items = {name: read_results(values, sizes[0], ids=rows_of) for name, (values, _) in by_name.items()}
    k = integer(max(one.shape[1] for one in items.values()) if k is None else k, "neighbours", maximum=sizes[1])
    for name, (values, of_values) in by_name.items():
        shape, label, apart = items[name].shape, named(values, "results"), None
        rows = as_integers(items[name][:, :k], label, "row numbers, where -1 means no item")
        missing = [(0, 0), (0, max(0, k - shape[1]))]
        if validation.count_from_one(found := rows[rows != -1], sizes[1]):
            validation.rows(found, sizes[1], label)
        if of_values is not None:
            apart = read_results(of_values, sizes[0], "distances", ids=rows_of[:1]).astype(np.float64)
            if apart.shape != shape:
                raise ProtocolError(f"{name}: distances of shape {apart.shape} for results of shape {shape}.")
            apart = np.pad(apart[:, :k], missing)
        returned[name] = np.pad(rows, missing, constant_values=-1), apart
    return returned


def _measured(
    name: str, returned: _Returned, spaces: list[_Space], ideal: _Exact, claims_exact: bool, threads: int
) -> tuple[LostRecall, list[Fault], list[str]]:
    """Return the values of all queries for one set of results; its faults, one of each kind; and warnings."""
    (ids, distances), space, form, distance = returned, spaces[0], None, None
    k, n_database, faults = ids.shape[1], len(space.database), list[Fault]()
    is_first = np.array([np.isin(np.arange(k), np.unique(row, return_index=True)[1]) for row in ids])
    once, measures = np.where(is_first, ids, -1), [(one, one.distances(ids, threads)) for one in spaces]
    is_item = ~np.isnan(measures[0][1])
    lost = _values(name, [(one, np.where(is_first, far, np.nan)) for one, far in measures], ideal)
    _check_numbers(name, ids, lost.exact, space, ideal)

    def add(kind: str, is_wrong: NDArray[np.bool_], example: Callable[[int, int], str]) -> None:
        queries = np.flatnonzero(is_wrong.any(axis=1))
        if queries.size:
            query = int(queries[0])
            faults.append(Fault(name, kind, queries.size, query, example(query, int(is_wrong[query].argmax()))))

    hint = "pass own ids as --database-ids (ids=)" if n_database <= np.median(ids) < 2**32 - 1 else "-1 means no item"
    add("ids out of range", ~is_item & (ids != -1), lambda q, i: f"item {ids[q, i]} of {n_database:,} from 0; {hint}")
    add("duplicate items", is_item & ~is_first, lambda q, i: f"item {ids[q, i]} twice")
    add("fewer than K items", ids == -1, lambda q, _: f"{(ids[q] >= 0).sum()} of {k}")
    add("nearer items left out", claims_exact & (lost.exact[:, None] < 1), lambda q, _: _left_out(space, q, ids[q]))
    if distances is not None:
        measures += ((other, other.distances(ids, threads)) for other in spaces[-1].others())
        form, distance, right, differs, unsorted = _recognised(np.where(is_item, distances, np.nan), measures)

        def example(q: int, i: int) -> str:
            return f"item {ids[q, i]} was returned with distance {distances[q, i]:.6g}"

        add("distances not sorted", unsorted, lambda q, i: f"{example(q, i)} after {distances[q, i - 1]:.6g}")
        add("impossible distances", differs, lambda q, i: f"{example(q, i)}, but is at distance {right[q, i]:.6g}")
    warnings = [*_disorder(lost, once, measures[: len(spaces)], ideal), *_doubts(lost, once, distance, spaces, threads)]
    return replace(lost, distances=form), faults, warnings


def _disorder(lost: LostRecall, ids: Integers, measures: list[tuple[_Space, Floats]], ideal: _Exact) -> Iterator[str]:
    """Yield a warning if results are hardly nearer than random ones or those of other queries, or if they recede."""
    space, share = measures[0][0], lost.exact.mean()
    yield from (as_random := hardly_nearer(lost.name, share, ids.shape[1], len(space.database), exact=True))
    exchanged = space.distances(np.random.default_rng(0).permutation(ids))
    of_others = (exchanged <= ideal.kth + space.tolerance(ideal.kth)).mean()
    if not as_random and share < min(2 * of_others, 0.5):
        shares = f"{share:.2%} of the items are among the K nearest, {of_others:.2%} of those of other queries"
        yield f"{lost.name}: {shares}. Are queries or items in another order?"
    true, of_vectors = measures[-1]
    n = int((of_vectors <= SAME).any(axis=1).sum())
    if n and true.distance in ("cosine", "euclidean") and len(ids) < len(true.database):
        yield f"{lost.name}: {counted(n, 'query')} of {len(ids):,} found an item at distance 0: perhaps themselves"
    n = int((is_same := ideal.nearest_true <= SAME).sum())
    if n > _MOST * len(ids) and true.distance != "dot" and not (of_vectors[is_same] <= SAME).any():
        which = "an item at distance 0, perhaps themselves, and none found it"
        yield f"{lost.name}: {n:,} of {len(ids):,} queries have {which}. Were they left out of their own results?"
    exact = ((of_vectors <= ideal.kth_true + SAME) & (ids >= 0)).mean()
    if true.distance is not None and lost.recall.mean() - exact > _PRECISION:
        hint = ". Subtract the mean of the vectors" * (true.distance == "euclidean")
        yield f"{lost.name}: the recall is {exact:.4f} without items that float32 can't tell from the K-th{hint}"
    n = int(((lost.exact == 0) & (ids >= 0).all(axis=1)).sum())
    others = lost.exact[lost.exact > 0]
    if others.size and n > len(ids) / 10 and ids.shape[1] >= _FEW and np.median(others) > _SHARE_OF_OTHERS:
        found = "found none of their K nearest items, but half of the others most of them"
        yield f"{lost.name}: {n:,} of {len(ids):,} queries {found}. Are some rows in another order?"
    if all((apart[:, 0] > apart[:, -1]).mean() > _MOST for _, apart in measures):
        yield f"{lost.name}: the first item is farther than the last one. Are the farthest first?"


def _doubts(lost: LostRecall, ids: Integers, distance: str | None, spaces: list[_Space], threads: int) -> Iterator[str]:
    """Yield a warning for each distance by which the recall of the first queries is larger.

    The distance may be the one of which the engine's distances are a
    function, `distance`. Without one, the recall of an engine that searches vectors must be larger by many deviations.
    """
    ids, recall = ids[:_SAMPLE], lost.recall[:_SAMPLE]
    for other in spaces[-1].others() if recall.mean() + _DOUBTFUL < 1 else ():
        if other.distance == distance or (distance is None and len(spaces) == 1):
            few = other._replace(query=other.query[:_SAMPLE])
            ideal = _ideal(few, few, ids.shape[1], threads, None)
            instead = _values(lost.name, [(few, few.distances(ids, threads))], ideal).recall
            more, error = (instead - recall).mean(), (instead - recall).std() / len(ids) ** 0.5
            is_clear = distance is not None or (len(ids) >= _FEWEST and more > _DEVIATIONS * error)
            if more > _DOUBTFUL and is_clear:
                shares = f"{recall.mean():.4f} by {spaces[-1].distance}, but {instead.mean():.4f} by {few.distance}"
                hint = f'Did you mean --distance {few.distance} (in Python, distance="{few.distance}")?'
                yield f"{lost.name}: the recall of {counted(len(ids), 'query')} is {shares}. {hint}"


def _check_numbers(name: str, ids: Integers, exact: Floats, space: _Space, ideal: _Exact) -> None:
    """Raise ProtocolError if the items before those found, for the first queries, are nearest far more often.

    Or if the first column counts the rows, but most of its items are not among the nearest.
    """
    kth = (ideal.kth + space.tolerance(ideal.kth))[:_SAMPLE]
    before, first = (space.distances(numbers[:_SAMPLE]) for numbers in (ids - 1, ids[:, :1]))
    share, instead = exact[:_SAMPLE].mean(), (before <= kth).mean()
    if np.isfinite(before).sum() >= _FEWEST and instead > max(0.1, 5 * share):
        shares = f"{share:.1%} of the items are among the K nearest, but {instead:.1%} of those with numbers one below"
        raise ProtocolError(f"{name}: {shares}. They may count from 1: subtract 1 from each.")
    if len(ids) >= _FEWEST and (ids[:, 0] == np.arange(len(ids))).all() and (first <= kth).mean() < 0.5:
        raise ProtocolError(f"{name}: the first column counts the rows, and few of these items are near. Delete it.")


def _recognised(returned: Floats, measures: list[tuple[_Space, Floats]]) -> _Kind:
    """Return what an engine's distances are: the kind with which those of most queries agree, the first of several.

    Those without an item are NaN. Distances of no known kind should be in the order that more queries have.

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
    before, after = returned[:, :-1], returned[:, 1:]
    rises, falls = (np.pad(steps, [(0, 0), (1, 0)]) for steps in (after > before, after < before))
    sign = int(np.sign(rises.any(axis=1).sum() - falls.any(axis=1).sum()))
    order = ("neither ascending nor descending", "ascending", "descending")[sign] + " with the rank"
    unknown = f"of no known kind, or rows are in another order, so not compared with those of the items; {order}"
    kind: _Kind = unknown, None, returned, np.zeros_like(rises), rises if sign < 0 else falls
    is_item, is_known = ~np.isnan(measures[0][1]), np.abs(returned) < 1e300
    kinds, known = [kind for space, apart in measures for kind in space.kinds(apart)], returned[is_known]
    for rounded, rounding in _roundings(np.where(is_known, returned, known[0])) if known.size else ():
        largest = np.nextafter(1, 0) if rounded else _SMALLEST_SHARE
        for name, distance, right, low, high, is_falling in kinds:
            differs = is_item & ~((low - rounding <= returned) & (returned <= high + rounding))
            agrees = ~(differs & is_known).any(axis=1)[is_known.any(axis=1)]
            if agrees.mean() > largest:
                largest, unsorted = agrees.mean(), rises if is_falling else falls
                kind = name + rounded, distance, right, differs, unsorted
        if kind[0] != unknown:
            break
    return kind


def _roundings(distances: Floats) -> Iterator[tuple[str, Any]]:
    """Yield how distances may have been rounded, in words, and by how much; first to float32.

    From the smallest to the largest are at least ten steps of decimals or float16, so that few others agree as well.
    """
    half, single = np.clip(distances, -6e4, 6e4).astype(np.float16), 2 * _ERROR * np.abs(distances)
    forms: list[Any] = [(f" rounded to {10.0**-n:g}", np.round(distances, n), 10.0**-n) for n in range(7)]
    forms.append((" in float16", half, np.spacing(np.abs(half)).astype(np.float64)))
    for words, rounded, step in [("", distances, 0), *forms]:
        if (np.abs(rounded - distances) <= single).all() and 10 * np.max(step) <= np.ptp(distances):
            yield words, step / 2 + single


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
    at = rows, _place(ideal.counts, k)
    every_tied, uncounted = ideal.counts.relevant[at], is_true & (by_truth > ideal.kth_true)
    true_nearer = ideal.counts.relevant_within[at] - every_tied + (uncounted & is_nearer).sum(axis=1)
    true_tied, every_tied = (is_true & is_tied).sum(axis=1), every_tied + (uncounted & is_tied).sum(axis=1)
    some_of_them = true_tied * free / np.maximum(tied, 1)
    and_others = true_tied + (free - tied) * (every_tied - true_tied) / np.maximum(ideal.tied - tied, 1)
    repaired = (true_nearer + np.where(tied > free, some_of_them, and_others)) / k
    by_code, best, worst = (neighbours_found(ideal.counts, nearest=k, retrieved=k, ties=order) for order in ORDERS)
    return LostRecall(name, recall, repaired - recall, exact, 1 - by_code, *(by_code - [repaired, best, worst]))


def _left_out(space: _Space, query: int, ids: Integers) -> str:
    """Return the nearest item that a query lacks, and the farthest of its items."""
    apart = space._replace(query=space.query[[query]]).distances(np.arange(len(space.database))[None])[0]
    order = np.argsort(apart, kind="stable")
    is_returned = np.isin(order, ids)
    texts = [f"item {item} at distance {apart[item]:.6g} was left out" for item in order[~is_returned][:1]]
    texts += [f"item {item} at distance {apart[item]:.6g} was returned" for item in order[is_returned][-1:]]
    return ", but ".join(texts)
