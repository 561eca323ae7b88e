"""Ground truths in the forms that users have: labels, lists or matrices of relevant items, and vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.counting.leave_one_out import check_same_number
from protocol.evaluation.conventions import Scoring
from protocol.evaluation.progress import Progress, stage
from protocol.inputs import validation
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named, numbers_from, read_array, read_lists
from protocol.inputs.formats import TEXT, read_csr
from protocol.inputs.judgments import judged_pairs, read_ids
from protocol.inputs.labels import label_pair
from protocol.inputs.text import INPUTS
from protocol.metrics import keywords
from protocol.truth import DISTANCES, Distance, Neighbours, nearest
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance, Relevance

NEIGHBOURS = (1, 10, 100)
"""The default numbers of nearest items; those that exceed the size of the database are omitted."""
SAME = 1e-12  # the largest distance of equal vectors, by rounding
_MOST_LEVELS = 255


@dataclass(frozen=True, eq=False)
class Labels:
    """Items that share a class label are relevant; the relevance level is the number of shared labels.

    Parameters
    ----------
    query : array_like, str or Path
        The labels of the queries: integers or strings (n,), or a 0/1 matrix (n, n_classes), which may be sparse.
    database : array_like, str or Path
        The labels of the database, of the same kind. At least one item must share a label with a query.
    query_ids, database_ids : array_like, str or Path, optional
        The ids in the order of the codes, by which labels in files with ids are put in this order.
    """

    query: Any
    database: Any
    query_ids: Any = None
    database_ids: Any = None


@dataclass(frozen=True, eq=False)
class Relevant:
    """The relevant items of each query.

    Parameters
    ----------
    items : Relevance, sparse or Boolean matrix, iterable of array_like, str or Path
        A Boolean matrix (n_queries, n_database), or a sparse matrix of relevance levels with a ``tocsr`` method; or,
        for each query, the positions of its relevant database items, from 0; or a file: ``.npz`` from
        ``scipy.sparse.save_npz``, text with a line of positions per query, or an array of positions (n_queries, k) or a
        Boolean matrix in any other format.
    """

    items: Any


@dataclass(frozen=True, eq=False)
class Judgments:
    """Items that assessors judged relevant, with their relevance levels. Items without a judgment are not relevant.

    Parameters
    ----------
    judgments : mapping of str to mapping of str to int, str or Path
        The levels of the items by query, ``{query: {item: level}}``; or a file with lines ``query iteration item
        level``, the qrels of TREC, or that of BEIR with the header ``query-id corpus-id score``. Items of levels below
        1 are not relevant.
    query_ids : array_like, str or Path
        The ids of all queries, in the order of the codes; a file has an id on each line.
    database_ids : array_like, str or Path
        The ids of all database items, in the order of the codes. Every id in the judgments must be in its list.
    """

    judgments: Any
    query_ids: Any
    database_ids: Any


@dataclass(frozen=True, eq=False)
class Nearest:
    """The items whose vectors are nearest to that of a query are relevant to it.

    Parameters
    ----------
    query : array_like, str or Path
        The vectors of the queries (n, d).
    database : array_like, str or Path
        The vectors of the database, of the same dimension. Files in the formats of NumPy, big-ann-benchmarks and
        TEXMEX are read in blocks.
    k : int or sequence of int, optional
        The numbers K of nearest items for which ``neighbours@K`` and ``1-recall@K`` are computed. If None, those of 1,
        10 and 100 that do not exceed the size of the database. For all other metrics, the nearest items of the largest
        K are relevant, independent of cutoffs in their names.
    distance : {"cosine", "euclidean", "dot"}, default="cosine"
        The distance that defines the nearest items; for ``dot``, a larger inner product is nearer.

    Raises
    ------
    ProtocolError
        If vectors are missing, the distance is unknown, or a number is below 1.
    """

    query: Any
    database: Any
    k: int | Sequence[int] | None = None
    distance: Distance = "cosine"

    def __post_init__(self) -> None:
        for values, role in ((self.query, "query"), (self.database, "database")):
            if values is None:
                raise ProtocolError(f"{role} vectors are missing.")
        one_of(self.distance, DISTANCES, "distance")
        if self.k is not None and not np.size(self.k):
            raise ProtocolError("neighbours: the list is empty.")
        for number in () if self.k is None else np.atleast_1d(self.k).tolist():
            integer(number, "neighbours")

    def vectors(self) -> tuple[NDArray, NDArray]:
        """Return the vectors of queries and database, memory-mapped where the file allows it.

        Raises
        ------
        ProtocolError
            If one is not a matrix of numbers, or their dimensions differ.
        """
        query, database = matrix_from(self.query, "query vectors"), matrix_from(self.database, "database vectors")
        check_dimension(database, query, named(self.database, "database vectors"), named(self.query, "query vectors"))
        return query, database

    def numbers(self, n_database: int, metrics: Iterable[str] = ()) -> tuple[int, ...]:
        """Return the numbers K, including those in the names of metrics, ascending.

        Raises
        ------
        ProtocolError
            If one exceeds the size of the database.
        """
        default = [number for number in NEIGHBOURS if number <= n_database]
        requested = {"neighbours": default if self.k is None else np.atleast_1d(self.k).tolist()}
        requested |= {f"metric {name!r}": [keywords(name)["cutoff"]] for name in metrics}
        for name, numbers in requested.items():
            if max(numbers) > n_database:
                size = counted(n_database, "item")
                raise ProtocolError(f"{name}: {max(numbers):,} nearest items, but the database has {size}.")
        return tuple(sorted({number for numbers in requested.values() for number in numbers}))


@dataclass(frozen=True)
class NearestItems:
    """A record of the nearest items of an evaluation.

    Parameters
    ----------
    distance : str
        The distance that defines them.
    n_features : int
        The dimension of the vectors.
    dtype : str
        The dtype of the vectors.
    numbers : tuple of int
        The numbers K for which ``neighbours@K`` and ``1-recall@K`` were computed.
    relevant : int
        The number of nearest items that are relevant for all other metrics.
    """

    distance: Distance
    n_features: int
    dtype: str
    numbers: tuple[int, ...]
    relevant: int


Truth = Labels | Relevant | Judgments | Nearest

_ROLES: Mapping[type, tuple[str, ...]] = {
    Labels: ("query_labels", "database_labels", "query_ids", "database_ids"),
    Relevant: ("relevance",),
    Judgments: ("relevance", "query_ids", "database_ids"),
    Nearest: ("query_vectors", "database_vectors"),
}


class GroundTruth(NamedTuple):
    """The relevance of the database items to the queries.

    Parameters
    ----------
    by_number : mapping of int to Relevance
        The relevance for each number of nearest items; without vectors, a single one under the key 0.
    scored : int
        The key of the relevance for metrics that are not about the nearest items.
    labels_not_in_database : tuple of int or str, or None
        The labels of queries that the database lacks; None without labels.
    nearest : NearestItems or None
        None without vectors.
    files : mapping of str to str
        The names of the files that were read, by the option that names them.
    query_ids : tuple of str
        The ids of the queries; () if they are not known.
    """

    by_number: Mapping[int, Relevance]
    scored: int = 0
    labels_not_in_database: tuple[int | str, ...] | None = None
    nearest: NearestItems | None = None
    files: Mapping[str, str] = MappingProxyType({})
    query_ids: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers K of nearest items; none without vectors."""
        return () if self.nearest is None else self.nearest.numbers

    @property
    def relevance(self) -> Relevance:
        """The relevance for metrics that are not about the nearest items."""
        return self.by_number[self.scored]


