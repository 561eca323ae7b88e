"""The search for the evaluations that give a reported score."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.checks import ProtocolError, counted, one_of
from protocol.counting import HammingCounts, LabelRelevance, Relevance
from protocol.evaluation.code_pairs import CodePair, Codes, read_codes
from protocol.evaluation.ground_truth import Labels, Relevant, ground_truth, only_truth
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.evaluators.rankings import RANDOM, Distances, Lists, of_codes, of_values, ranked
from protocol.evaluators.ways import VARIANTS, Way
from protocol.inputs.conversion import numbers_from
from protocol.scores.tables import Table, filled

CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000)
RADII = (0, 1, 2, 3)
_NEAR = 0.01
"""The values within this distance of a reported score show how densely values lie around it."""
_DEVIATIONS = 3
"""A random order of ties explains a score within this many standard deviations of the expected value."""
_DECISIVE = 0.05
"""A match is decisive if fewer evaluations than this are expected to match by chance."""
_LIGHT = 1
"""Rarer distances and ground truths are not combined with faults in how the list is read."""
_MOST_SHOWN = 10
STANDARD = Way("mAP", ())
_DROPPING = frozenset({("undefined", "left-out"), ("mean", "ten-more")})
MEASURES = ("mAP", "precision", "recall", "nDCG", "any")
"""The measures that can be searched; a cutoff or radius of ``precision`` and ``recall`` is part of the answer."""


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
        >>> Reported.parse("93.30")
        Reported(text='93.30', value=0.933, half_unit=5e-05)
        """
        text = str(score)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 100 or "e" in text.lower():
            raise ProtocolError(f"score: expected a number from 0 to 1, or in percent, got {text!r}.")
        digits = len(text.partition(".")[2]) + (2 if value > 1 else 0)
        return cls(text, round(value / 100, digits) if value > 1 else value, max(0.5 * 10.0**-digits, 1e-15))


def explain(
    score: str | float | Sequence[str | float],
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Labels | Relevant | None = None,
    measure: str = "mAP",
    threads: int = 1,
    progress: Progress = None,
) -> "Explanation":
    """Find the evaluations that give a reported score, among those that public evaluators make.

    Parameters
    ----------
    score : str, float or sequence of these
        The reported score from 0 to 1, or in percent, with all printed digits, as text: ``"0.9330"``. Scores of several
        code lengths make the answer nearly unique; `query_codes` and `database_codes` are then sequences of as many
        codes.
    query_codes : array_like, str, Path or Codes
        The codes of the queries, as for `protocol.evaluate`.
    database_codes : array_like, str, Path or Codes
        The codes of the database, as for `protocol.evaluate`.
    query_labels : array_like, str or Path, optional
        The labels of the queries, as for `protocol.evaluate`.
    database_labels : array_like, str or Path, optional
        The labels of the database, as for `protocol.evaluate`.
    truth : Relevant or Nearest, optional
        The ground truth in place of labels, as for `protocol.evaluate`.
    measure : {"mAP", "precision", "recall", "nDCG", "any"}, default="mAP"
        What the score is called, with or without a cutoff or a radius.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        As for `protocol.evaluate`.

    Returns
    -------
    Explanation

    Raises
    ------
    ProtocolError
        If a score is not a number from 0 to 100, the measure is unknown, there are not as many codes as scores, or an
        input is unusable.

    Notes
    -----
    Codes are ranked once for each distance and ground truth that evaluators use, and everything else is computed from
    the ranks of the relevant items. A variant of what is ranked is not tried if it weighs at least as much as an
    evaluation, with ties in a known order, that already gives every score.

    Examples
    --------
    >>> explain("0.8333", [[0, 0]], [[1, 0], [0, 1], [1, 1]], query_labels=[7], database_labels=[7, 8, 7]).matches[0]
    Way(measure='mAP', variants=(('ties', 'index'),))
    """
    one_of(measure, MEASURES, "measure")
    single = isinstance(score, str | float | int)
    reported = [Reported.parse(one) for one in ([score] if isinstance(score, str | float | int) else score)]
    sides = [[side] if single else side for side in (query_codes, database_codes)]
    for side, role in zip(sides, ("query codes", "database codes"), strict=True):
        if len(side) != len(reported):
            expected = counted(len(reported), "score")
            raise ProtocolError(f"{role}: expected codes for each of {expected}, got {len(side)}.")
    source = only_truth(query_labels, database_labels, truth)
    cases, lengths = [], []
    for sides_of_score in zip(*sides, strict=True):
        pair = read_codes(*sides_of_score)
        if pair.ranking != "hamming":
            raise ProtocolError("query codes: expected codes, got Outputs.")
        outputs = [*map(_outputs, sides_of_score)] if pair.binarize == "sign" else None
        cases.append(cases_of(pair, ground_truth(source, *pair.sizes).relevance, outputs))
        lengths.append(pair.n_bits)
    found = Explanation(tuple(reported), tuple(lengths), {})
    for base in sorted(set.intersection(*map(set, cases)), key=lambda way: (way.weight, way.variants)):
        if any(way.weight <= base.weight for way in found.matches if ("ties", "random") not in way.variants):
            break
        values = [scores_of(base, of_pair[base], threads=threads, progress=progress) for of_pair in cases]
        shared = [way for way in values[0] if measure in ("any", way.family) and all(way in other for other in values)]
        new = {way: np.array([of_pair[way] for of_pair in values]) for way in shared}
        found = replace(found, values={**found.values, **new})
    return found


