"""What an evaluator computes, found from its answers in small cases that tell all known evaluations apart."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.counting import LabelRelevance
from protocol.counting.counts import Floats
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.printed import Printed
from protocol.evaluators.ways import CUTOFFS, TEXTS, Way, cases_of, meanings, scores_of
from protocol.inputs.fields import read_table
from protocol.inputs.text import INPUTS
from protocol.scores.tables import Table, filled, write_csv

ANSWERS = "answers.csv"
_TOLERANCE = 1e-6
"""The precision of an evaluator in float32."""
_DEVIATIONS = 4
_MEAN_SQUARE = 4 / _DEVIATIONS**2
"""Largest mean square of the errors of a random order, in the unit of the largest error: a mean of 2 deviations."""
_CHANCE = 1e-8
"""Largest chance that a random order of ties gives all answers, if these are anywhere from 0 to 1, for a match.

For independent answers, this is a bound: of unknown evaluators, at most ten thousand evaluations times 1e-8 match. The
answers to several cases are not independent, so the share is larger; how large is not known. Rounding to few decimals
adds to the chance, but the errors of sums in float32 don't, because the deviations are much larger.
"""
_FEWEST_DECIMALS, _EQUAL_DECIMALS = 2, 4
"""Answers with fewer decimals than the first match nothing, and with fewer than the second they are not called equal.

Of the known evaluations, 69 % agree in all cases with another one to 1 decimal, 19 % to 2, 3 % to 3 and 0.2 % to 4
decimals. About as many unknown evaluations would be taken for a known one.
"""
_TEXTS = TEXTS["diagnosis"]
_MOST = 10
"""So many evaluations that cases can't tell apart are named."""
_RANDOM = ("ties", "random")
_ITEMS = 60
"""The size of most databases, at least three times the cutoff."""
_QUERIES = 150
"""So many that a random order of ties changes means by little."""
_OF_SOME_QUERIES = frozenset({("undefined", one) for one in ("left-out", "without-hit", "one")} | {("mean", "classes")})
_OF_SOME_LENGTHS = frozenset({("distance", "int8"), ("distance", "bit-order")})
_OF_SMALL_DATABASES = frozenset({("denominator", "K")})
"""Variants that change only some cases."""

Evaluator = Callable[[NDArray, NDArray, NDArray, NDArray], float]
Answers = Mapping[int, float | str]
"""The evaluator's score for each case, numbered from 1; or its error."""


class SmallCase(NamedTuple):
    """Codes and labels for which some evaluations differ.

    Parameters
    ----------
    name : str
        What the case contains.
    query_codes : ndarray of uint8, shape (n_queries, n_bits)
        The bits 0 and 1 of the queries.
    database_codes : ndarray of uint8, shape (n_database, n_bits)
        The bits 0 and 1 of the database items.
    query_labels : ndarray of int64, shape (n_queries,)
        The classes of the queries.
    database_labels : ndarray of int64, shape (n_database,)
        The classes of the database items.
    """

    name: str
    query_codes: NDArray[np.uint8]
    database_codes: NDArray[np.uint8]
    query_labels: NDArray[np.int64]
    database_labels: NDArray[np.int64]

    def scores(self, cutoffs: Iterable[int]) -> dict[Way, tuple[float, float]]:
        """Return the score of every evaluation, and its standard deviation if the order of ties is random."""
        pair = CodePair(codes.pack(self.query_codes), codes.pack(self.database_codes), self.query_codes.shape[1])
        cases = cases_of(pair, LabelRelevance(self.query_labels, self.database_labels))
        return dict(itertools.chain(*(scores_of(*case, cutoffs=cutoffs).items() for case in cases.items())))