def only_truth(query_labels: Any, database_labels: Any, truth: Any) -> Truth:
    """Return labels or another ground truth.

    Raises
    ------
    ProtocolError
        Unless there is exactly one.
    """
    if not isinstance(truth, Truth | None):
        raise ProtocolError(f"truth must be Labels, Relevant, Judgments or Nearest, got {type(truth).__name__}.")
    labels = {"query labels": query_labels, "database labels": database_labels}
    names = [name for name, values in labels.items() if values is not None]
    if truth is not None and names and not (isinstance(truth, Labels) and truth.query is query_labels):
        kind = {Relevant: "relevance", Judgments: "judgments", Nearest: "vectors"}.get(type(truth), "labels")
        raise ProtocolError(f"More than one ground truth: {', '.join(names)} and {kind}. Choose one.")
    if truth is None and not names:
        raise ProtocolError("No ground truth: pass query_labels and database_labels, or truth.")
    if len(names) == 1:
        raise ProtocolError(f"{'database' if database_labels is None else 'query'} labels are missing.")
    return truth or Labels(query_labels, database_labels)


def ground_truth(
    truth: Truth,
    n_queries: int,
    n_database: int,
    scoring: Scoring | None = None,
    *,
    threads: int = 1,
    progress: Progress = None,
    code_files: Mapping[str, Any] = MappingProxyType({}),
) -> GroundTruth:
    """Return the relevance of the database items to the queries.

    Parameters
    ----------
    truth : Labels, Relevant, Judgments or Nearest
    n_queries : int
        The number of query codes.
    n_database : int
        The number of database codes.
    scoring : Scoring, optional
        The requested metrics, of which those about the nearest items need lists of these; and whether each query is
        about to leave its own item out: the nearest items are then those among the others. Other ground truths keep the
        own items, which counting leaves out.
    threads : int
        Threads of the search of the nearest items.
    progress : callable, optional
    code_files : mapping of str to mapping
        The files of the codes, whose ids may give the order of labels, as for `label_pair`.

    Raises
    ------
    ProtocolError
        If the ground truth is unusable, has other items than the codes, or does not support the metrics. If the queries
        leave themselves out, but their number or a label differs from that of the database.
    """
    scoring, sizes, lacking, query_ids = scoring or Scoring(), (n_queries, n_database), None, tuple[str, ...]()
    if scoring.leave_one_out:
        check_same_number(n_queries, n_database, scoring.leaving)
    values = vars(truth).values()  # in the order of the fields
    files = {role: str(one) for role, one in zip(_ROLES[type(truth)], values, strict=False) if is_file(one)}
    if isinstance(truth, Nearest):
        return _nearest_items(truth, sizes, scoring, threads, progress)._replace(files=files)
    if isinstance(truth, Labels):
        query, database, lacking, query_ids = label_pair(
            truth.query, truth.database, *sizes, {**code_files, **vars(truth)}
        )
        if scoring.leave_one_out:
            different = np.flatnonzero((query != database).reshape(len(query), -1).any(axis=1))
            if different.size:
                rows = f"the labels in row {different[0]:,} differ ({counted(different.size, 'such row')})"
                raise ProtocolError(f"{scoring.leaving} needs the same items as queries and as database, but {rows}.")
        relevance: Relevance = LabelRelevance(query, database)
    elif isinstance(truth, Judgments):
        query_ids = tuple(read_ids(truth.query_ids, "query", n_queries))
        queries, items, levels = judged_pairs(truth.judgments, truth.query_ids, truth.database_ids, sizes=sizes)
        relevance = _neighbours(queries, items, levels, sizes, named(truth.judgments, "relevance"))
    else:
        relevance = relevance_from(truth.items, *sizes)
    for metric in scoring.of_nearest:
        raise ProtocolError(f"metric {metric!r} needs vectors, not {relevance.kind}.")
    return GroundTruth({0: relevance}, labels_not_in_database=lacking, files=files, query_ids=query_ids)


