"""Relevance from vectors: the items whose vectors are nearest to that of a query are relevant to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, integer, one_of
from protocol.counting import HammingCounts
from protocol.evaluation.hashing import HashedBy
from protocol.inputs.conversion import matrix_from, named
from protocol.metrics import ORDERS, keywords, neighbours_found
from protocol.truth import DISTANCES, Distance, nearest
from protocol.truth.relevance import NeighbourRelevance, Relevance

NEIGHBOURS = (1, 10, 100)
"""The default numbers of nearest items; those that exceed the size of the database are omitted."""


@dataclass(frozen=True)
class VectorOptions:
    """The definition of the nearest items.

    Parameters
    ----------
    distance : {"cosine", "euclidean", "dot"}, default="cosine"
    neighbours : sequence of int, optional
        The numbers K of nearest items; `NEIGHBOURS` if None.
    relevant : int, optional
        The number of nearest items that are relevant for all other metrics; the largest of `neighbours` if None.

    Raises
    ------
    ProtocolError
        If the distance is unknown, or a number is below 1.
    """

    distance: Distance = "cosine"
    neighbours: Sequence[int] | None = None
    relevant: int | None = None

    def __post_init__(self) -> None:
        one_of(self.distance, DISTANCES, "distance")
        if self.neighbours is not None and not len(self.neighbours):
            raise ProtocolError("neighbours: expected at least one number of nearest items, got none.")
        for number in self.neighbours or ():
            integer(number, "neighbours")
        if self.relevant is not None:
            integer(self.relevant, "relevant_neighbours")

    def numbers(self, n_database: int, metrics: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of nearest items, including those in the names of metrics, ascending.

        Raises
        ------
        ProtocolError
            If one exceeds the size of the database.
        """
        default = [number for number in NEIGHBOURS if number <= n_database]
        chosen = default if self.neighbours is None else list(self.neighbours)
        for number in (*chosen, *([] if self.relevant is None else [self.relevant])):
            _check_number(number, n_database, "neighbours" if number in chosen else "relevant_neighbours")
        for name in metrics:
            _check_number(cutoff := keywords(name)["cutoff"], n_database, f"metric {name!r}")
            chosen.append(cutoff)
        return tuple(sorted(set(chosen)))


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
    codes : HashedBy or None
        How the codes were computed from the vectors; None if codes were given.
    constant_bits : int
        The number of bits that have the same value in all database codes.
    """

    distance: Distance
    n_features: int
    dtype: str
    numbers: tuple[int, ...]
    relevant: int
    codes: HashedBy | None = None
    constant_bits: int = 0

    @property
    def ground_truth(self) -> str:
        """The default name of the ground truth."""
        return f"{self.relevant} nearest by {self.distance}"


def vector_pair(query: Any, database: Any) -> tuple[NDArray, NDArray]:
    """Return the vectors of queries and database, memory-mapped where the file allows it.

    Parameters
    ----------
    query, database : array_like, str or Path
        Matrices of numbers (n, d) with the same d, or their files.

    Raises
    ------
    ProtocolError
        If one is missing or is not a matrix of numbers, or their dimensions differ.
    """
    given = {"query vectors": query, "database vectors": database}
    missing = [role for role, values in given.items() if values is None]
    if missing:
        raise ProtocolError(f"vectors: expected query vectors and database vectors, got no {missing[0]}.")
    of_query, of_database = (matrix_from(values, role) for role, values in given.items())
    check_dimension(of_database, of_query.shape[1], named(database, "database vectors"))
    return of_query, of_database


def check_dimension(vectors: NDArray, n_features: int, name: str) -> None:
    """Raise ProtocolError unless vectors have `n_features` dimensions."""
    if vectors.shape[1] != n_features:
        raise ProtocolError(f"{name}: expected dimension {n_features} as in the query vectors, got {vectors.shape[1]}.")


def nearest_relevance(
    query: NDArray,
    database: NDArray,
    names: tuple[str, str],
    numbers: Sequence[int],
    *,
    distance: Distance,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> dict[int, NeighbourRelevance]:
    """Return, for each number K, the relevance in which the items up to the distance of the K-th nearest are relevant.

    Parameters
    ----------
    query, database : ndarray, shape (n, d)
    names : tuple of str
        Their names in error messages.
    numbers : sequence of int
    distance, threads, progress
        As for `protocol.truth.nearest`.

    Raises
    ------
    ProtocolError
        If a vector is not finite, or is zero although the distance requires a direction.
    """
    try:
        found = nearest(query, database, max(numbers), distance=distance, threads=threads, progress=progress)
    except ProtocolError as error:
        side, _, rest = str(error).partition(" ")
        name = dict(zip(("query", "database"), names, strict=True)).get(side)
        raise ProtocolError(f"{name}: {rest}" if name else str(error)) from error
    return {number: NeighbourRelevance(*found.first(number), len(database)) for number in numbers}


def of_nearest(metric: str) -> bool:
    """Return whether a metric is about the nearest items; those that "all" stands for are not."""
    return metric != "all" and bool(registry.METRICS.entry(metric).relevant)


def check_lists(metric: str, relevance: Relevance) -> None:
    """Raise ProtocolError if it is not certain that relevance lists the nearest items that a metric requires.

    The counts do not show this: if several items are equally near, each query may have more than K nearest items.
    """
    number = keywords(metric)["cutoff"] if registry.METRICS.entry(metric).relevant == "the K nearest" else 1
    sizes = [len(relevance.row(query)[0]) for query in range(relevance.n_queries)]
    if relevance.kind != "neighbours" or min(sizes) != number:
        got = f"from {min(sizes):,} to {max(sizes):,} neighbours" if relevance.kind == "neighbours" else relevance.kind
        raise ProtocolError(
            f"metric {metric!r}: expected query vectors and database vectors, or relevance that lists the "
            f"{number:,} nearest of each query, got {got}."
        )


def neighbour_metrics(by_number: dict[int, HammingCounts], numbers: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Return the values per query of ``neighbours@K`` and ``1-recall@K``, each expected, best and worst.

    Parameters
    ----------
    by_number : dict of int to HammingCounts
        The counts for each number of nearest items: for 1 and all `numbers`.
    numbers : sequence of int
        The numbers K.
    """
    values = {}
    for name, nearest_of in (("neighbours", lambda k: k), ("1-recall", lambda k: 1)):
        for number in numbers:
            for ties in ORDERS:
                metric = f"{name}@{number}" + ("" if ties == "expected" else f"[{ties}]")
                known = nearest_of(number)
                values[metric] = neighbours_found(by_number[known], nearest=known, retrieved=number, ties=ties)
    return values


def constant_bits(codes: NDArray[np.uint8], n_bits: int) -> int:
    """Return the number of bits that have the same value in all packed codes."""
    any_set, all_set = np.bitwise_or.reduce(codes, axis=0), np.bitwise_and.reduce(codes, axis=0)
    return n_bits - int(np.bitwise_count(any_set ^ all_set).sum())


def _check_number(number: int, n_database: int, name: str) -> None:
    if number > n_database:
        raise ProtocolError(
            f"{name}: expected at most {n_database:,} nearest items, the size of the database, got {number:,}."
        )
