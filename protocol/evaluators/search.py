"""The search for the evaluations that give a reported score."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.counting import HammingCounts, LabelRelevance, Relevance
from protocol.evaluation.code_pairs import CodePair, Codes, read_codes
from protocol.evaluation.ground_truth import Labels, Relevant, Truth, ground_truth, only_truth
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.evaluators.rankings import RADII, WHOLE, Distances, Lists, of_codes, of_values, ranked
from protocol.evaluators.ways import Way, meanings
from protocol.inputs.arrays import numbers_from
from protocol.inputs.labels import label_pair
from protocol.scores.tables import Table, filled

CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000)
_NEAR = 0.01
"""The values within this distance of a reported score show how densely values lie around it; one with a larger standard
deviation explains no score."""
_DEVIATIONS = 3
"""A random order of ties explains a score within this many standard deviations of the expected value."""
_DECISIVE = 0.05
"""A match is decisive if the chance of a coincidence is smaller."""
_LIGHT = 1
"""Rarer distances and ground truths are not combined with faults in how the list is read."""
_MOST_SHOWN = 10
_OF_RADIUS, _OF_CUTOFF = ("precision", "recall", "mAP"), ("mAP", "nDCG", "P", "R", "hit")
_CURVES = ("AUPRC[area]", "AUPRC[trapezoid]", "AUPRC[sum]", "AUPRC[area,macro]")
STANDARD = Way("mAP", ())
_CALLED = {"mAP": ("AUPRC", "MRR", "R-precision"), "recall": ("hit",)}
"""Families of measures that are also reported under the name of a measure."""
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
            raise ProtocolError(f"score must be a number from 0 to 1, or in percent, got {text!r}.")
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
    training_labels: Any = None,
    measure: str = "mAP",
    threads: int = 1,
    progress: Progress = None,
) -> "Explanation":
    """Find the evaluations that give a reported score, among those of public evaluators.

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
    training_labels : array_like, str or Path, optional
        Labels of the training items. Some evaluators divide by the number of relevant items among these.
    measure : {"mAP", "precision", "recall", "nDCG", "any"}, default="mAP"
        The name of the reported score, with or without a cutoff or a radius. Other measures that are reported under
        this name are also tried: as mAP, the area under the precision-recall curve, the reciprocal rank, R-precision.
    threads : int, default=1
        Number of threads; the results do not depend on it.
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
    the ranks of the relevant items. A variant of the ranking is not tried if its weight is at least that
    of an evaluation, with ties in a known order, that already gives every score.

    Examples
    --------
    >>> explain("0.8333", [[0, 0]], [[1, 0], [0, 1], [1, 1]], query_labels=[7], database_labels=[7, 8, 7]).matches[0]
    Way(measure='mAP', variants=(('ties', 'index'),))
    """
    one_of(measure, MEASURES, "measure")
    integer(threads, "threads")
    source = only_truth(query_labels, database_labels, truth)
    reported, *sides = _as_lists(score, query_codes, database_codes)
    scores = tuple(map(Reported.parse, reported))
    lengths, cases = zip(*map(partial(_read, source, training_labels), *sides), strict=True)
    found = Explanation(scores, lengths, {})
    for base in sorted(set.intersection(*map(set, cases)), key=lambda way: (way.weight, way.variants)):
        if any(way.weight <= base.weight for way in found.matches if ("ties", "random") not in way.variants):
            break
        values = [scores_of(base, of_score[base], threads=threads, progress=progress) for of_score in cases]
        called = {measure, *_CALLED.get(measure, ())}
        shared = {way for way in set.intersection(*map(set, values)) if measure == "any" or way.family in called}
        new = {way: np.array([of_score[way] for of_score in values]) for way in values[0] if way in shared}
        found = replace(found, values={**found.values, **new})
    return found


def _as_lists(*values: Any) -> tuple[Any, ...]:
    """Return a list of scores, one of query codes, and one of database codes, as many of each."""
    lists = values if np.ndim(values[0]) else tuple([one] for one in values)
    n = [len(one) for one in lists]
    if min(n) < 1 or min(n) < max(n):
        got = " and ".join(map(str, n))
        raise ProtocolError(f"scores, query codes and database codes must be as many, at least one, got {got}.")
    return lists


def _read(source: Truth, training_labels: Any, query: Any, database: Any) -> tuple[int, dict[Way, "Case"]]:
    """Return the code length, and what evaluators rank."""
    pair = read_codes(query, database)
    if pair.ranking != "hamming":
        raise ProtocolError("The queries need binary codes, not real-valued outputs.")
    relevance, denominators = ground_truth(source, *pair.sizes).relevance, {}
    if training_labels is not None:
        if not isinstance(source, Labels):
            raise ProtocolError("training_labels needs query_labels and database_labels as well.")
        of_training = LabelRelevance(*label_pair(source.query, training_labels, len(pair.query), None)[:2])
        denominators["training"] = np.array([of_training.row(row)[0].size for row in range(len(pair.query))])
    outputs = None
    if pair.binarize == "sign":
        outputs = [numbers_from(s.values if isinstance(s, Codes) else s, "codes") for s in (query, database)]
    return pair.n_bits, cases_of(pair, relevance, outputs, denominators)


class Case(NamedTuple):
    """What is ranked: distances and a ground truth; and other denominators of each query, by name."""

    distances: Distances
    relevance: Relevance
    denominators: Mapping[str, NDArray[np.int64]] = MappingProxyType({})


def cases_of(
    pair: CodePair,
    relevance: Relevance,
    outputs: Sequence[NDArray] | None = None,
    denominators: Mapping[str, NDArray[np.int64]] = MappingProxyType({}),
) -> dict[Way, Case]:
    """Return what evaluators rank, by what differs from the standard; `outputs` are the values of binarised codes."""
    plain, (query, database, n_bits, *_) = Way("", ()), pair
    distances = of_codes(query, database, n_bits) | (of_values(*outputs) if outputs else {})
    cases = {plain.but(distance=name): Case(made, relevance, denominators) for name, made in distances.items()}
    q, d = (codes.pack(codes.unpack(side, n_bits).reshape(n_bits, -1).T) for side in (query, database))
    cases[plain.but(codes="transposed")] = Case(of_codes(q, d, n_bits)[""], relevance, denominators)
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
                cases[plain.but(relevance=name)] = Case(distances[""], other)
    return cases


def scores_of(
    base: Way, case: Case, *, cutoffs: Iterable[int] = (), threads: int = 1, progress: Progress = None
) -> dict[Way, tuple[float, float]]:
    """Return the score of every evaluation of a case, and its standard deviation if the order of ties is random.

    `base` is what differs in the case. The cutoffs are common ones and sizes of the data, unless they are given.
    """
    distances, relevance, _ = case
    group, n_queries, is_light = distances.group, distances.group.size, base.weight <= _LIGHT
    classes = relevance.group if isinstance(relevance, LabelRelevance) and relevance.kind == "class labels" else None
    last, sizes = distances.n_database, {*cutoffs} or _sizes(distances, relevance, classes)
    tried = np.array([*sorted({*sizes, last - 1} - {0, last}), last])
    report = stage(progress, base.text, n_queries)
    counts, lists = ranked(distances, relevance, tried, plain=not is_light, threads=threads, progress=report)
    values: dict[Way, tuple[float, float]] = {}
    for way, zero, drop, errors in _of_queries(case, counts, lists, tried, is_light):
        # Queries with the same distances have the same order of ties, so that their errors add up.
        sums = [float(np.linalg.norm(np.bincount(group, of_one))) for of_one in errors] or [0.0, 0.0]
        n_defined = np.count_nonzero(~np.isnan(drop)) or 1
        means = _means(way._replace(variants=(*base.variants, *way.variants)), zero, drop, classes)
        for key, mean in means.items():
            is_dropping = not _DROPPING.isdisjoint(key.variants)
            values[key] = mean, sums[1] / n_defined if is_dropping else sums[0] / n_queries
    return values


def _of_queries(
    case: Case,
    counts: HammingCounts | None,
    lists: Mapping[tuple[str, str], Lists],
    cutoffs: NDArray[np.int64],
    is_light: bool,
) -> Iterator[tuple[Way, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the value of each query, 0 and NaN if undefined; and the errors of both in a random order, or nothing."""
    distances, _, denominators = case
    expected: dict[Way, NDArray[np.float64]] = {}
    if counts is not None:
        expected |= _of_counts(counts, cutoffs, RADII if distances.has_radius else (), "", denominators)
    if counts is not None and is_light:
        positive = counts.at_level * (np.arange(distances.n_groups) < distances.middle)
        expected |= _of_counts(replace(counts, at_level=positive), cutoffs, (), "positive", denominators)
    none = np.zeros((0, distances.group.size))
    for way, values in expected.items():
        yield way, values[0], values[1], none
    for way, of_list, is_known in _of_lists(lists, cutoffs, denominators):
        of_expected, values = way.without(("ties", "random")), np.array([np.nan_to_num(of_list), of_list])
        if of_expected == way:
            yield way if expected else way.without(("ties", "index")), values[0], values[1], none
        elif of_expected in expected:
            zero, drop = expected[of_expected]
            errors = np.nan_to_num(values - expected[of_expected]) * np.sqrt(is_known.size / is_known.sum())
            yield way, zero, drop, np.where(is_known, errors, 0)


