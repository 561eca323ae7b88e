"""Re-ranking: retrieve c x K items by code, re-rank them by the vectors or by a longer code, and return the first K."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from protocol.checks import ProtocolError, counted, integer, positive_number
from protocol.counting import HammingCounts
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.hashing import HashedBy, Hashing
from protocol.evaluation.second_stage import second_stage
from protocol.metrics import mean, neighbours_found
from protocol.truth.relevance import Relevance


@dataclass(frozen=True, eq=False)
class Rescoring:
    """The numbers of items that are retrieved and re-ranked, and the share of the nearest items that is to be reached.

    Parameters
    ----------
    codes : Hashing or pair, optional
        Second codes, by which the items are re-ranked as well as by their vectors: the hasher that computes them, or
        the codes of queries and database in any form that `evaluate` accepts.
    target : float, default=0.95
        The share of the K nearest items, above 0 and at most 1, that the smallest reported factor c must reach, where
        c x K items are retrieved by code and re-ranked, and the first K of them are returned.
    largest_factor : int, default=64
        The largest factor c of the curve, which consists of the powers of two up to it.

    Raises
    ------
    ProtocolError
        If a number is out of its range.
    """

    codes: Hashing | tuple[Any, Any] | None = None
    target: float = 0.95
    largest_factor: int = 64

    def __post_init__(self) -> None:
        if positive_number(self.target, "target") > 1:
            raise ProtocolError(f"target must be above 0 and at most 1, got {self.target!r}.")
        integer(self.largest_factor, "largest_factor")
        if isinstance(self.codes, (tuple, list)) and len(self.codes) != 2:
            raise ProtocolError(
                f"rescore_codes must be the codes of the queries and of the database, got "
                f"{counted(len(self.codes), 'part')}."
            )

    def factors(self, neighbours: int, n_database: int) -> list[int]:
        """Return the factors c of the curve: powers of two, then the first c that retrieves the whole database."""
        complete = -(-n_database // neighbours)
        powers = [2**power for power in range(self.largest_factor.bit_length()) if 2**power <= self.largest_factor]
        return [factor for factor in powers if factor < complete] + (
            [complete] if complete <= self.largest_factor else []
        )


class RescoringRow(NamedTuple):
    """The mean share of the K nearest items among the first K of c x K re-ranked items."""

    neighbours: int
    """K"""
    factor: int
    """c"""
    retrieved: int
    """c x K, or the size of the database if that is smaller."""
    worst: float
    expected: float
    best: float


class Smallest(NamedTuple):
    """The smallest factors c that reach the target; None if no factor that was tried does."""

    worst: int | None
    expected: int | None
    best: int | None


@dataclass(frozen=True)
class RescoringCurve:
    """The curve of re-ranking by the vectors or by second codes.

    Parameters
    ----------
    by : {"vectors", "codes"}
        Whether the retrieved items are re-ranked by the vectors themselves or by the second codes.
    target : float
    rows : tuple of RescoringRow
        Sorted by K, then by c. Worst, expected and best values over the orders of ties.
    smallest_factor : dict of int to Smallest
        For each K. With vectors, the smallest of all integers; with a second code, the smallest of the factors in
        `rows`, because the share may then fall as c grows.
    n_bits : int or None
        The code length of the second codes.
    codes : HashedBy or None
        How they were computed; None if they were given.
    """

    by: Literal["vectors", "codes"]
    target: float
    rows: tuple[RescoringRow, ...]
    smallest_factor: dict[int, Smallest]
    n_bits: int | None = None
    codes: HashedBy | None = None


def by_vectors(by_number: Mapping[int, HammingCounts], numbers: Sequence[int], options: Rescoring) -> RescoringCurve:
    """Return the curve of re-ranking by the vectors themselves, in closed form.

    Parameters
    ----------
    by_number : mapping of int to HammingCounts
        For each K, the counts with the K nearest items as the relevant ones.
    numbers : sequence of int
        The numbers K of the curve.
    options : Rescoring
    """
    rows, smallest = [], {}
    for number in numbers:
        counts = by_number[number]
        for factor in options.factors(number, counts.n_database):
            values = (_share(counts, number, factor, ties) for ties in Smallest._fields)
            rows.append(RescoringRow(number, factor, min(factor * number, counts.n_database), *values))
        smallest[number] = Smallest(*(_smallest(counts, number, ties, options.target) for ties in Smallest._fields))
    return RescoringCurve("vectors", options.target, tuple(rows), smallest)


def by_codes(
    first: CodePair,
    second: CodePair,
    relevances: Mapping[int, Relevance],
    options: Rescoring,
    *,
    hashed: HashedBy | None = None,
    progress: Callable[[int], object] | None = None,
) -> RescoringCurve:
    """Return the curve of re-ranking by a second code, with exact expected values over the ties of both codes.

    Parameters
    ----------
    first : CodePair
        The codes by which items are retrieved.
    second : CodePair
        The codes by which these are re-ranked.
    relevances : mapping of int to Relevance
        The nearest items for each K.
    options : Rescoring
    hashed : HashedBy or None
        How the second codes were computed.
    progress : callable, optional
        Called with the number of queries that were just processed.
    """
    n_database = len(first.database)
    factors = {number: options.factors(number, n_database) for number in relevances}
    retrieved = {
        number: [min(factor * number, n_database) for factor in of_number] for number, of_number in factors.items()
    }
    shares = second_stage(first, second, relevances, retrieved, progress=progress)
    rows, smallest = [], {}
    for number in relevances:
        steps = zip(factors[number], retrieved[number], strict=True)
        of_number = [RescoringRow(number, factor, top, *map(mean, shares[number, top])) for factor, top in steps]
        reached = ([r.factor for r in of_number if getattr(r, ties) >= options.target] for ties in Smallest._fields)
        smallest[number] = Smallest(*(min(sufficient, default=None) for sufficient in reached))
        rows += of_number
    return RescoringCurve("codes", options.target, tuple(rows), smallest, second.n_bits, hashed)


def _share(counts: HammingCounts, number: int, factor: int, ties: str) -> float:
    return mean(neighbours_found(counts, nearest=number, retrieved=factor * number, ties=ties))


def _smallest(counts: HammingCounts, number: int, ties: str, target: float) -> int:
    """Return the smallest factor that reaches the target, by bisection: the share never falls as c grows."""
    low, high = 0, -(-counts.n_database // number)  # `high` retrieves the complete database, so it reaches any target
    while high - low > 1:
        middle = (low + high) // 2
        if _share(counts, number, middle, ties) >= target:
            high = middle
        else:
            low = middle
    return high
