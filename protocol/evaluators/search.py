"""The search for the evaluations that give a reported score, and how many would do so by chance."""

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.checks import ProtocolError, counted
from protocol.counting import HammingCounts, LabelRelevance, Relevance
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.ground_truth import Labels, Relevant, ground_truth, only_truth
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.evaluators.rankings import LISTS, Lists, distances, ranked
from protocol.scores.tables import Table

PACKAGE_DATA = "variants.toml"
CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000)
RADII = (0, 1, 2, 3)
_NEAR = 0.01
"""Values at most this far from a reported score show how densely values lie around it."""
_MOST_SHOWN = 12


@dataclass(frozen=True)
class Variant:
    """One thing that evaluators do differently from the standard.

    Parameters
    ----------
    family : str
        An evaluation has at most one variant of each family.
    name, text : str
    weight : int
        1 for a convention of many tools, 2 for a rarer one or a fault of several tools, 3 for a fault of one tool.
    sources : tuple of str
        Where it is found.
    """

    family: str
    name: str
    text: str
    weight: int
    sources: tuple[str, ...] = ()


def _variants() -> dict[tuple[str, str], Variant]:
    declared = tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8"))
    return {
        (family, name): Variant(family, name, **record | {"sources": tuple(record.get("sources", ()))})
        for family, of_family in declared.items()
        for name, record in of_family.items()
    }


VARIANTS = _variants()
"""Every variant by family and name, as declared in ``variants.toml``."""


class Way(NamedTuple):
    """A way to compute a score: a measure, and what differs from the standard, by family and name."""

    measure: str
    variants: tuple[tuple[str, str], ...]

    @property
    def weight(self) -> int:
        """The sum of the weights of the variants."""
        return sum(VARIANTS[variant].weight for variant in self.variants)

    @property
    def text(self) -> str:
        """The variants in words."""
        return "; ".join(VARIANTS[variant].text for variant in self.variants) or "the standard"

    def with_variants(self, **names: str) -> "Way":
        """Return the way with a variant in other families; an empty name is the standard."""
        return self._replace(variants=(*self.variants, *((family, name) for family, name in names.items() if name)))