def _sizes(distances: Distances, relevance: Relevance, classes: NDArray[np.int64] | None) -> set[int]:
    """Return the cutoffs below the size of the database: common ones, and sizes of the data."""
    sizes = {*CUTOFFS, distances.group.size}
    if classes is not None:  # the size of the largest class
        sizes |= {max(relevance.row(row)[0].size for row in np.unique(classes, return_index=True)[1].tolist())}
    return {size for size in sizes if size < distances.n_database}


def _of_counts(
    counts: HammingCounts,
    cutoffs: NDArray[np.int64],
    radii: Sequence[int],
    part: str,
    denominators: Mapping[str, NDArray[np.int64]],
) -> Iterator[tuple[Way, NDArray[np.float64]]]:
    """Yield the value of each query, 0 and NaN if undefined, with ties in expectation or in the best or worst order."""
    complete, names = _metrics(cutoffs[:-1], radii, part, counts.n_database)
    values = [metrics.evaluate(counts, names | complete, undefined=undefined) for undefined in ("zero", "drop")]
    for name, way in (names | complete).items():
        yield way, np.array([of_empty[name] for of_empty in values])
    for name, way in complete.items():
        for denominator, total in denominators.items():
            ratio = _ratio(values[0][name] * counts.n_relevant, total)
            yield way.but(denominator=denominator), np.array([np.nan_to_num(ratio), ratio])
    precisions = _ratio(counts.relevant_within, counts.retrieved_within)
    grouped = _ratio(np.nansum(counts.relevant * precisions, axis=1), counts.n_relevant)
    yield STANDARD.but(list=part, ties="grouped"), np.array([np.nan_to_num(grouped), grouped])


