"""What an evaluator computes, found from its answers in small cases that tell all known evaluations apart."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.counting import LabelRelevance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.printed import Printed
from protocol.evaluators.search import cases_of, scores_of
from protocol.evaluators.ways import Way, meanings
from protocol.scores.tables import Table, filled, read_text, write_csv

FORMS = ("bits", "signs")
ANSWERS = "answers.csv"
_TOLERANCE = 1e-6
"""The precision of an evaluator in float32."""
_DEVIATIONS = 4
_MOST_SHOWN = 5
_FLIPPED = 0.3
_QUERIES = 150
"""So many that a random order of ties changes means by little."""
_OF_SOME_CASES = ("undefined", "mean")
"""Families whose variants change only some cases."""

Evaluator = Callable[[NDArray, NDArray, NDArray, NDArray], float]


@dataclass(frozen=True, eq=False)
class SmallCase:
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

    def scores(self, cutoff: int | None = None) -> dict[Way, tuple[float, float]]:
        """Return the score of every evaluation, and its standard deviation if the order of ties is random."""
        pair = CodePair(codes.pack(self.query_codes), codes.pack(self.database_codes), self.query_codes.shape[1])
        cases = cases_of(pair, LabelRelevance(self.query_labels, self.database_labels))
        return {
            way: score for base, case in cases.items() for way, score in scores_of(base, case, cutoff=cutoff).items()
        }


def small_cases(cutoff: int | None = None) -> list[SmallCase]:
    """Return the cases, the simplest first; with a cutoff, some have a database that is larger.

    Examples
    --------
    >>> [case.name for case in small_cases()][:2]
    ['no ties', 'ties']
    """
    rng = np.random.default_rng(0)
    n_items = 60 if cutoff is None else max(60, 3 * integer(cutoff, "cutoff"))
    # Query q and item d differ in q + 4 d bits: no ties, also if the sides are exchanged. The bits are alternately from
    # the eight bytes, so that no byte is complete.
    order = np.arange(64).reshape(8, 8).T.ravel()
    queries, near = np.zeros((4, 64), dtype=np.uint8), np.zeros((13, 64), dtype=np.uint8)
    for number in range(13):
        queries[number % 4, order[: number % 4]] = 1
        near[number, order[3 : 3 + 4 * number]] = 1
    found = [SmallCase("no ties", queries, near[rng.permutation(13)], np.arange(4) % 3, np.arange(13) % 3)]

    def random(name: str, n_bits: int, n_classes: int = 4) -> SmallCase:
        centres = rng.integers(0, 2, (n_classes, n_bits), dtype=np.uint8)
        labels = [np.arange(_QUERIES) % n_classes, rng.integers(0, n_classes, n_items)]
        labels[1][:n_classes] = np.arange(n_classes)  # no class is empty
        query, items = (centres[side] ^ (rng.random((side.size, n_bits)) < _FLIPPED) for side in labels)
        return SmallCase(name, query, items, *labels)

    ties = random("ties", 8)
    found += [ties, random("longer codes", 12), random("few relevant items", 8, n_items // 3)]
    some = random("queries without a relevant item", 8)
    some.query_labels[::4] = 9
    found.append(some)
    unequal = random("classes of unequal size", 8)
    unequal.query_labels[: _QUERIES // 2] = 1
    found.append(unequal)
    opposite = random("codes that differ in all bits of a byte", 16)
    opposite.database_codes[::3, :8] = 1 - opposite.query_codes[0, :8]
    opposite.query_codes[:, :8] = opposite.query_codes[0, :8]
    found.append(opposite)
    long = random("opposite codes of 64 bits", 64)
    long.database_codes[::3] = 1 - long.query_codes[np.arange(len(long.database_codes[::3])) % _QUERIES]
    found.append(long)
    return found


@lru_cache(maxsize=4)
def _known_scores(cutoff: int | None) -> list[dict[Way, tuple[float, float]]]:
    """Return the scores of all evaluations in each of the cases."""
    return [case.scores(cutoff) for case in small_cases(cutoff)]


def diagnose(function: Evaluator, *, codes: str = "bits", cutoff: int | None = None) -> "Diagnosis":
    """Identify which metric a scoring function computes, with which variants, by its scores of small cases.

    Parameters
    ----------
    function : callable
        Called as ``function(query_codes, database_codes, query_labels, database_labels)`` with arrays (n, n_bits) and
        (n,); returns the score, such as a mean average precision.
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
    one_of(codes, FORMS, "codes")
    answers: dict[int, float | str] = {}
    cases = small_cases(cutoff)
    for number, case in enumerate(cases, 1):
        sides: list[NDArray] = [case.query_codes, case.database_codes]
        sides = [2.0 * side - 1 if codes == "signs" else side.copy() for side in sides]
        labels = case.query_labels.copy(), case.database_labels.copy()
        try:
            answer = function(sides[0], sides[1], *labels)
        except Exception as error:  # noqa: BLE001 - the function may raise anything
            answers[number] = f"{type(error).__name__}: {error}"
            continue
        try:
            answers[number] = float(answer)
        except (TypeError, ValueError) as error:
            raise ProtocolError(
                "The function must return a number for (query_codes, database_codes, query_labels, database_labels): "
                f"{error}."
            ) from error
    return Diagnosis(cases, answers, cutoff)


def write_cases(folder: Path, cutoff: int | None = None) -> None:
    """Write the cases as CSV files, a folder for each, and a table ``answers.csv`` to fill in."""
    cases = small_cases(cutoff)
    for number, case in enumerate(cases, 1):
        of_case = folder / f"{number:02d}"
        of_case.mkdir(parents=True, exist_ok=True)
        for name in ("query_codes", "database_codes", "query_labels", "database_labels"):
            array = getattr(case, name)
            np.savetxt(of_case / f"{name}.csv", array, fmt="%d", delimiter=",")
    rows = [[number, case.name, ""] for number, case in enumerate(cases, 1)]
    write_csv(folder / ANSWERS, ["case", "contains", "score"], rows)