def small_cases(cutoff: int | None = None) -> list[SmallCase]:
    """Return the cases, the simplest first; with a cutoff, some have a database that is larger.

    Examples
    --------
    >>> [case.name for case in small_cases()][:2]
    ['no ties', 'ties']
    """
    rng = np.random.default_rng(0)
    n_items = max(_ITEMS, 3 * (1 if cutoff is None else integer(cutoff, "cutoff")))
    # Query q and item d differ in q + 4 d bits: no ties, also if the sides are exchanged. The bits are alternately from
    # the eight bytes, so that no byte is complete. The cutoff is not the size of this database, or one less.
    order, n_near = np.arange(64).reshape(8, 8).T.ravel(), 15 if cutoff in (12, 13) else 13
    queries, near = np.zeros((4, 64), dtype=np.uint8), np.zeros((n_near, 64), dtype=np.uint8)
    for number in range(n_near):
        queries[number % 4, order[: number % 4]] = 1
        near[number, order[3 : 3 + 4 * number]] = 1
    cases = [SmallCase("no ties", queries, near[rng.permutation(n_near)], np.arange(4) % 3, np.arange(n_near) % 3)]

    def add(name: str, n_bits: int, n_classes: int = 4) -> SmallCase:
        centres = rng.integers(0, 2, (n_classes, n_bits), dtype=np.uint8)
        labels = [np.arange(_QUERIES) % n_classes, rng.integers(0, n_classes, n_items)]
        labels[1][:n_classes] = np.arange(n_classes)  # no class is empty
        query, items = (centres[side] ^ (rng.random((side.size, n_bits)) < 0.3) for side in labels)
        cases.append(SmallCase(name, query, items, *labels))
        return cases[-1]

    add("ties", 8)
    add("longer codes", 12)
    add("few relevant items", 8, n_items // 3)
    add("queries without a relevant item", 8).query_labels[::4] = 9
    add("classes of unequal size", 8).query_labels[: _QUERIES // 2] = 1
    opposite = add("codes that differ in all bits of a byte", 16)
    opposite.database_codes[:, :8] = 1 - opposite.query_codes[0, :8]
    opposite.database_codes[np.arange(n_items) % 3 > 0, 3] ^= 1  # differ in seven bits
    opposite.query_codes[:, :8] = opposite.query_codes[0, :8]
    long = add("opposite codes of 64 bits", 64)
    long.database_codes[::3] = 1 - long.query_codes[np.arange(len(long.database_codes[::3])) % _QUERIES]
    most = add("more than K relevant items", 8)
    most.database_labels[4:] = np.where(rng.random(n_items - 4) < 0.04, most.database_labels[4:], 0)
    far = add("queries that are far from all items", 12)
    far.database_codes[:] = far.database_codes[0] ^ (rng.random(far.database_codes.shape) < 0.2)
    far.query_codes[:] = far.database_codes[0] ^ (rng.random(far.query_codes.shape) < 0.2)
    far.query_codes[::2] = 1 - far.query_codes[::2]
    far.database_labels[4:] = np.where(rng.random(n_items - 4) < 0.1, far.database_labels[4:], 0)
    far.query_labels[np.arange(_QUERIES) % 3 > 0] = 0
    return cases


class _Known(NamedTuple):
    """The scores of all evaluations in all cases, (n_ways, n_cases), and whether a query is undefined in each case.

    The most plausible evaluations come first.
    """

    cases: list[SmallCase]
    ways: list[Way]
    means: Floats
    deviations: Floats
    undefined: dict[Way, list[bool]]


@lru_cache(maxsize=4)
def _known(cutoff: int | None) -> _Known:
    """Return what all evaluations give; one that differs only in other cases gives what the plain one does."""
    if cutoff in CUTOFFS and 3 * cutoff <= _ITEMS:  # which is tried in any case
        return _known(None)
    cases = small_cases(cutoff)
    cutoffs = {size for size in CUTOFFS if size < len(cases[-1].database_codes)} | {cutoff or 1}
    scores = [case.scores(cutoffs) for case in cases]
    ways = list(dict.fromkeys(itertools.chain(*scores)))
    ways.sort(key=lambda way: (_RANDOM in way.variants, way.weight, len(way.variants)))
    table = np.array([[_score(of_case, way) for of_case in scores] for way in ways])
    undefined = {way: [way.but(undefined="left-out") in of_case for of_case in scores] for way in ways}
    return _Known(cases, ways, table[..., 0], table[..., 1], undefined)


def _score(scores: dict[Way, tuple[float, float]], way: Way) -> tuple[float, float]:
    """Return the score of a way in a case, or of the way without variants that change nothing there; else NaN."""
    none = frozenset[tuple[str, str]]()
    some = none, _OF_SOME_QUERIES, _OF_SOME_QUERIES | _OF_SOME_LENGTHS
    for one, other in itertools.product(some, (none, _OF_SMALL_DATABASES)):
        plain = Way(way.measure, tuple(variant for variant in way.variants if variant not in one | other))
        if plain in scores:
            return scores[plain]
    return math.nan, 0.0


def diagnose(function: Evaluator, *, codes: str = "bits", cutoff: int | None = None) -> "Diagnosis":
    """Identify which metric a scoring function computes, with which variants, by its scores of small cases.

    Parameters
    ----------
    function : callable
        Called as ``function(query_codes, database_codes, query_labels, database_labels)`` with arrays (n, n_bits) and
        (n,); returns the score, such as a mean average precision. If no known evaluation gives the answers, it is also
        called with one-hot labels, (n, n_classes), and the verdict says so if it needs them.
    codes : {"bits", "signs"}, default="bits"
        Whether the function expects 0 and 1, or -1.0 and +1.0.
    cutoff : int, optional
        The K of the function, if it has one: some cases then have more than K items.

    Returns
    -------
    Diagnosis

    Raises
    ------
    ProtocolError
        If `codes` is unknown or `cutoff` is below 1, or the function returns something other than a number. Errors
        that it raises are caught and shown with the case.

    Examples
    --------
    >>> import numpy as np
    >>> def precision_at_1(q, d, query_labels, labels):
    ...     nearest = (q[:, None] != d).sum(axis=2).argmin(axis=1)
    ...     return np.mean(labels[nearest] == query_labels)
    >>> diagnose(precision_at_1).matches[0]
    Way(measure='P@1', variants=(('ties', 'index'),))
    """
    one_of(codes, ["bits", "signs"], "codes")
    of_classes = _called(function, codes, cutoff)
    of_one_hot = of_classes if of_classes.matches else _called(function, codes, cutoff, is_one_hot=True)
    # An evaluation that gives all answers is better than one that gives most, and that is better than errors.
    known = [(bool(one.matches), one.nearest is not None, not _error(one.answers)) for one in (of_classes, of_one_hot)]
    if known[1] <= known[0]:
        return of_classes
    reason = _error(of_classes.answers) or "no known evaluation gives the answers"
    return replace(of_one_hot, verdict=[*of_one_hot.verdict, _TEXTS["one-hot"].format(reason)])


def _called(function: Evaluator, codes: str, cutoff: int | None, *, is_one_hot: bool = False) -> "Diagnosis":
    """Return the diagnosis of a function with class labels, or with one-hot ones."""
    answers = dict[int, float | str]()
    for number, case in enumerate(small_cases(cutoff), 1):
        sides = [2.0 * bits - 1 if codes == "signs" else bits.copy() for bits in case[1:3]]
        labels = [of_side.copy() for of_side in case[3:]]
        if is_one_hot:
            labels = [np.eye(1 + int(np.max(np.hstack(labels))), dtype=np.int64)[of_side] for of_side in labels]
        try:
            answer = function(sides[0], sides[1], labels[0], labels[1])
        except Exception as error:  # noqa: BLE001 - the function may raise anything
            answers[number] = f"{type(error).__name__}: {error}"
            continue
        try:
            answers[number] = float(answer)
        except (TypeError, ValueError) as error:
            raise ProtocolError(f"The function must return a number for the codes and labels: {error}.") from error
    values = [math.nan if isinstance(answer, str) else answer for answer in answers.values()]
    with np.errstate(over="ignore"):
        singles = np.array(values, dtype=np.float32)
    texts = [str(single if single == one else one) for single, one in zip(singles, values, strict=True)]  # the shortest
    other = 'signs" if it expects -1 and +1' if codes == "bits" else 'bits" if it expects 0 and 1'
    return _diagnosed(answers, texts, cutoff, f'Pass codes="{other}.')


def write_cases(folder: Path, cutoff: int | None = None) -> None:
    """Write the cases as CSV files, a folder for each, and a table ``answers.csv`` to fill in."""
    cases = small_cases(cutoff)
    for number, case in enumerate(cases, 1):
        of_case = folder / f"{number:02d}"
        of_case.mkdir(parents=True, exist_ok=True)
        for name in SmallCase._fields[1:]:
            np.savetxt(of_case / f"{name}.csv", getattr(case, name), fmt="%d", delimiter=",")
    rows = ([number, case.name, ""] for number, case in enumerate(cases, 1))
    write_csv(folder / ANSWERS, ["case", "contains", "score"], rows)


def read_answers(file: Path, cutoff: int | None = None) -> "Diagnosis":
    """Return the diagnosis of the answers in a file as `write_cases` writes it, with the scores filled in.

    Scores that are rounded to 2 or more decimals are compared to these. They are in percent if all have %, or one is
    above 1. Semicolons or tabs may divide the columns, and a comma may be that of decimals.

    Raises
    ------
    ProtocolError
        If the file can't be read, a case is missing, or a score is not a number.
    """
    cases, scores = ([row[0].strip() for row in read_table(file, str(file), name).rows] for name in ("case", "score"))
    given = dict(zip(cases, scores, strict=True))
    texts = [given.get(str(number), "") for number in range(1, len(small_cases(cutoff)) + 1)]
    mark = "%" * all(text.endswith("%") for text in texts)
    values = list[Decimal]()
    for number, text in enumerate(texts, 1):
        try:
            values.append(Decimal(text.removesuffix(mark).strip().replace(",", ".")))
        except ArithmeticError:
            raise ProtocolError(f"{file}: case {number}: the score must be a number, got {text!r}.") from None
    finite = [value for value in values if value.is_finite()]
    if mark or (finite and min(finite) >= 0 and 1 + _TOLERANCE < max(finite) <= 100):
        INPUTS.info("%s: the scores are read as percent, because %s", file, "all have %" if mark else "one is above 1")
        values = [value / 100 for value in values]
    answers, texts = {number: float(value) for number, value in enumerate(values, 1)}, list(map(str, values))
    return _diagnosed(answers, texts, cutoff, "If the evaluator expects -1 and +1, pass it 2 * bits - 1.")


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Printed):
    """What an evaluator computes.

    Parameters
    ----------
    verdict : list of str
        Paragraphs.
    matches : list of Way
        The evaluations that these cases can't tell from the evaluator, the most plausible first. There is none if the
        evaluator gave the same answer to all cases, a value outside of 0 to 1, or no finite number in a case. A random
        order of ties may give the same answers as a known one, or nearly any answers, and is then left out.
    nearest : Way or None
        The evaluation with a known order of ties that gives most answers, if it gives more than half of them.
    differing_cases : list of int
        The cases in which `nearest` differs.
    answers : mapping of int to float or str
        The evaluator's score for each case, numbered from 1; or its error.
    table : Table
        The cases with the answers, and the scores of the best match or else of `nearest`.
    """

    verdict: list[str]
    matches: list[Way]
    nearest: Way | None
    differing_cases: list[int]
    answers: Answers
    table: Table

    def parts(self) -> list[str | Table]:
        """Return the paragraphs that are printed, and the table unless an evaluation gives every answer."""
        variants = [meanings(self.matches[:1])] if self.matches and self.matches[0].variants else []
        is_shown = not (self.matches or _error(self.answers))
        return [*map(filled, self.verdict), *variants, *[self.table] * is_shown]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {
            "verdict": " ".join(self.verdict),
            "matches": [way.record() for way in self.matches],
            "nearest": self.nearest and self.nearest.record() | {"differing_cases": self.differing_cases},
            "answers": dict(self.answers),
        }


def _diagnosed(answers: Answers, texts: Sequence[str], cutoff: int | None, other_codes: str) -> Diagnosis:
    """Return the diagnosis of the answers to all cases, with the digits of the texts.

    `other_codes` is the advice to an evaluator for the other form of codes.
    """
    known, values = _known(cutoff), [math.nan if isinstance(one, str) else one for one in answers.values()]
    numbers = np.where(np.isfinite(values), values, np.nan)
    n_decimals, half_units = _precision(texts)
    if peculiarity := _peculiarity(known, answers, numbers, n_decimals):
        return Diagnosis([peculiarity], [], None, [], answers, _table(known, answers, None))
    ways, differs = _compared(known, numbers, half_units)
    ordered = [i for i, way in enumerate(ways) if _RANDOM not in way.variants]  # with a known order of ties
    n_agreeing, nearest, cases = int((~differs.any(axis=1)).sum()), None, list[int]()
    has_few = n_decimals < _EQUAL_DECIMALS  # a known order may then agree by chance
    agreeing = [ways[i] for i in ordered if i < n_agreeing and not has_few] or ways[:n_agreeing]
    same = numbers[~differs[ordered[0]] & np.isfinite(numbers)]
    if same.size > differs[ordered[0]].sum() and np.ptp(same) > _TOLERANCE:
        nearest, cases = ways[ordered[0]], (np.flatnonzero(differs[ordered[0]]) + 1).tolist()
    if agreeing:
        matches, table = [] if np.isnan(numbers).any() else agreeing, _table(known, answers, agreeing[0])
        largest = max(len(case.database_codes) for case in known.cases)
        verdict = _agreement(known, agreeing, answers, numbers, n_decimals)
        verdict += [_TEXTS["unseen"].format(largest)] * (cutoff is None and "@" not in agreeing[0].measure)
        return Diagnosis(verdict, matches, nearest, cases, answers, table)
    texts = [_TEXTS["unknown"].format(_case(known, int(differs.argmax(axis=1).max())))]
    if nearest is not None:
        about = nearest.measure, nearest.text, same.size, len(numbers), _case(known, cases[0] - 1)
        texts.append(_TEXTS["nearest"].format(*about))
    texts += [*[_TEXTS["cutoff"]] * (cutoff is None), other_codes]
    return Diagnosis([" ".join(texts)], [], nearest, cases, answers, _table(known, answers, nearest))


def _precision(texts: Iterable[str]) -> tuple[int, Floats]:
    """Return the number of decimals of the answers, and half of a unit of the last digit of each.

    Programs print as many decimals, or as many digits after leading zeros (``%.4g``), of all answers, perhaps without
    zeros at the end.

    Examples
    --------
    >>> _precision(["0.5", "0.7312", "0.03", "nan"])[0], _precision(["0.7143", "0.03125"])[1]
    (4, array([5.e-05, 5.e-06]))
    """
    values = [Decimal(text) for text in texts]
    parts = [value.as_tuple() for value in values if value.is_finite()]
    n_decimals = max((-int(part.exponent) for part in parts), default=0)
    n_digits = max((len(part.digits) for part in parts), default=0)
    n_each = [min(n_decimals, n_digits - min(value.adjusted() + 1, 0)) for value in values]
    return min(n_each), 0.5 * 10.0 ** -np.array(n_each)


def _compared(known: _Known, numbers: Floats, half_units: Floats) -> tuple[list[Way], NDArray[np.bool_]]:
    """Return the evaluations, the best first, and whether each differs in each case; False without a number."""
    errors = np.maximum(np.abs(known.means - numbers) - half_units, 0)
    allowed = _TOLERANCE + _DEVIATIONS * known.deviations
    has_number = np.isfinite(numbers)
    differs = ~(errors <= allowed) & has_number
    # The answers with an arbitrary order of ties are about a standard deviation from the means, not all farther.
    total = np.nansum(np.where(allowed > errors, (errors / allowed) ** 2, 0), axis=1)
    chances = np.where(has_number, np.minimum(2 * (allowed + half_units), 1), 1).prod(axis=1)
    is_left_out = (total > _MEAN_SQUARE * has_number.sum()) | (chances > _CHANCE)
    differs |= is_left_out[:, None] & has_number & (known.deviations > 0)
    order = np.argsort(differs.sum(axis=1), kind="stable")
    return [known.ways[i] for i in order], differs[order]


def _table(known: _Known, answers: Answers, compared: Way | None) -> Table:
    """Return the table of cases and answers, with the scores of an evaluation."""
    columns = {"case": map(str, answers), "contains": (case.name for case in known.cases)}
    columns["answer"] = map(_text, answers.values())
    if compared is not None:
        columns[compared.measure] = map(_text, known.means[known.ways.index(compared)].tolist())
    return Table("cases", "", [*columns], list(zip(*columns.values(), strict=True)))


def _peculiarity(known: _Known, answers: Answers, numbers: Floats, n_decimals: int) -> str:
    """Return what is peculiar about answers that no evaluation gives, or nothing."""
    if error := _error(answers):
        return str(_TEXTS["raised"].format(error))
    if np.isnan(numbers).all():
        return str(_TEXTS["unanswered"])
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if high - low <= _TOLERANCE:
        return f"Always {high:g}: {TEXTS['constant'].get(f'{high:z.6f}', 'codes and labels have no effect?')}"
    if low < -_TOLERANCE or high > 1 + _TOLERANCE:
        number = int(np.nanargmax(np.abs(numbers - 0.5)))
        return str(_TEXTS["outside"].format(numbers[number], _case(known, number)))
    is_coarse = n_decimals < _FEWEST_DECIMALS
    return str(_TEXTS["coarse"].format(counted(n_decimals, "decimal"), _EQUAL_DECIMALS)) * is_coarse


def _agreement(known: _Known, agreeing: list[Way], answers: Answers, numbers: Floats, n_decimals: int) -> list[str]:
    """Return the paragraphs about the evaluations that give every answer that is a number."""
    best, others = agreeing[0], [f"{way.measure}, {way.names}" for way in agreeing[1:]]
    missing = np.flatnonzero(np.isnan(numbers)) + 1
    is_random = _RANDOM in best.variants
    is_equal, is_rounded = not is_random and n_decimals >= _EQUAL_DECIMALS, 0.5 * 10.0**-n_decimals > _TOLERANCE
    verdict = f"{'Equal to' if is_equal else 'Consistent with'} {best.measure}: {best.text}."
    if missing.size:
        undefined = np.flatnonzero(known.undefined[best]) + 1
        is_ratio = np.array_equal(missing, undefined) and not any(isinstance(each, str) for each in answers.values())
        top = f" among the top {best.measure.partition('@')[2]}" * (("denominator", "retrieved") in best.variants)
        about = best.measure, best.text, "s" * (missing.size > 1), ", ".join(map(str, missing))
        verdict = _TEXTS["differs"].format(*about, _TEXTS["undefined"].format(top) * is_ratio)
    more = [f"and {len(others) - _MOST} more"] * (len(others) > _MOST)
    said = {"rounded": (is_rounded, n_decimals), "same": (others, "; ".join([*others[:_MOST], *more]))}
    said["random"] = is_random, _CHANCE
    return [verdict, *(_TEXTS[name].format(value) for name, (is_said, value) in said.items() if is_said)]


def _error(answers: Answers) -> str:
    """Return the first error if the function raised one in every case, or nothing."""
    errors = [answer for answer in answers.values() if isinstance(answer, str)]
    return errors[0] if len(errors) == len(answers) else ""


def _text(score: float | str) -> str:
    """Return a score with six decimals, or the error in its place."""
    return score if isinstance(score, str) else "none" if math.isnan(score) else f"{score:.6f}"


def _case(known: _Known, number: int) -> str:
    return f"case {number + 1} ({known.cases[number].name})"