def _metrics(
    cutoffs: NDArray[np.int64], radii: Sequence[int], part: str, n_database: int
) -> tuple[dict[str, Way], dict[str, Way]]:
    """Return metrics by their names: those that are divided by all relevant items, and others."""
    complete = {"mAP": STANDARD.but(list=part)}
    names = {f"mAP[{ties}]": STANDARD.but(list=part, ties=ties) for ties in ("best", "worst")}
    if radii:
        of_radius = [f"{measure}@r{radius}" for measure in _OF_RADIUS for radius in radii]
        names |= {name: Way(name, ()) for name in (*of_radius, *_CURVES)}
    names |= {name: Way(name, ()).but(list=part) for name in ("nDCG", *WHOLE)}
    for cutoff in cutoffs[cutoffs != n_database - bool(part)].tolist():
        ways = {name: _with_cutoff(name, cutoff, n_database).but(list=part) for name in _OF_CUTOFF}
        complete[f"mAP@{cutoff}[all]"] = way = ways.pop("mAP")
        names |= {f"mAP@{cutoff}[{name}]": way.but(denominator=name) for name in ("retrieved", "min")}
        names |= {f"{measure}@{cutoff}": way for measure, way in ways.items()}
    return complete, names


def _with_cutoff(measure: str, cutoff: int, n_database: int) -> Way:
    if cutoff == n_database:
        return Way(measure, ())
    return Way(measure, (("list", "without-last"),)) if cutoff == n_database - 1 else Way(f"{measure}@{cutoff}", ())


