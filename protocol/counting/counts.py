"""The input of every metric: the number of items of each relevance level at each Hamming distance from each query."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol import codes
from protocol.checks import ProtocolError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Packed = NDArray[np.uint8]
"""Codes, packed by `protocol.codes.pack`."""
CodeWords = NDArray[np.uint64]
"""Codes as words."""
Value = TypeVar("Value")
_OF_DATABASE = ("levels", "bucket_sizes")
"""The arrays whose first axis is not the query."""
_BY_DISTANCE = ("retrieved", "at_level", "largest_bucket", "index_precisions")
"""The arrays whose last axis is the distance or the radius."""


@dataclass(frozen=True, eq=False)
class HammingCounts:
    """Counts of a Hamming ranking; axis 0 is the query, and the last axis is the distance or radius 0..n_bits.

    Parameters
    ----------
    retrieved : ndarray of int64, shape (n_queries, n_bits + 1)
        Database items at each distance.
    at_level : ndarray of int64, shape (n_queries, n_levels, n_bits + 1)
        The relevant items at each level and distance.
    levels : ndarray of int64, shape (n_levels,)
        The relevance levels, positive and ascending; level 0, which means not relevant, is omitted.
    bucket_sizes : ndarray of int64, shape (n_buckets,), optional
        The sizes of the non-empty buckets of the database, descending; a bucket is the set of items with the same code.
        None in a sum of counts of parts of a database, because a bucket may have items in several parts.
    largest_bucket : ndarray of int64, shape (n_queries, n_bits + 1), optional
        The size of the largest bucket within each radius; 0 for an empty ball. None if it was not requested.
    index_precisions : ndarray of float64, shape (n_queries, n_bits + 1), optional
        With ties in database order, the sum of the precisions at the ranks of the relevant items at each distance. None
        if it was not requested.
    index_top : ndarray of float64, shape (n_queries, 3), optional
        With ties in database order, the rank of the first relevant item, the number of relevant items up to rank R, and
        the sum of the precisions at their ranks, where R is the number of relevant items of the query; 0 without
        relevant items. None if it was not requested.
    index_discounts : ndarray of float64, shape (n_queries, n_levels), optional
        With ties in database order, the sum of 1 / log2(1 + rank) of the items at each level. None if it was not
        requested.

    Raises
    ------
    ProtocolError
        If dtypes or shapes are wrong, or the counts are impossible for a single database: for example negative counts,
        more relevant than retrieved items, or rows with different totals.
    """

    retrieved: Integers
    at_level: Integers
    levels: Integers
    bucket_sizes: Integers | None = None
    largest_bucket: Integers | None = None
    index_precisions: Floats | None = None
    index_top: Floats | None = None
    index_discounts: Floats | None = None

    def __post_init__(self) -> None:
        self._check_shapes()
        total = self.retrieved.sum(axis=1)
        broken = {
            "no count may be negative": self.retrieved.min() < 0 or self.at_level.min() < 0,
            "levels must be positive and ascending": (np.diff(self.levels, prepend=0) < 1).any(),
            "no more items may be relevant than retrieved": (self.relevant > self.retrieved).any(),
            "all rows must have the same total": (total != total[0]).any(),
            "bucket sizes must add up to the size of the database": self.bucket_sizes is not None
            and (self.bucket_sizes.size == 0 or total[0] % self.bucket_sizes.sum() != 0),
        }
        for rule, is_broken in broken.items():
            if is_broken:
                raise ProtocolError(f"counts: {rule}.")

    def _check_shapes(self) -> None:
        if self.retrieved.ndim != 2 or 0 in self.retrieved.shape or self.levels.size == 0:
            got = f"shape {self.retrieved.shape} and {self.levels.size} levels"
            raise ProtocolError(f"counts need at least one query, distance and level, got {got}.")
        (n_queries, n_distances), n_levels = self.retrieved.shape, self.levels.size
        shapes: dict[str, tuple[int, ...]] = {"at_level": (n_queries, n_levels, n_distances), "levels": (n_levels,)}
        shapes |= {"index_top": (n_queries, 3), "index_discounts": (n_queries, n_levels)}
        for name, array in self.to_arrays().items():
            shape = array.ravel().shape if name == "bucket_sizes" else shapes.get(name, self.retrieved.shape)
            dtype = "float64" if name.startswith("index") else "int64"
            if array.shape != shape or array.dtype != dtype:
                raise ProtocolError(f"counts: {name}: expected {dtype} {shape}, got {array.dtype} {array.shape}.")

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """What counts have in common that can be stacked: the arrays, their shapes, the levels and the database."""
        shapes = [(name, array.shape) for name, array in self.to_arrays().items() if name not in _OF_DATABASE]
        return (*shapes, *self.levels.tolist(), self.n_database)

    @property
    def n_queries(self) -> int:
        """The number of rows; 1 in pooled counts."""
        return self.retrieved.shape[0]

    @property
    def n_bits(self) -> int:
        """The code length, including extension bits."""
        return self.retrieved.shape[1] - 1

    @property
    def n_database(self) -> int:
        """The size of the database; in pooled counts, the number of pairs of a query and a database item."""
        return int(self.retrieved[0].sum())

    @cached_property
    def relevant(self) -> Integers:
        """Relevant items of any level at each distance, (n_queries, n_bits + 1)."""
        return self.at_level.sum(axis=1)

    @cached_property
    def retrieved_within(self) -> Integers:
        """Items within each radius, (n_queries, n_bits + 1)."""
        return self.retrieved.cumsum(axis=1)

    @cached_property
    def relevant_within(self) -> Integers:
        """Relevant items within each radius, (n_queries, n_bits + 1)."""
        return self.relevant.cumsum(axis=1)

    @property
    def n_relevant(self) -> Integers:
        """Relevant items of each query in the complete database, (n_queries,)."""
        return self.relevant_within[:, -1]

    def once(self, function: Callable[..., Value], *arguments: Hashable) -> Value:
        """Return ``function(self, *arguments)``, which is computed once for all metrics that need it."""
        key = (function, *arguments)
        if key not in self._of_functions:
            self._of_functions[key] = function(self, *arguments)
        return cast(Value, self._of_functions[key])

    @cached_property
    def _of_functions(self) -> dict[Hashable, Any]:
        return {}

    def requested(self, name: str) -> NDArray:
        """Return one of the optional arrays.

        Parameters
        ----------
        name : {"bucket_sizes", "largest_bucket", "index_precisions", "index_top", "index_discounts"}

        Raises
        ------
        ProtocolError
            If these counts lack it, because it was not requested or they are a sum of counts of parts of a database.
        """
        array: NDArray | None = getattr(self, name)
        if array is None:
            option = "index_order" if name.startswith("index") else "buckets"
            raise ProtocolError(f"counts have no {name}: pass {option}=True to count, and the complete database.")
        return array

    def __add__(self, other: Self) -> Self:
        """Return the counts of a database from those of two disjoint parts.

        The sum has the levels of both parts. It lacks the optional arrays, which can't be added up.

        Raises
        ------
        ProtocolError
            If the parts have different numbers of queries or different code lengths.

        Examples
        --------
        >>> first, second = ([[1, 0]], {1: [[1, 0]]}), ([[1, 1]], {1: [[0, 0]], 2: [[0, 1]]})
        >>> total = HammingCounts.from_histograms(*first) + HammingCounts.from_histograms(*second)
        >>> total.retrieved, total.levels, total.at_level
        (array([[2, 1]]), array([1, 2]), array([[[1, 0],
                [0, 1]]]))
        """
        if self.retrieved.shape != other.retrieved.shape:
            before = f"{self.n_queries:,} queries and {self.n_bits} bits as the part before"
            raise ProtocolError(f"counts of a part must have {before}, got {other.n_queries:,} and {other.n_bits}.")
        levels = np.union1d(self.levels, other.levels)
        at_level = np.zeros((self.n_queries, levels.size, self.n_bits + 1), dtype=np.int64)
        for part in (self, other):
            at_level[:, np.searchsorted(levels, part.levels)] += part.at_level
        return type(self)(retrieved=self.retrieved + other.retrieved, at_level=at_level, levels=levels)

    def of_queries(self, rows: Integers) -> Self:
        """Return the counts of some of the queries, at least one; the sizes of the buckets do not change.

        Parameters
        ----------
        rows : ndarray of int64, shape (n,)
            Row numbers of the queries, in the order of the result.

        Examples
        --------
        >>> HammingCounts.from_histograms([[1, 1], [2, 0]], [[1, 0], [1, 0]]).of_queries(np.array([1])).retrieved
        array([[2, 0]])
        """
        of_queries = {name: array[rows] for name, array in self.to_arrays().items() if name not in _OF_DATABASE}
        return replace(self, **of_queries)

    def extended(self, extension: str, extension_bits: int) -> Self:
        """Return the counts of extended codes, without counting them.

        Parameters
        ----------
        extension : {"none", "same", "different"}
            With ``same``, no distance changes; with ``different``, every distance grows by s.
        extension_bits : int
            s, at least 1 unless `extension` is ``none``.

        References
        ----------
        Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.1, eq. 2 and 3.

        Examples
        --------
        >>> counts = HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]])
        >>> counts.extended("same", 1).retrieved, counts.extended("different", 1).retrieved
        (array([[1, 3, 0, 0]]), array([[0, 1, 3, 0]]))
        """
        codes.check_extension(extension, extension_bits)
        if extension == "none":
            return self
        before = extension_bits if extension == "different" else 0
        by_distance = {name: array for name, array in self.to_arrays().items() if name in _BY_DISTANCE}
        arrays = {name: padded(array, before, extension_bits - before) for name, array in by_distance.items()}
        if self.largest_bucket is not None:  # all buckets are within the radii beyond the distances of plain codes
            arrays["largest_bucket"][:, before + self.n_bits :] = self.largest_bucket[:, -1:]
        return replace(self, **arrays)

    @cached_property
    def pooled(self) -> Self:
        """The counts summed over the queries as a single row, for micro averages.

        The largest buckets are also summed, so that the row is consistent, although the sum is not the size of any
        bucket. The arrays of the database order are omitted, because they are not counts.
        """
        summed = {name: getattr(self, name) for name in ("retrieved", "at_level", "largest_bucket")}
        rows = {name: array.sum(axis=0, keepdims=True) for name, array in summed.items() if array is not None}
        return type(self)(**rows, levels=self.levels, bucket_sizes=self.bucket_sizes)

    @classmethod
    def from_histograms(cls, retrieved: ArrayLike, relevant: ArrayLike | Mapping[int, ArrayLike]) -> Self:
        """Return counts from histograms, for small examples in which items at the same distance have the same code.

        Parameters
        ----------
        retrieved : array_like of int, shape (n_queries, n_bits + 1)
        relevant : array_like of the same shape, or mapping of int to such arrays
            Relevant items at level 1, or at each level.

        Examples
        --------
        >>> HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]]).largest_bucket
        array([[1, 3, 3]])
        """
        by_level = relevant if isinstance(relevant, Mapping) else {1: relevant}
        levels = sorted(by_level)
        items = np.asarray(retrieved, dtype=np.int64)
        at_level = np.stack([np.asarray(by_level[level], dtype=np.int64) for level in levels], axis=1)
        buckets = np.sort(items[0][items[0] > 0])[::-1], np.maximum.accumulate(items, axis=1)
        return cls(items, at_level, np.array(levels, dtype=np.int64), *buckets)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the arrays by name, for storage, except those that are None."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if not isinstance(value, int | None)}


@dataclass(frozen=True, eq=False)
class RunCounts(HammingCounts):
    """Counts of results by score: each distinct score is a distance, and the last distance is that of missing items.

    Items at the last distance were not retrieved: they have no rank, and the relevant ones count in denominators only.

    Examples
    --------
    >>> counts = RunCounts.from_histograms([[1, 1, 3]], [[1, 0, 2]])
    >>> counts.n_database, counts.relevant, counts.n_relevant
    (2, array([[1, 0, 0]]), array([3]))
    """

    @property
    def n_database(self) -> int:
        """The number of ranks."""
        return int(self.retrieved[0, :-1].sum())

    @cached_property
    def relevant(self) -> Integers:
        """Retrieved relevant items of any level at each distance, (n_queries, n_distances)."""
        return self.at_level.sum(axis=1) * (np.arange(self.n_bits + 1) < self.n_bits)

    @property
    def n_relevant(self) -> Integers:
        """Relevant items of each query, retrieved or missing, (n_queries,)."""
        return self.at_level.sum(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class StackedCounts(HammingCounts):
    """The counts of several runs, one below the other; metrics of the pooled queries have one value per run.

    Examples
    --------
    >>> one, other = (HammingCounts.from_histograms(*rows) for rows in (([[1, 1]], [[1, 0]]), ([[0, 2]], [[0, 1]])))
    >>> stacked = StackedCounts.of([one, other])
    >>> stacked.retrieved, stacked.pooled.retrieved
    (array([[1, 1],
           [0, 2]]), array([[1, 1],
           [0, 2]]))
    """

    n_runs: int = field(kw_only=True)

    @classmethod
    def of(cls, runs: Sequence[HammingCounts]) -> Self:
        """Return counts of the same `shape`, stacked, without the sizes of the buckets."""
        names = [name for name in runs[0].to_arrays() if name not in _OF_DATABASE]
        stacked = {name: np.concatenate([getattr(run, name) for run in runs]) for name in names}
        return cls(levels=runs[0].levels, n_runs=len(runs), **stacked)

    @cached_property
    def pooled(self) -> Self:
        """The counts of each run, summed over its queries, (n_runs, ...)."""
        rows = {name: getattr(self, name) for name in ("retrieved", "at_level")}
        summed = {name: array.reshape(self.n_runs, -1, *array.shape[1:]).sum(axis=1) for name, array in rows.items()}
        return type(self)(**summed, levels=self.levels, n_runs=self.n_runs)


def total_of(total: Mapping[str, HammingCounts], part: Mapping[str, HammingCounts]) -> dict[str, HammingCounts]:
    """Return the counts of a part of a database, added to those of the parts before it, by ground truth."""
    return {name: total[name] + counts if total else counts for name, counts in part.items()}


def padded(array: NDArray, before: int, after: int) -> NDArray:
    """Return an array with zeros before and after the values of its last axis."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(before, after)])