def _outputs(side: Any) -> NDArray:
    return numbers_from(side.values if isinstance(side, Codes) else side, "codes")


class Case(NamedTuple):
    """What is ranked: distances and a ground truth."""

    distances: Distances
    relevance: Relevance


def cases_of(pair: CodePair, relevance: Relevance, outputs: Sequence[NDArray] | None = None) -> dict[Way, Case]:
    """Return what evaluators rank, by what differs from the standard; `outputs` are the values of binarised codes."""
    plain, (query, database, n_bits, *_) = Way("", ()), pair
    distances = of_codes(query, database, n_bits) | (of_values(*outputs) if outputs else {})
    cases = {plain.but(distance=name): Case(of_variant, relevance) for name, of_variant in distances.items()}
    if isinstance(relevance, LabelRelevance):
        of_query, of_database = relevance.labels
        exchanged = of_codes(database, query, n_bits)[""]
        cases[plain.but(codes="exchanged")] = Case(exchanged, LabelRelevance(of_database, of_query))
        if relevance.kind != "class labels":
            _, sets = np.unique(np.concatenate([of_query, of_database]), axis=0, return_inverse=True)
            sets = sets.ravel()
            others = {
                "same-set": LabelRelevance(sets[: len(query)], sets[len(query) :]),
                "first-label": LabelRelevance(of_query.argmax(axis=1), of_database.argmax(axis=1)),
            }
            for name, other in others.items():
                cases[plain.but(relevance=name)] = cases[plain]._replace(relevance=other)
    return cases


def scores_of(
    base: Way, case: Case, *, cutoff: int | None = None, threads: int = 1, progress: Progress = None
) -> dict[Way, tuple[float, float]]:
    """Return the score of every evaluation of a case, and its standard deviation if the order of ties is random.

    `base` is what differs in the case. `cutoff` is tried in addition to `CUTOFFS`.
    """
    n_queries, n_database = case.distances.n_queries, case.distances.n_database
    sizes = {size for size in (*CUTOFFS, n_queries, n_database - 1) if 0 < size < n_database}
    sizes |= set() if cutoff in (None, n_database) else {cutoff}
    cutoffs = np.array([*sorted(sizes), n_database])
    report = stage(progress, base.text, n_queries)
    counts, lists = ranked(*case, cutoffs, plain=base.weight > _LIGHT, threads=threads, progress=report)
    classes = getattr(case.relevance, "group", None) if case.relevance.kind == "class labels" else None
    radii = RADII if case.distances.has_radius else ()
    expected = {} if counts is None else {way: values for way, *values in _of_counts(counts, cutoffs, radii)}
    sampled = lists[RANDOM].is_known if RANDOM in lists else np.ones(n_queries, dtype=bool)
    values: dict[Way, tuple[float, float]] = {}
    for way, of_lists in itertools.chain(zip(expected, itertools.repeat(None)), _of_lists(lists, cutoffs)):
        way = way.without(("ties", "index")) if counts is None else way
        of_expected, squares = way.without(("ties", "random")), np.zeros((2, n_queries))
        if of_lists is None:
            zero, drop = expected[way]
        elif of_expected == way:
            zero, drop = np.nan_to_num(of_lists), of_lists
        elif of_expected in expected:
            zero, drop = expected[of_expected]
            squares = np.square([np.nan_to_num(of_lists) - zero, np.nan_to_num(of_lists - drop)])
            squares *= sampled * (n_queries / sampled.sum())
        else:
            continue
        means = _means(way._replace(variants=(*base.variants, *way.variants)), zero, drop, classes)
        of_zero, of_drop = np.sqrt(squares.sum(axis=1)) / (n_queries, max(np.count_nonzero(~np.isnan(drop)), 1))
        for key, mean in means.items():
            values[key] = mean, of_drop if _DROPPING.intersection(key.variants) else of_zero
    return values