def _of_lists(
    lists: Mapping[tuple[str, str], Lists], cutoffs: NDArray[np.int64], denominators: Mapping[str, NDArray[np.int64]]
) -> Iterator[tuple[Way, NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield the value of each query, NaN if undefined, from lists without ties, and whether it is known."""
    n_database = int(cutoffs[-1])
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, n_database + 3)))])
    for (ties, part), of_list in lists.items():
        n, known = of_list.n_relevant, of_list.is_known
        for name, values in zip(WHOLE, of_list.whole.T, strict=True):
            yield Way(name, ()).but(list=part, ties=ties), values, known
        n_balls = of_list.found.shape[1] - len(cutoffs)
        for column, radius in enumerate(RADII[: 0 if part else n_balls]):
            sums = of_list.precisions[""][:, column]
            yield Way(f"mAP@r{radius}", ()).but(ties=ties), _ratio(sums, of_list.found[:, column]), known
        for column, cutoff in enumerate(cutoffs.tolist(), n_balls):
            if part and cutoff == n_database - 1:
                continue
            ways = {
                measure: _with_cutoff(measure, cutoff, n_database).but(list=part, ties=ties) for measure in _OF_CUTOFF
            }
            is_complete, found = cutoff == n_database, of_list.found[:, column]
            at_most = np.minimum(n, cutoff + is_complete)  # the query may be an item of its complete list
            totals = {"": n, **denominators}
            if not is_complete:
                totals |= {"retrieved": found, "min": at_most, "K": np.full(n.size, cutoff)}
                yield ways["P"], found / cutoff, known
                yield ways["R"], _ratio(found, n), known
                yield ways["hit"], _ratio(found > 0, n > 0), known
            for precision, sums in of_list.precisions.items():
                if np.isnan(sums[:, column]).all() or (precision == "by-hits" and cutoff >= n_database - 1):
                    continue  # the first n relevant items are all of them
                for denominator, total in {"by-hits": {"": at_most}}.get(precision, totals).items():
                    way = ways["mAP"].but(precision=precision, denominator=denominator)
                    yield way, _ratio(sums[:, column], total), known
            yield ways["nDCG"], _ratio(of_list.gains[:, column], ideal[at_most]), known


def _ratio(sums: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Return sums divided by totals, NaN where a total is 0."""
    return np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0)


def _means(
    way: Way, zero: NDArray[np.float64], drop: NDArray[np.float64], classes: NDArray[np.int64] | None
) -> dict[Way, float]:
    """Return the mean over the queries, and those that leave out undefined values or weight classes equally."""
    means, defined = {way: float(zero.mean())}, ~np.isnan(drop)
    if way.measure.startswith("AUPRC[") and not way.measure.endswith("macro]"):  # one curve of all queries
        return means if np.array_equal(zero, drop) else means | {way.but(undefined="left-out"): float(drop[0])}
    if not defined.all() and np.allclose(zero[defined], drop[defined], rtol=1e-9, atol=0):
        means[way.but(undefined="one")] = float(np.where(defined, zero, 1.0).mean())
    if not defined.all():
        means[way.but(undefined="left-out")] = float(drop[defined].mean()) if defined.any() else math.nan
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
        """The evaluations that give every score to all printed digits, rounded or cut, the least likely chance first.

        An evaluation is left out if one with some of its variants, and no others, also gives every score; and one with
        a random order of ties if one with a known order is less likely a coincidence, or if it could give nearly any
        score.
        """
        errors, deviations, _ = self._table
        half_units, reach = np.array([one.half_unit for one in self.reported]), _DEVIATIONS * deviations
        # Cutting the digits of .93306 gives .9330, although rounding gives .9331.
        given = (errors > -half_units - 1e-12 - reach) & (errors < 2 * half_units + reach) & (deviations < _NEAR)
        ways = [*self.values]
        found = np.flatnonzero(given.all(axis=1)).tolist()
        found.sort(
            key=lambda i: (
                *(self.chance(ways[i]), deviations[i].any(), ways[i].weight, deviations[i].max()),
                *("@" in ways[i].measure, np.abs(errors[i]).max()),
            )
        )
        matches, has_exact = list[Way](), False
        for i in found:
            is_random, parts = deviations[i].any(), set(ways[i].variants)
            if not (is_random and has_exact) and not any(set(known.variants) < parts for known in matches):
                matches.append(ways[i])
                has_exact |= not is_random
        return matches

    def chance(self, match: Way) -> float:
        """Return the probability that an evaluation as plausible as a match gives every score by coincidence.

        That are the evaluations that weigh no more than the match; those with a random order of ties only if it has
        one. The values near a score are taken to be spread evenly, and several scores to be independent. Because these
        are two ways to be plausible, the probability is that of twice as many evaluations: of all scores that nothing
        known gives, at most 5 % then have a match with a chance below .05, however many evaluations are tried.
        """
        is_random = bool(self.values[match][:, 1].any())
        if (is_random, match.weight) not in self._chances:
            errors, deviations, weights = self._table
            windows = 3 * np.array([one.half_unit for one in self.reported]) + 2 * _DEVIATIONS * deviations
            near = np.maximum(_NEAR, windows)
            counts = (np.abs(errors) <= near).all(axis=1) & (weights <= match.weight)
            counts &= is_random | ~deviations.any(axis=1)
            chances = np.prod(windows / (2 * near), axis=1)[counts]
            widest = np.argsort(-chances, kind="stable")  # equal values count once
            _, distinct = np.unique(errors[counts][widest].round(12), axis=0, return_index=True)
            none = float(np.log1p(-chances[widest][distinct]).sum())
            self._chances[is_random, match.weight] = -math.expm1(2 * none)
        return self._chances[is_random, match.weight]

    @cached_property
    def _chances(self) -> dict[tuple[bool, int], float]:
        """The chances that were computed, by whether the order of ties is random, and the weight."""
        return {}

    @property
    def decisive(self) -> list[Way]:
        """The matches that are hardly a coincidence."""
        return [way for way in self.matches if self.chance(way) < _DECISIVE]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and the tables that are printed."""
        scores = ", ".join(f"{one.text} ({bits} bits)" for one, bits in zip(self.reported, self.n_bits, strict=True))
        means = ", ".join(f"{mean:.5f}" for mean, _ in self.values.get(STANDARD, np.zeros((0, 2))))
        ending = f"{len(self.values):,} evaluations were tried."
        ending += f" The standard mAP is {means}." if means else ""
        if not self.matches:
            return [filled(f"Nothing known gives {scores}. {ending}")]
        verdict = f"{scores}: {self.matches[0].measure}, {self.matches[0].text}."
        if not self.decisive:
            verdict = f"Nothing known gives {scores}, but some evaluations agree by coincidence."
        shown, n_others = self.matches[:_MOST_SHOWN], len(self.matches) - _MOST_SHOWN
        header = ["chance", "measure", *(f"{bits} bits" for bits in self.n_bits), "differs from the standard by"]
        rows = [
            [f"{self.chance(way):.1g}", way.measure, *itertools.starmap(_shown, self.values[way]), way.names]
            for way in shown
        ]
        weak = f"Matches with a chance of {_DECISIVE:g} or more may be coincidences." * (shown[-1] not in self.decisive)
        others = f"and {counted(n_others, 'other evaluation')}" * (n_others > 0)
        below = filter(None, [others, weak, meanings(shown)])
        return [filled(verdict), Table("matches", "", header, rows), *below, filled(ending)]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {
            "reported": [one._asdict() for one in self.reported],
            "n_bits": self.n_bits,
            "n_tried": len(self.values),
            "n_decisive": len(self.decisive),
            "matches": [
                way.record()
                | {
                    "values": self.values[way][:, 0],
                    "standard_deviations": self.values[way][:, 1],
                    "chance": self.chance(way),
                }
                for way in self.matches
            ],
        }


def _shown(mean: float, deviation: float) -> str:
    return f"{mean:.5f}" + (f" ± {deviation:.5f}" if deviation else "")