def joined(blocks: Iterable[HammingCounts]) -> HammingCounts:
    """Return the counts of all queries from those of blocks of them, with the last axis padded by empty distances."""
    parts = [block.to_arrays() for block in blocks]
    n_distances, arrays = max(part["retrieved"].shape[-1] for part in parts), dict(parts[0])
    for name in arrays.keys() - set(_OF_DATABASE):
        of_parts = [part[name] for part in parts]
        if name in _BY_DISTANCE:
            of_parts = [padded(array, 0, n_distances - array.shape[-1]) for array in of_parts]
        arrays[name] = np.concatenate(of_parts)
    return HammingCounts(**arrays)


_SHARED = ("retrieved", "largest_bucket", "bucket_sizes")  # the arrays that do not depend on the ground truth


def pack_counts(by_truth: Mapping[str, HammingCounts]) -> dict[str, NDArray]:
    """Return the counts of one ranking under several ground truths as small arrays for storage.

    Parameters
    ----------
    by_truth : mapping of str to HammingCounts
        The result of `count`: counts of the same codes, which differ only in the relevant items.

    Returns
    -------
    dict of str to ndarray
        ``retrieved``, ``largest_bucket``, ``bucket_sizes``, and ``<truth>/at_level`` and ``<truth>/levels``, each in
        the smallest sufficient unsigned integer type; ``<truth>/index_precisions``, ``<truth>/index_top`` and
        ``<truth>/index_discounts`` in float64. Arrays that are None are omitted.
    """
    arrays = {}
    for truth, counts in by_truth.items():
        for name, array in counts.to_arrays().items():
            dtype = array.dtype if array.dtype == np.float64 else np.min_scalar_type(array.max(initial=0))
            arrays[name if name in _SHARED else f"{truth}/{name}"] = array.astype(dtype, copy=False)
    return arrays


def unpack_counts(arrays: Mapping[str, NDArray]) -> dict[str, HammingCounts]:
    """Return the counts of each ground truth from arrays with the names of `pack_counts`."""
    shared: dict[str, NDArray] = {}
    by_truth: dict[str, dict[str, NDArray]] = {}
    for name, array in sorted(arrays.items()):
        truth, slash, own = name.rpartition("/")
        of_name = by_truth.setdefault(truth, {}) if slash else shared
        of_name[own] = array if array.dtype == np.float64 else array.astype(np.int64, copy=False)
    return {truth: HammingCounts(**shared, **own) for truth, own in by_truth.items()}