def check_dimension(vectors: NDArray, query: NDArray, name: str, query_name: str = "query vectors") -> None:
    """Raise ProtocolError unless vectors have as many columns as those of the queries."""
    if vectors.shape[1] != query.shape[1]:
        raise ProtocolError(f"{name}: {counted(vectors.shape[1], 'column')}, but {query.shape[1]:,} in {query_name}.")


def check_sizes(sizes: tuple[int, int], query: NDArray, database: NDArray) -> None:
    """Raise ProtocolError unless there is one code for each vector; `sizes` are the numbers of codes."""
    for role, n_codes, rows in zip(("query", "database"), sizes, (query, database), strict=True):
        if n_codes != len(rows):
            raise ProtocolError(f"{role} codes: {counted(n_codes, 'row')} for {counted(len(rows), f'{role} vector')}.")


def _nearest_items(
    truth: Nearest, sizes: tuple[int, int], scoring: Scoring, threads: int, progress: Progress
) -> GroundTruth:
    """Return, for each number K, the relevance in which the items up to the distance of the K-th nearest are relevant.

    One number is 1, for ``1-recall@K``.
    """
    leave_one_out, (query, database) = scoring.leave_one_out, truth.vectors()
    check_sizes(sizes, query, database)
    numbers = truth.numbers(len(database) - leave_one_out, scoring.of_nearest)
    relevant = max(truth.numbers(len(database) - leave_one_out))
    k, done = max(numbers) + leave_one_out, stage(progress, "searching", len(query) * len(database))
    neighbours = nearest(query, database, k, distance=truth.distance, threads=threads, progress=done)
    same = np.minimum.reduceat(neighbours.distances, neighbours.indptr[:-1]) <= SAME
    if leave_one_out:  # the k - 1 nearest items without item i for query i
        others = neighbours.indices != np.repeat(np.arange(len(query)), np.diff(neighbours.indptr))
        indptr = np.append(0, np.cumsum(others))[neighbours.indptr]
        neighbours = Neighbours(k - 1, indptr, neighbours.indices[others], neighbours.distances[others])
    elif same.any() and truth.distance != "dot" and len(query) < len(database):
        found = "have a database item at distance 0: perhaps themselves, which are found too easily"
        INPUTS.warning("%s of %s %s", counted(int(same.sum()), "query"), f"{len(query):,}", found)
    every = sorted({1, *numbers})
    by_number = {number: NeighbourRelevance(*neighbours.first(number), len(database)) for number in every}
    record = NearestItems(truth.distance, database.shape[1], str(database.dtype), numbers, relevant)
    return GroundTruth(by_number, relevant, nearest=record)