def _of_counts(
    counts: HammingCounts, cutoffs: NDArray[np.int64], radii: Sequence[int]
) -> Iterator[tuple[Way, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the value of each query, 0 and NaN if undefined, with ties in expectation or in the best or worst order."""
    names = {"mAP": STANDARD, "nDCG": Way("nDCG", ())}
    names |= {f"mAP[{ties}]": STANDARD.but(ties=ties) for ties in ("best", "worst")}
    for cutoff in cutoffs[:-1].tolist():
        way = _with_cutoff("mAP", cutoff, counts.n_database)
        names[f"mAP@{cutoff}[all]"] = way
        names |= {f"mAP@{cutoff}[{name}]": way.but(denominator=name) for name in ("retrieved", "min")}
        for measure in ("P", "R", "nDCG"):
            names[f"{measure}@{cutoff}"] = _with_cutoff(measure, cutoff, counts.n_database)
    for radius in radii:
        names |= {name: Way(name, ()) for name in (f"precision@r{radius}", f"recall@r{radius}")}
    zero, drop = (metrics.evaluate(counts, names, empty=empty) for empty in ("zero", "drop"))
    for name, way in names.items():
        yield way, zero[name], drop[name]
    precisions = _ratio(counts.relevant_within, counts.retrieved_within)
    grouped = _ratio(np.nansum(counts.relevant * precisions, axis=1), counts.n_relevant)
    yield STANDARD.but(ties="grouped"), np.nan_to_num(grouped), grouped


def _with_cutoff(measure: str, cutoff: int, n_database: int) -> Way:
    if cutoff == n_database:
        return Way(measure, ())
    return Way(measure, (("list", "without-last"),)) if cutoff == n_database - 1 else Way(f"{measure}@{cutoff}", ())


def _of_lists(
    lists: Mapping[tuple[str, str], Lists], cutoffs: NDArray[np.int64]
) -> Iterator[tuple[Way, NDArray[np.float64]]]:
    """Yield the value of each query, NaN if undefined, from lists without ties."""
    n_database = int(cutoffs[-1])
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, n_database + 2)))])
    for (ties, part), of_list in lists.items():
        n = of_list.n_relevant
        yield Way("mAP@R", ()).but(list=part, ties=ties), _ratio(of_list.at_r, n)
        for column, cutoff in enumerate(cutoffs.tolist()):
            if part and cutoff == n_database - 1:
                continue
            ways = {
                measure: _with_cutoff(measure, cutoff, n_database).but(list=part, ties=ties)
                for measure in ("mAP", "nDCG", "P", "R")
            }
            found, totals = of_list.found[:, column], {"": n}
            if cutoff != n_database:
                totals |= {"retrieved": found, "min": np.minimum(n, cutoff), "K": np.full(n.size, cutoff)}
                yield ways["P"], found / min(cutoff, n_database)
                yield ways["R"], _ratio(found, n)
            for precision, sums in of_list.precisions.items():
                if np.isnan(sums[0, column]):
                    continue
                of_precision = {"": np.minimum(n, cutoff)} if precision == "by-hits" else totals
                for denominator, total in of_precision.items():
                    way = ways["mAP"].but(precision=precision, denominator=denominator)
                    yield way, _ratio(sums[:, column], total)
            yield ways["nDCG"], _ratio(of_list.gains[:, column], ideal[np.minimum(n, cutoff)])


def _ratio(sums: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Return sums divided by totals, NaN where a total is 0."""
    return np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0)


def _means(
    way: Way, zero: NDArray[np.float64], drop: NDArray[np.float64], classes: NDArray[np.int64] | None
) -> dict[Way, float]:
    """Return the mean over the queries, and those that leave out undefined values or weight classes equally."""
    means, defined = {way: float(zero.mean())}, ~np.isnan(drop)
    if not defined.all() and (zero[defined] == drop[defined]).all():
        means[way.but(undefined="one")] = float(np.where(defined, zero, 1.0).mean())
    if not defined.all() and defined.any():
        means[way.but(undefined="left-out")] = float(drop[defined].mean())
    means[way.but(mean="ten-more")] = float(drop[defined].sum() / (defined.sum() + 10))
    if classes is not None:
        sizes = np.bincount(classes)
        if (sizes != sizes[0]).any():
            means[way.but(mean="classes")] = float((np.bincount(classes, zero) / sizes).mean())
    return means


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Printed):
    """The evaluations that give reported scores.

    Parameters
    ----------
    reported : tuple of Reported
    n_bits : tuple of int
        The code length of each score.
    values : dict of Way to ndarray of float64, shape (n_scores, 2)
        The score of every evaluation that was tried, and its standard deviation, 0 unless the order of ties is random.
    """

    reported: tuple[Reported, ...]
    n_bits: tuple[int, ...]
    values: Mapping[Way, NDArray[np.float64]]

    @cached_property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """The differences of all scores from those reported, the standard deviations, and the weights."""
        table = np.array([*self.values.values()]).reshape(-1, len(self.reported), 2)
        errors = table[..., 0] - [one.value for one in self.reported]
        return errors, table[..., 1], np.array([way.weight for way in self.values], dtype=np.int64)

    @cached_property
    def matches(self) -> list[Way]:
        """The evaluations that give every score to all printed digits, rounded or cut, the most plausible first.

        An evaluation is left out if one with some of its variants, and no others, also gives every score.
        """
        errors, deviations, _ = self._table
        half_units, reach = np.array([one.half_unit for one in self.reported]), _DEVIATIONS * deviations
        # Cutting the digits of .93306 gives .9330, although rounding gives .9331.
        given = (errors > -half_units - 1e-12 - reach) & (errors < 2 * half_units + reach)
        ways = [*self.values]
        found = np.flatnonzero(given.all(axis=1)).tolist()
        found.sort(key=lambda i: (ways[i].weight, deviations[i].max(), np.abs(errors[i]).max()))
        matches: list[Way] = []
        for i in found:
            if not any(set(known.variants) < set(ways[i].variants) for known in matches):
                matches.append(ways[i])
        return matches

    def by_chance(self, match: Way) -> float:
        """Return how many evaluations would give every score by chance, if the values near it were spread evenly.

        Only evaluations are counted that are as plausible and as precise as a match: that weigh no more, and are no
        more random. Several scores are taken to be independent.
        """
        errors, deviations, weights = self._table
        windows = 3 * np.array([one.half_unit for one in self.reported]) + 2 * _DEVIATIONS * deviations
        near = np.maximum(_NEAR, windows)
        counts = (np.abs(errors) <= near).all(axis=1) & (weights <= match.weight)
        counts &= (deviations <= self.values[match][:, 1]).all(axis=1)
        chances = np.prod(windows / (2 * near), axis=1)[counts]
        widest = np.argsort(-chances, kind="stable")  # equal values count once
        _, distinct = np.unique(errors[counts][widest].round(12), axis=0, return_index=True)
        return float(chances[widest][distinct].sum())

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and the table that are printed."""
        scores = ", ".join(f"{one.text} ({bits} bits)" for one, bits in zip(self.reported, self.n_bits, strict=True))
        tried = f"{len(self.values):,} evaluations were tried"
        standard = ""
        if STANDARD in self.values:
            standard = f"The standard mAP is {', '.join(f'{mean:.5f}' for mean, _ in self.values[STANDARD])}."
        if not self.matches:
            return [filled(f"Nothing explains {scores}: {tried}, and none gives it. {standard}")]
        best, shown = self.matches[0], self.matches[:_MOST_SHOWN]
        header = ["weight", "measure", *(f"{bits} bits" for bits in self.n_bits), "differs from the standard by"]
        rows = [
            [str(way.weight), way.measure, *itertools.starmap(_shown, self.values[way]), way.names] for way in shown
        ]
        used = dict.fromkeys(variant for way in shown for variant in way.variants)
        meanings = "\n".join(filled(f"{' '.join(variant)}: {VARIANTS[variant].sentence}") for variant in used)
        more = len(self.matches) - _MOST_SHOWN
        chance = self.by_chance(best)
        verdict = (
            f"{tried[0].upper()}{tried[1:]}. Of those that are as plausible as the first, {chance:.1g} would give "
            f"{'these scores' if len(self.reported) > 1 else 'this score'} by chance."
        )
        if chance > _DECISIVE:
            verdict += " More digits, or the scores of other code lengths, would decide."
        return [
            filled(f"{scores}: {best.measure}, {best.text}."),
            Table("matches", "", header, rows),
            *([f"and {counted(more, 'other evaluation')}"] if more > 0 else []),
            *([meanings] if meanings else []),
            filled(f"{verdict} {standard}"),
        ]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {
            "reported": [one._asdict() for one in self.reported],
            "n_bits": self.n_bits,
            "n_tried": len(self.values),
            "matches": [
                {
                    "measure": way.measure,
                    "variants": dict(way.variants),
                    "text": way.text,
                    "weight": way.weight,
                    "values": self.values[way][:, 0],
                    "standard_deviations": self.values[way][:, 1],
                    "by_chance": self.by_chance(way),
                }
                for way in self.matches
            ],
        }


def _shown(mean: float, deviation: float) -> str:
    return f"{mean:.5f}" + (f" ± {deviation:.5f}" if deviation else "")