class Reported(NamedTuple):
    """A printed score: its value between 0 and 1, and half of a unit of its last digit."""

    text: str
    value: float
    half_unit: float

    @classmethod
    def parse(cls, score: str | float) -> "Reported":
        """Return a score from its text, which shows how many digits are known; above 1, it is in percent.

        Raises
        ------
        ProtocolError
            If it is not a number from 0 to 100.

        Examples
        --------
        >>> Reported.parse("93.30").value, Reported.parse(".933").half_unit
        (0.9329999999999999, 0.0005)
        """
        text = str(score)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 100 or "e" in text.lower():
            raise ProtocolError(f"score: expected a number from 0 to 1, or in percent, got {text!r}.")
        digits = len(text.partition(".")[2])
        scale = 100 if value > 1 else 1
        return cls(text, value / scale, max(0.5 * 10.0**-digits / scale, 1e-15))

    def is_given_by(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where values, rounded or cut to the printed digits, are the score."""
        # Cutting the digits of .93306 gives .9330, although rounding does not.
        return (values > self.value - self.half_unit - 1e-12) & (values < self.value + 2 * self.half_unit)


def explain(
    score: str | float | Sequence[str | float],
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Labels | Relevant | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> "Explanation":
    """Find the evaluations that give a reported score.

    Parameters
    ----------
    score : str, float or sequence of these
        The reported score with all printed digits, as text (``"0.9330"``), or in percent. Scores of several code
        lengths make the answer nearly unique; then `query_codes` and `database_codes` are sequences of as many codes.
    query_codes, database_codes, query_labels, database_labels, truth
        As for `protocol.evaluate`.
    threads : int, default=1
    progress : callable, optional
        As for `protocol.evaluate`.

    Returns
    -------
    Explanation

    Raises
    ------
    ProtocolError
        If a score is not a number from 0 to 100, there are not as many codes as scores, or an input is unusable.
    """
    several = not isinstance(score, str | float | int)
    reported = [Reported.parse(one) for one in (score if several else [score])]
    sides = [side if several else [side] for side in (query_codes, database_codes)]
    for side, role in zip(sides, ("query codes", "database codes"), strict=True):
        if len(side) != len(reported):
            raise ProtocolError(
                f"{role}: expected codes for each of {counted(len(reported), 'score')}, got {len(side)}."
            )
    source = only_truth(query_labels, database_labels, truth)
    pairs = [read_codes(*pair) for pair in zip(*sides, strict=True)]
    values: list[dict[Way, float]] = []
    for number, pair in enumerate(pairs, 1):
        name = f"{pair.n_bits} bits" if len(pairs) > 1 else "ranking"
        relevance = ground_truth(source, *pair.sizes).relevance
        values.append(_values(pair, relevance, threads, progress, name))
    ways = [way for way in values[0] if all(way in other for other in values)]
    table = np.array([[of_pair[way] for of_pair in values] for way in ways])
    return Explanation(tuple(reported), tuple(ways), table, tuple(pair.n_bits for pair in pairs))


def _values(
    pair: CodePair, relevance: Relevance, threads: int, progress: Progress, name: str
) -> dict[Way, float]:
    """Return the score of every evaluation."""
    if pair.ranking != "hamming":
        raise ProtocolError("query codes: expected codes, got Outputs, whose scores are not explained.")
    values: dict[Way, float] = {}
    plain = Way("", ())
    cases = [(plain.with_variants(distance=variant), pair, relevance) for variant in distances(pair.n_bits)]
    cases += [(plain.with_variants(relevance=variant), pair, other) for variant, other in _other_truths(relevance)]
    if isinstance(relevance, LabelRelevance):
        exchanged = pair._replace(query=pair.database, database=pair.query)
        cases.append((plain.with_variants(codes="exchanged"), exchanged, LabelRelevance(*relevance.labels[::-1])))
    report = stage(progress, name, sum(len(of_case.query) for _, of_case, _ in cases))
    standard: HammingCounts | None = None
    for way, of_case, truth in cases:
        distance = distances(pair.n_bits)[dict(way.variants).get("distance", "")]
        cutoffs = _cutoffs(len(of_case.database), len(of_case.query))
        counts, lists = ranked(
            of_case.query, of_case.database, distance, truth, cutoffs, threads=threads, progress=report
        )
        if standard is None:
            standard = counts
        elif _same(counts, standard):
            continue
        classes = getattr(truth, "group", None) if truth.kind == "class labels" else None
        for measured, per_query in itertools.chain(_of_counts(counts, cutoffs), _of_lists(lists, cutoffs)):
            of_measure = Way(measured.measure, (*way.variants, *measured.variants))
            values |= _means(of_measure, per_query, classes)
    return values


def _same(one: HammingCounts, other: HammingCounts) -> bool:
    return np.array_equal(one.retrieved, other.retrieved) and np.array_equal(one.at_level, other.at_level)


def _other_truths(relevance: Relevance) -> Iterator[tuple[str, Relevance]]:
    """Yield other ground truths that evaluators make from several labels per item."""
    if not isinstance(relevance, LabelRelevance) or relevance.kind == "class labels":
        return
    query, database = relevance.labels
    _, numbers = np.unique(np.concatenate([query, database]), axis=0, return_inverse=True)
    yield "same-set", LabelRelevance(numbers[: len(query)], numbers[len(query) :])
    yield "first-label", LabelRelevance(query.argmax(axis=1), database.argmax(axis=1))


def _cutoffs(n_database: int, n_queries: int) -> NDArray[np.int64]:
    """Return the cutoffs that are tried, ascending; the last is the size of the database."""
    sizes = {*CUTOFFS, n_queries, n_database - 1} - {0}
    return np.array([*sorted(size for size in sizes if size < n_database), n_database])


def _of_counts(counts: HammingCounts, cutoffs: NDArray[np.int64]) -> Iterator[tuple[Way, NDArray[np.float64]]]:
    """Yield what metrics with ties in expectation, best or worst order give each query; NaN where undefined."""
    names: list[tuple[str, Way]] = []
    for ties in ("", "best", "worst"):
        of_ties = f"[{ties}]" if ties else ""
        names.append((f"mAP{of_ties}", Way("mAP", ()).with_variants(ties=ties)))
    for cutoff in cutoffs[:-1].tolist():
        for denominator in ("all", "retrieved", "min"):
            way = _at_cutoff("mAP", cutoff, counts.n_database)
            name = "" if denominator == "all" else denominator
            names.append((f"mAP@{cutoff}[{denominator}]", way.with_variants(denominator=name)))
        names += [(f"{measure}@{cutoff}", Way(f"{measure}@{cutoff}", ())) for measure in ("P", "R", "nDCG")]
    for radius in RADII:
        names += [(f"{measure}@r{radius}", Way(f"{measure}@r{radius}", ())) for measure in ("precision", "recall")]
    names.append(("nDCG", Way("nDCG", ())))
    for name, way in names:
        yield way, metrics.evaluate(counts, [name], empty="drop")[name]


def _at_cutoff(measure: str, cutoff: int, n_database: int) -> Way:
    if cutoff == n_database - 1:
        return Way(measure, (("list", "without-last"),))
    return Way(f"{measure}@{cutoff}", ())


def _of_lists(
    lists: Mapping[tuple[str, str], Lists], cutoffs: NDArray[np.int64]
) -> Iterator[tuple[Way, NDArray[np.float64]]]:
    """Yield what lists without ties give each query; NaN where it is undefined."""
    n_database = int(cutoffs[-1])
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, n_database + 2)))])
    for (order, part), of_list in lists.items():
        n = of_list.n_relevant
        for column, cutoff in enumerate(cutoffs.tolist()):
            found, at_end = of_list.found[:, column], cutoff == n_database
            if part and cutoff == n_database - 1:
                continue
            base = Way("", ()).with_variants(list=part, ties=order)

            def way(measure: str) -> Way:
                if at_end:
                    return base._replace(measure=measure)
                of_cutoff = _at_cutoff(measure, cutoff, n_database)
                return of_cutoff._replace(variants=(*base.variants, *of_cutoff.variants))

            denominators = {"": n} if at_end else {"": n, "retrieved": found, "min": np.minimum(n, cutoff)}
            denominators |= {} if at_end else {"K": np.full(n.size, cutoff)}
            for precision, sums in of_list.precisions.items():
                for denominator, total in denominators.items():
                    if not np.isnan(sums[0, column]):
                        of_precision = way("mAP").with_variants(precision=precision, denominator=denominator)
                        yield of_precision, _ratio(sums[:, column], total)
            yield way("nDCG"), _ratio(of_list.gains[:, column], ideal[np.minimum(n, cutoff)])
            if not at_end:
                yield way("P"), found / cutoff
                yield way("R"), _ratio(found, n)


def _ratio(sums: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Return sums divided by totals, NaN where a total is 0."""
    return np.divide(sums, totals, out=np.full(len(sums), np.nan), where=totals > 0)


def _means(way: Way, per_query: NDArray[np.float64], classes: NDArray[np.int64] | None) -> dict[Way, float]:
    """Return the means of the values of the queries under each treatment of undefined ones."""
    defined = ~np.isnan(per_query)
    zeros = np.where(defined, per_query, 0.0)
    means = {way: float(zeros.mean())}
    if not defined.all() and defined.any():
        means[way.with_variants(undefined="left-out")] = float(zeros.sum() / defined.sum())
    if classes is not None:
        sizes = np.bincount(classes)
        if (sizes != sizes[0]).any():
            of_class = np.bincount(classes, zeros) / sizes
            means[way.with_variants(mean="classes")] = float(of_class.mean())
    return means


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Printed):
    """The evaluations that give reported scores.

    Parameters
    ----------
    reported : tuple of Reported
    ways : tuple of Way
        Every evaluation that was tried.
    values : ndarray of float64, shape (n_ways, n_scores)
        Their scores.
    n_bits : tuple of int
        The code length of each score.
    """

    reported: tuple[Reported, ...]
    ways: tuple[Way, ...]
    values: NDArray[np.float64]
    n_bits: tuple[int, ...]

    @cached_property
    def _given(self) -> NDArray[np.bool_]:
        """Where the scores are those reported, (n_ways, n_scores)."""
        return np.stack([one.is_given_by(self.values[:, i]) for i, one in enumerate(self.reported)], axis=1)

    @cached_property
    def matches(self) -> list[int]:
        """The positions in `ways` of those that give every score, the most plausible first."""
        found = np.flatnonzero(self._given.all(axis=1)).tolist()
        error = np.abs(self.values - [one.value for one in self.reported]).max(axis=1)
        return sorted(found, key=lambda i: (self.ways[i].weight, len(self.ways[i].variants), error[i]))

    def by_chance(self, weight: int) -> float:
        """Return how many evaluations of at most this weight would give every score by chance.

        Around each score, values are assumed to be spread evenly.
        """
        window = np.array([3 * one.half_unit for one in self.reported])
        near = np.maximum(_NEAR, 2 * window)
        is_near = (np.abs(self.values - [one.value for one in self.reported]) <= near).all(axis=1)
        of_weight = np.array([way.weight <= weight for way in self.ways])
        distinct = len(np.unique(self.values[is_near & of_weight].round(12), axis=0))
        return float(distinct * np.prod(window / (2 * near)))

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and the table that are printed."""
        reported = ", ".join(f"{one.text} ({bits} bits)" for one, bits in zip(self.reported, self.n_bits, strict=True))
        tried = f"{len(self.ways):,} evaluations were tried"
        standard = self.ways.index(Way("mAP", ()))
        by_standard = f"The standard mAP is {', '.join(map(_five, self.values[standard]))}."
        if not self.matches:
            return [f"Nothing explains {reported}: {tried}, and none gives it. {by_standard}"]
        chance = self.by_chance(self.ways[self.matches[0]].weight)
        header = ["measure", "weight", *(f"{bits} bits" for bits in self.n_bits), "differs from the standard by"]
        rows = [
            [self.ways[i].measure, str(self.ways[i].weight), *map(_five, self.values[i]), self.ways[i].text]
            for i in self.matches[:_MOST_SHOWN]
        ]
        found = "One evaluation gives" if len(self.matches) == 1 else f"{len(self.matches):,} evaluations give"
        return [
            f"{found} {reported}; {tried}.",
            Table("matches", "", header, rows),
            f"About {chance:.2g} of weight {self.ways[self.matches[0]].weight} or less would do so by chance.",
            by_standard,
        ]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {}


def _five(value: float) -> str:
    return f"{value:.5f}"