def relevance_from(values: Any, n_queries: int, n_database: int) -> Relevance:
    """Return relevance from lists of neighbours or from a matrix.

    Parameters
    ----------
    values : Relevance, sparse matrix, array_like, iterable of array_like, or str or Path
        A `Relevance`, which is returned unchanged; a Boolean matrix (n_queries, n_database), or a sparse one with a
        ``tocsr`` method whose values are the relevance levels; the database positions of each query's relevant items,
        from 0; or a file: `.npz` from ``scipy.sparse.save_npz``, text with a line of positions per query, or an array
        of positions (n_queries, k) or a Boolean matrix in any other format.
    n_queries, n_database : int

    Raises
    ------
    ProtocolError
        If the sizes do not fit, a position is outside the database or listed twice, or a level is not an integer from 1
        to 255; if integers of shape (n_queries, n_database) could be either a matrix or positions; if no query has
        relevant items, or every item is relevant to every query at the same level.
    """
    name, expected = named(values, "relevance"), (n_queries, n_database)
    if hasattr(values, "row") and hasattr(values, "n_queries"):
        return values
    rows = _relevance_rows(values, name)
    if not hasattr(rows, "indptr"):
        return _neighbours(*_listed(rows, expected, name), expected, name)
    if tuple(rows.shape) != expected:
        raise ProtocolError(f"{name}: expected shape (n_queries, n_database) = {expected}, got {rows.shape}.")
    return _neighbours(np.repeat(np.arange(n_queries), np.diff(rows.indptr)), rows.indices, rows.data, expected, name)


def _relevance_rows(values: Any, name: str) -> Any:
    """Return relevance of any form as a sparse matrix, an array or an iterable of lists."""
    if is_file(values):
        suffix = Path(values).suffix.lower()
        return (read_csr if suffix == ".npz" else read_lists if suffix in TEXT else read_array)(values)
    if hasattr(values, "tocsr"):
        return values.tocsr()
    if any(hasattr(values, method) for method in ("__array__", "__dlpack__", "detach", "toarray")):
        return as_numpy(values, name)
    if not isinstance(values, Iterable):
        raise ProtocolError(f"{name}: expected a list of neighbours for each query, got {type(values).__name__}.")
    return values


def _listed(lists: Any, expected: tuple[int, int], name: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return the queries, items and levels, 1, of one list of database positions or one row of flags per query."""
    rows = [numbers_from(row, name) for row in lists]
    if len(rows) != expected[0]:
        raise ProtocolError(f"{name}: {counted(len(rows), 'list')} of neighbours for {expected[0]:,} queries.")
    shape = f"(n_queries, n_database) = {expected}"
    forms, of_matrix = {(row.shape, row.dtype.kind if row.size else "i") for row in rows}, expected[1:]
    if forms <= {(of_matrix, "i"), (of_matrix, "u")}:
        unclear = f"{name}: integers of shape {shape} may be a matrix or lists of database positions."
        raise ProtocolError(f"{unclear} Pass relevance.astype(bool) or scipy.sparse.csr_array(relevance) for a matrix.")
    if forms == {(of_matrix, "b")}:
        rows = list(map(np.flatnonzero, rows))
    elif any(len(shape) != 1 or kind not in "iu" for shape, kind in forms):
        raise ProtocolError(f"{name}: values must be database positions (integers), or Boolean in a matrix {shape}.")
    items = np.concatenate(rows).astype(np.int64)
    return np.repeat(np.arange(len(rows)), list(map(len, rows))), items, np.ones_like(items)


def _neighbours(queries: NDArray, items: NDArray, levels: NDArray, sizes: tuple[int, int], name: str) -> Relevance:
    """Return relevance from pairs of a query and a database position, in any order, and their levels."""
    if not items.size:
        raise ProtocolError(f"{name}: no query has a relevant item.")
    if not validation.is_integer(levels).all() or levels.min() < 1 or levels.max() > _MOST_LEVELS:
        needed = f"integers from 1 to {_MOST_LEVELS}, larger for more relevant items"
        got = f"values from {levels.min():.6g} to {levels.max():.6g}"
        raise ProtocolError(f"{name}: the levels must be {needed}, got {got}.")
    items = validation.rows(items, sizes[1], name)
    order = np.lexsort((items, queries))
    items, queries = items[order], queries[order]
    twice = np.flatnonzero((np.diff(items) == 0) & (np.diff(queries) == 0))
    if twice.size:
        raise ProtocolError(f"{name}: query {queries[twice[0]]:,} has item {items[twice[0]]:,} twice.")
    indptr = np.append(0, np.cumsum(np.bincount(queries, minlength=sizes[0])))
    relevance = NeighbourRelevance(indptr, items, sizes[1], levels[order].astype(np.int64))
    if items.size == sizes[0] * sizes[1] and relevance.levels.size == 1:
        raise ProtocolError(f"{name}: all {sizes[1]:,} database items are relevant to every query.")
    return relevance
