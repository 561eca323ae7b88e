"""The search for the evaluations that give a reported score."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer, one_of, suggesting
from protocol.evaluation.code_pairs import Codes, read_codes
from protocol.evaluation.ground_truth import Labels, Relevant, Truth, ground_truth, only_truth
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress
from protocol.evaluators.ways import OWN, STANDARD, TEXTS, Case, Way, cases_of, meanings, scores_of
from protocol.inputs.arrays import numbers_from
from protocol.scores.tables import Table, filled

_NEAR = 0.01
"""The values within this distance of a reported score show how densely values lie around it; one with a larger standard
deviation explains no score."""
_DEVIATIONS = 3
"""A random order of ties explains a score within this many standard deviations of the expected value."""
_DECISIVE = 0.05
"""A match is decisive if the chance of a coincidence is smaller."""
_ALL_DIGITS, _VAGUE = 0.5e-8, 0.5
"""More digits than to this half unit decide nothing, and a random order of ties with this chance is then no match."""
_ROUNDING = 0.5e-10
"""The smallest half unit: sums of double precision differ by less, whatever their order."""
_TEXTS = TEXTS["explanation"]
_MOST = 10
"""So many matches are printed."""
_CALLED = {"mAP": ("AUPRC", "MRR", "R-precision"), "recall": ("hit",)}
"""Families of measures that are also reported under the name of a measure."""
_UNSTABLE = [Way(measure, (("ties", "random"),)) for measure in ("mAP", "nDCG")]
"""The measures without a cutoff, as an unstable sort gives them."""
MEASURES = ("mAP", "precision", "recall", "nDCG", "any")
"""The measures that can be searched; a cutoff or radius of ``precision`` and ``recall`` is part of the answer."""


class Reported(NamedTuple):
    """A printed score: its value between 0 and 1, and half of a unit of its last digit."""

    text: str
    value: float
    half_unit: float

    @classmethod
    def parse(cls, score: str | float) -> "Reported":
        """Return a score from its text, which shows how many digits are known; above 1, or with %, it is in percent.

        A comma is a decimal comma: no score is large enough for a separator of thousands.

        Raises
        ------
        ProtocolError
            If it is not a number from 0 to 100.

        Examples
        --------
        >>> Reported.parse("93.30")
        Reported(text='93.30 %', value=0.933, half_unit=5e-05)
        >>> Reported.parse("93,30%") == Reported.parse("93.30"), Reported.parse(" 0.933 ").half_unit
        (True, 0.0005)
        """
        match = re.fullmatch(r"(\d*)(?:[.,](\d*))?\s*(%?)", str(score).strip())
        whole, decimals, percent = match.groups("") if match else ("", "", "")
        value = float(f"{whole}.{decimals}") if whole or decimals else math.inf
        if value > 100:
            raise ProtocolError(_TEXTS["refused"].format(repr(score)))
        places, text = len(decimals), f"{whole}.{decimals}".removesuffix(".")
        if percent or value > 1:
            places, text, value = places + 2, f"{text} %", round(value / 100, places + 2)
        return cls(text, value, max(0.5 * 10.0**-places, _ROUNDING))


@suggesting
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
    lengths, cases = zip(*map(partial(_read, source), *sides), strict=True)
    explanation = Explanation(scores, lengths, {})
    for base in sorted(set.intersection(*map(set, cases)), key=lambda way: (way.weight, way.variants)):
        if any(way.weight <= base.weight for way in explanation.matches if ("ties", "random") not in way.variants):
            explanation = replace(explanation, has_untried=True)
            break
        values = [scores_of(base, of_score[base], threads=threads, progress=progress) for of_score in cases]
        called = {measure, *_CALLED.get(measure, ())}
        tried = [way for way in dict.fromkeys(chain(*values)) if measure == "any" or way.family in called]
        new = {way: np.array(found) for way in tried if None not in (found := [_of_way(way, of) for of in values])}
        explanation = replace(explanation, values={**explanation.values, **new})
    return explanation


def _of_way(way: Way, values: Mapping[Way, tuple[float, float]]) -> tuple[float, float] | None:
    """Return the score of an evaluation; that without its treatment of undefined values if the codes have none."""
    defined = way._replace(variants=tuple(variant for variant in way.variants if variant[0] != "undefined"))
    return values.get(way, values.get(defined))


def _as_lists(*values: Any) -> tuple[Any, ...]:
    """Return a list of scores, one of query codes, and one of database codes, as many of each."""
    lists = values if np.ndim(values[0]) else tuple([one] for one in values)
    n = [len(one) for one in lists]
    if min(n) < 1 or min(n) < max(n):
        got = " and ".join(map(str, n))
        raise ProtocolError(f"scores, query codes and database codes must be as many, at least one, got {got}.")
    return lists


def _read(source: Truth, query: Any, database: Any) -> tuple[int, dict[Way, Case]]:
    """Return the code length, and what evaluators rank."""
    pair, outputs = read_codes(query, database).binary(), None
    if pair.binarize == "sign":
        outputs = [numbers_from(s.values if isinstance(s, Codes) else s, "codes") for s in (query, database)]
    return pair.n_bits, cases_of(pair, ground_truth(source, *pair.sizes, code_files=pair.files).relevance, outputs)


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
    has_untried : bool, default=False
        Whether rarer variants of the ranking were not tried, because a simpler evaluation gives every score.
    """

    reported: tuple[Reported, ...]
    n_bits: tuple[int, ...]
    values: Mapping[Way, NDArray[np.float64]]
    has_untried: bool = False
    _chances: dict[tuple[bool, int], float] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The chances that were computed, by whether the order of ties is random, and the weight."""

    @cached_property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """The differences of all scores from those reported, the standard deviations, and the weights."""
        table = np.array([*self.values.values()]).reshape(-1, len(self.reported), 2)
        errors = table[..., 0] - [one.value for one in self.reported]
        return errors, table[..., 1], np.array([way.weight for way in self.values], dtype=np.int64)

    @cached_property
    def matches(self) -> list[Way]:
        """The evaluations that give every score to all printed digits, rounded or cut, the least likely chance first.

        An evaluation is left out if another match has some of its variants, and no others, and all scores within half a
        unit of the last digit (with a random order of ties: the same measure). One with a random order is also left out
        if one with a known order is less likely a coincidence, and is decisive or has no larger weight, or if it could
        give nearly any score; but the measure without a cutoff in a random order is always one.
        """
        matches, exact = list[Way](), list[Way]()
        half_units = np.array([one.half_unit for one in self.reported])
        for way in self._agreeing:
            is_random, parts = self._is_random(way), set(way.variants)
            has_rival = any(one.weight <= way.weight or self.chance(one) < _DECISIVE for one in exact)
            is_vague = is_random and (has_rival or (self._has_all_digits and self.chance(way) >= _VAGUE))
            simpler = [known for known in matches if set(known.variants) < parts]
            apart = {known: np.abs(self.values[way] - self.values[known])[:, 0] for known in simpler}
            covers = (one.measure == way.measure if is_random else (apart[one] < half_units).all() for one in simpler)
            if way in _UNSTABLE or not (is_vague or any(covers)):
                matches.append(way)
                exact += [way] * (not is_random)
        return matches

    @property
    def _has_all_digits(self) -> bool:
        return max(one.half_unit for one in self.reported) <= _ALL_DIGITS * (1 + 1e-9)

    @cached_property
    def _agrees(self) -> NDArray[np.bool_]:
        """Whether an evaluation gives every score."""
        errors, deviations, _ = self._table
        half_units, reach = np.array([one.half_unit for one in self.reported]), _DEVIATIONS * deviations
        # Cutting the digits of .93306 gives .9330, although rounding gives .9331; but no 1 is printed as .9999.
        low, high = -half_units - 1e-12 - reach, 2 * half_units - 1e-12 + reach
        agrees: NDArray[np.bool_] = np.all((errors > low) & (errors < high) & (deviations < _NEAR), axis=1)
        return agrees

    @cached_property
    def _agreeing(self) -> list[Way]:
        """The evaluations that give every score, the least likely chance first."""
        errors, deviations, _ = self._table
        ways = [*self.values]

        def order(i: int) -> tuple[float, ...]:
            way, spread = ways[i], deviations[i]
            return self.chance(way), spread.any(), way.weight, spread.max(), "@" in way.measure, abs(errors[i]).max()

        return [ways[i] for i in sorted(np.flatnonzero(self._agrees).tolist(), key=order)]

    def _is_random(self, way: Way) -> bool:
        return bool(self.values[way][:, 1].any())

    def chance(self, match: Way) -> float:
        """Return the probability that an evaluation as plausible as a match gives every score by coincidence.

        That are the evaluations that weigh no more than the match; those with a random order of ties only if it has
        one. The values near a score are taken to be spread evenly, and several scores to be independent. Because these
        are two ways to be plausible, the probability is that of twice as many evaluations: of all scores that nothing
        known gives, at most 5 % then have a match with a chance below .05, however many evaluations are tried.

        The probability is at least that with which an evaluation in a random order of no larger weight, or of that of
        an unstable sort, if one could also give every score, gives those of one with a known order by coincidence.
        """
        is_random = self._is_random(match)
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
            by_random = 0.0 if is_random else self._chance_by_random(match.weight)
            self._chances[is_random, match.weight] = max(-math.expm1(2 * none), by_random)
        return self._chances[is_random, match.weight]

    def _chance_by_random(self, weight: int) -> float:
        """Return the largest probability that a plausible random order gives the scores of a known one of a weight."""
        errors, deviations, weights = self._table
        is_random, chances = deviations.any(axis=1), [0.0]
        known = errors[~is_random & (weights <= weight)]
        widths = 3 * np.array([one.half_unit for one in self.reported]) / math.sqrt(2 * math.pi)
        for row in np.flatnonzero(is_random & self._agrees & (weights <= max(weight, 1))):
            near = (np.abs(known - errors[row]) <= _DEVIATIONS * deviations[row]).all(axis=1)
            n_near = len(np.unique(known[near].round(12), axis=0))
            chances.append(n_near * float(np.prod(np.minimum(1, widths / np.maximum(deviations[row], 1e-300)))))
        return min(1.0, max(chances))

    @property
    def decisive(self) -> list[Way]:
        """The matches that are hardly a coincidence."""
        return [way for way in self.matches if self.chance(way) < _DECISIVE]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and the tables that are printed."""
        scores = ", ".join(f"{one.text} ({bits} bits)" for one, bits in zip(self.reported, self.n_bits, strict=True))
        unstable = [way for way in self._agreeing if self._is_random(way) and (way in _UNSTABLE or not self.matches)]
        range_of = [" ".join(self._row(way)[1:-1]) for way in unstable[:1]]
        if not self.matches:
            nothing = _TEXTS["stable" if unstable else "nothing"].format(scores=scores, ranges="".join(range_of))
            return [filled(f"{nothing} {self._notes}")]
        best, n = self.matches[0], len(self.matches)
        about = {"scores": scores, "measure": best.measure, "text": best.text, "n": counted(n, "evaluation")}
        about |= {"s": "s" * (n == 1), "digits": "more digits or " * (not self._has_all_digits)}
        is_unstable = best in _UNSTABLE  # decided only if no other order of its ties agrees, and nothing as plausible
        rivals = [way for way in self.matches[1:] if way.weight <= best.weight or {*dict(way.variants)} == {"ties"}]
        is_decided = self.decisive and not (is_unstable and rivals)
        verdict = _TEXTS["match" if is_decided else "undecided"].format(**about)
        verdict += "".join(map(_TEXTS["unstable"].format, [] if is_decided and is_unstable else range_of))
        first, n_others = self.matches[:_MOST], len(self.matches) - _MOST
        header = ["chance", "measure", *(f"{bits} bits" for bits in self.n_bits), "differs from the standard by"]
        others = f"and {counted(n_others, 'other evaluation')}" * (n_others > 0)
        below = filter(None, [others, meanings(first)])
        return [filled(verdict), Table("matches", "", header, [*map(self._row, first)]), *below, filled(self._notes)]

    @property
    def _notes(self) -> str:
        """The number of evaluations that were tried, the standard mAP, and orders of ties that are not listed."""
        means = ", ".join(f"{mean:.5f}" for mean, _ in self.values.get(STANDARD, np.zeros((0, 2))))
        others = [way for way in self._agreeing if way not in self.matches]
        unlisted = [" ".join(self._row(way)[1:-1]) for way in others if self._is_random(way)]
        agree = [f"; {len(unlisted)} could {'also ' * bool(self.matches)}agree, such as {one}" for one in unlisted[:1]]
        said = {"standard": means, "same": len(others) - len(unlisted), "untried": self.has_untried}
        said |= {"own": any(OWN in way.variants for way in self.values)}
        about = said | {"n_tried": len(self.values), "near": _NEAR, "unlisted": "".join(agree)}
        return " ".join(text.format(**about) for name, text in TEXTS["notes"].items() if said.get(name, True))

    def _row(self, way: Way) -> list[str]:
        """Return the cells of a match."""
        values = [f"{mean:.5f}" + f" ± {deviation:.5f}" * bool(deviation) for mean, deviation in self.values[way]]
        return [f"{self.chance(way):.1g}", way.measure, *values, way.names]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        matches = []
        for way in self.matches:
            values, deviations = self.values[way].T
            about = {"values": values, "standard_deviations": deviations, "chance": self.chance(way)}
            matches.append(way.record() | about)
        return {
            "reported": [one._asdict() for one in self.reported],
            "n_bits": self.n_bits,
            "n_tried": len(self.values),
            "n_decisive": len(self.decisive),
            "n_left_out": len(self._agreeing) - len(self.matches),
            "has_untried": self.has_untried,
            "matches": matches,
        }