def read_answers(file: Path, cutoff: int | None = None) -> "Diagnosis":
    """Return the diagnosis of the answers in a file as `write_cases` writes it, with the scores filled in.

    Raises
    ------
    ProtocolError
        If the file can't be read, a case is missing, or a score is not a number.
    """
    cases, answers = small_cases(cutoff), dict[int, float | str]()
    rows = {row.get("case", "").strip(): row.get("score", "").strip() for row in read_text(file)}
    for number in range(1, len(cases) + 1):
        text = rows.get(str(number), "")
        try:
            answers[number] = float(text)
        except ValueError:
            raise ProtocolError(f"{file}: case {number}: the score must be a number, got {text!r}.") from None
    return Diagnosis(cases, answers, cutoff)


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Printed):
    """What an evaluator computes.

    Parameters
    ----------
    cases : list of SmallCase
    answers : mapping of int to float or str
        The evaluator's score for each case, numbered from 1; or its error.
    cutoff : int, optional
    """

    cases: list[SmallCase]
    answers: Mapping[int, float | str]
    cutoff: int | None = None

    def _score(self, number: int, way: Way) -> tuple[float, float] | None:
        """Return the score of an evaluation in a case; one that differs only in other cases is the plain one."""
        scores = _known_scores(self.cutoff)[number - 1]
        if way not in scores:
            way = Way(way.measure, tuple(v for v in way.variants if v[0] not in _OF_SOME_CASES or v == _TEN_MORE))
        if way not in scores:
            way = Way(way.measure, tuple(v for v in way.variants if v not in _OF_SOME_LENGTHS))
        return scores.get(way)

    def agrees(self, number: int, way: Way) -> bool:
        """Return whether an evaluation gives the evaluator's answer to a case."""
        answer, score = self.answers[number], self._score(number, way)
        if score is None or isinstance(answer, str) or math.isnan(answer):
            return False
        return abs(answer - score[0]) <= _TOLERANCE + _DEVIATIONS * score[1]

    @cached_property
    def _ranked(self) -> list[tuple[int, Way]]:
        """Every evaluation with the number of the first case in which it differs, the best first."""
        ways = dict.fromkeys(way for scores in _known_scores(self.cutoff) for way in scores)
        differing = {way: [n for n in self.answered if not self.agrees(n, way)] for way in ways}
        firsts = {way: min(numbers, default=len(self.cases) + 1) for way, numbers in differing.items()}
        return sorted(
            ((first, way) for way, first in firsts.items()),
            key=lambda pair: (
                *(-pair[0], len(differing[pair[1]])),
                *(("ties", "random") in pair[1].variants, pair[1].weight),
            ),
        )

    @property
    def answered(self) -> list[int]:
        """The cases with a number as the answer."""
        return [n for n, answer in self.answers.items() if not isinstance(answer, str) and not math.isnan(answer)]

    @cached_property
    def matches(self) -> list[Way]:
        """The evaluations that give every answer, the most plausible first; none if no case was answered.

        A random order of ties may give the same answers as a known one, and is then left out.
        """
        if not self.answered:
            return []
        found = [way for first, way in self._ranked if first > len(self.cases)]
        if found and ("ties", "random") not in found[0].variants:
            found = [way for way in found if ("ties", "random") not in way.variants]
        return [way for i, way in enumerate(found) if not any(set(o.variants) < set(way.variants) for o in found[:i])]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and the table that are printed."""
        shown = self.matches[0] if self.matches else self._ranked[0][1]
        rows = []
        for number, case in enumerate(self.cases, 1):
            answer, score = self.answers[number], self._score(number, shown)
            text = answer if isinstance(answer, str) else f"{answer:.6f}"
            rows.append([str(number), case.name, text, "none" if score is None else f"{score[0]:.6f}"])
        table = Table("cases", "", ["case", "contains", "answer", shown.measure], rows)
        n_missing = len(self.cases) - len(self.answered)
        note = [f"{counted(n_missing, 'case')} without a number as the answer."] if n_missing else []
        return [*self._verdict(), table, *note]

    def _verdict(self) -> list[str]:
        """Return the paragraphs above the table."""
        first, nearest = self._ranked[0]
        if not self.answered:
            return ["Unknown: no case was answered with a number."]
        if not self.matches:
            text = (
                f"Unknown: no known evaluation gives all answers. The nearest, {nearest.measure} ({nearest.text}), "
                f"first differs in case {first} ({self.cases[first - 1].name})."
            )
            return [filled(text)]
        best, *others = self.matches
        paragraphs = [filled(f"Equal to {best.measure}: {best.text}.")]
        if others:
            listed = "; ".join(f"{way.measure}, {way.names}" for way in others[:_MOST_SHOWN])
            more = f"; and {len(others) - _MOST_SHOWN} more" if len(others) > _MOST_SHOWN else ""
            paragraphs.append(filled(f"These can't be told apart from it: {listed}{more}."))
        return paragraphs + ([meanings([best])] if best.variants else [])

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        first, nearest = self._ranked[0]
        return {
            "matches": [way.record() for way in self.matches],
            "nearest": nearest.record() | {"first_difference": None if self.matches else first},
            "answers": dict(self.answers),
        }


_TEN_MORE = ("mean", "ten-more")
_OF_SOME_LENGTHS: Iterable[tuple[str, str]] = (("distance", "int8"), ("distance", "bit-order"))
