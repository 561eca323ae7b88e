"""Check training logs: whether the reported score is the best of several evaluations on the test set."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import NOT_CHECKED, Finding, findings_of
from protocol.auditing.inputs.log_formats import Log, Series, read_log
from protocol.checks import ProtocolError, counted
from protocol.inputs.conversion import is_file

_PERCENT = 100.0
_DECIMALS = 6  # maximum number of decimals for comparing scores
_NAMED = 3  # maximum number of scores in a sentence


class Reported:
    """The score that a paper reports, with its precision.

    Parameters
    ----------
    value : float, int or str
        A string also determines the precision: ``"0.800"`` means 0.7995 to 0.8005.

    Raises
    ------
    ProtocolError
        If it is not a finite number.
    """

    def __init__(self, value: Any) -> None:
        try:
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, float, np.number)):
                raise TypeError
            decimal = Decimal(str(value).strip())
            self.value = float(decimal)
        except (InvalidOperation, TypeError, ValueError, OverflowError):
            raise ProtocolError(f"reported: expected a number such as 0.797, got {str(value)[:40]!r}.") from None
        if not math.isfinite(self.value):
            raise ProtocolError(f"reported: expected a finite number, got {str(value)[:40]!r}.")
        self.text = str(value).strip()
        exponent = decimal.as_tuple().exponent
        self.decimals = max(0, -exponent) if isinstance(exponent, int) else 0

    def matches(self, score: float | NDArray[np.float64], values: NDArray[np.float64]) -> bool:
        """Return whether the reported score may be that of a log: equal to as many decimals as both have.

        Percentages are compared with fractions, and vice versa.

        Parameters
        ----------
        score : float or ndarray of float64
        values : ndarray of float64, shape (n,)
            All scores of this kind in the log, which determine the number of decimals, and whether they are fractions.
        """
        half = 0.5 * max(10.0**-self.decimals, self._scale(values) * 10.0 ** -_decimals(values))
        return bool(np.any(self._distance(score, values) <= half * (1 + 1e-9)))

    def equals(self, score: float, values: NDArray[np.float64]) -> bool:
        """Return whether the reported score equals one of a log in all its decimals; parameters as for `matches`."""
        return bool(self._distance(score, values) <= 1e-9 * max(1, abs(self.value)))

    def coarser(self, values: NDArray[np.float64]) -> str:
        """Return which of both has too few decimals, the reported score or the log, as the beginning of a clause."""
        is_coarse = 10.0**-self.decimals >= self._scale(values) * 10.0 ** -_decimals(values) * (1 - 1e-9)
        return f"the reported {self.text} has" if is_coarse else "the log has"

    def _distance(self, score: float | NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(np.asarray(score) * self._scale(values) - self.value)

    def _scale(self, values: NDArray[np.float64]) -> float:
        """Return the factor between the scores of a log and the reported one, for percentages and fractions."""
        largest = float(np.abs(values).max())
        if largest <= 1 < abs(self.value):
            return _PERCENT
        return 1 / _PERCENT if abs(self.value) <= 1 < largest else 1.0


def _decimals(values: NDArray[np.float64]) -> int:
    """Return the number of decimals of the scores in a log."""
    return next((n for n in range(_DECIMALS) if np.allclose(np.round(values, n), values, rtol=0, atol=1e-9)), _DECIMALS)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A test score, and the best of its evaluations, which the log itself may track.

    Parameters
    ----------
    series : Series
        Its role is ``"best"`` if the log contains only the best score.
    step : str
        The unit of the steps.
    best : float
    at : str
        The location of the best score, for the reader.
    """

    series: Series
    step: str
    best: float
    at: str = ""

    @property
    def is_tracked(self) -> bool:
        """Whether the log contains only the best score."""
        return self.series.role == "best"

    @property
    def last(self) -> float:
        """The last finite score."""
        return float(self.series.values[-1])

    @property
    def is_undecided(self) -> bool:
        """Whether it matters which evaluation is reported."""
        return self.is_tracked or self.best > self.last or self.series.ends_missing

    @property
    def is_choice(self) -> bool:
        """Whether several scores could be reported."""
        return self.is_undecided or len(self.series.values) > 1

    def what(self) -> str:
        """Return a clause with the number of evaluations, the best and the last score, and their difference."""
        name, n = self.series.name, len(self.series.values)
        if self.is_tracked:
            return f"{name} is the best of several evaluations, {_text(self.best)}; the log lacks the last one"
        times = "once" if n == 1 else f"{n:,} times"
        which = "last with a finite score" if self.series.ends_missing else "last"
        return (
            f"{name} is evaluated on the test set {times} in this log: the best is {_text(self.best)} ({self.at}), the "
            f"{which} {_text(self.last)} ({self.step} {self.series.steps[-1]:.15g}), a difference of "
            f"{_text(self.best - self.last)}"
        )

    def findings(self, severity: str, verdict: str) -> list[Finding]:
        """Return a finding on this score."""
        name = self.series.name
        return findings_of("selection-on-test", severity, 1, [name], what=self.what(), verdict=verdict)


def audit_training_log(log: Log, reported: Reported | None = None) -> list[Finding]:
    """Return a finding for each test score if the best of several evaluations is, or may be, the reported one.

    Parameters
    ----------
    log : Log
    reported : Reported or None
        None if it is not known.

    Returns
    -------
    list of Finding
        An error if the reported score is the best and not the last one. A warning if this is undecidable: no score is
        given and the last one is not the best or not finite, the given one is neither, it has too few decimals, or the
        log contains only the best. Nothing for a single evaluation, or if the reported score is the last one or that of
        the step with the best validation score.
    """
    scores = _judged(log)
    if reported is None:
        undecided = [score for score in scores if score.is_undecided]
        return [finding for score in undecided for finding in score.findings("warning", _unknown(log, score))]
    compared = [(score, *_compared(score, log, reported)) for score in scores]
    severities = _severities({kind for _, kind, _ in compared})
    findings = []
    for score, kind, verdict in compared:
        if kind in severities and score.is_choice:
            severity, unless = severities[kind]
            findings += score.findings(severity, verdict + unless)
    return findings


def _severities(kinds: Set[str]) -> dict[str, tuple[str, str]]:
    """Return the severity of each category of `_compared`, and a restriction, by the categories of all scores."""
    if kinds & {"permitted", "doubtful"}:  # the reported score may be the last one of some score
        unless = ", unless it is the last value of another score: name the column"
        return {"doubtful": ("warning", ""), "best": ("warning", unless)}
    return {"best": ("error", "")} if "best" in kinds else {"other": ("warning", "")}


def _compared(score: _Judged, log: Log, reported: Reported) -> tuple[str, str]:
    """Compare the reported score with a score in the log; return a category, and the verdict as a clause.

    The category is ``"permitted"`` if it is the last one, or that of the step with the best validation score;
    ``"doubtful"`` if this is undecidable; ``"best"``; or ``"other"``.
    """
    if score.is_tracked:
        return "other", _unknown(log, score)
    values, ends_missing = score.series.values, score.series.ends_missing
    matching = [one for one in _permitted(log, score) if reported.matches(one[0], values)]
    is_best = reported.matches(score.best, values)
    if matching:
        value, which = max(matching)
        if not is_best or value >= score.best or any(reported.equals(value, values) for value, _ in matching):
            return "permitted", ""
        best = f"the best ({score.best:g}, {score.at})"
        return "doubtful", f"{reported.coarser(values)} too few decimals to distinguish {best} from {which} ({value:g})"
    if ends_missing and reported.matches(score.last, values):
        why = f"the last evaluation has no finite score, and the reported {reported.text} is an earlier one"
        return "doubtful", why
    if is_best:
        return "best", f"the reported {reported.text} is the best, so the {log.step} was chosen on the test set"
    return "other", f"the reported {reported.text} is not the last, and the log does not show how it was chosen"


def _permitted(log: Log, score: _Judged) -> list[tuple[float, str]]:
    """Return the scores that may be reported, each with its name: those chosen by validation, and the last one."""
    validated = f"the {log.step} chosen on the validation set"
    permitted = [(value, validated) for value in _validated(log, score.series)]
    return permitted if score.series.ends_missing else [*permitted, (score.last, "the last")]


def _unknown(log: Log, score: _Judged) -> str:
    """Return the verdict if the reported score is not known."""
    if score.series.ends_missing:
        return "the last evaluation has no finite score, so an earlier one may be reported"
    if any(series.role == "best" for series in log.series):
        return "the log tracks the best one, and it is not known whether that one is reported"
    return "it is not known which of them is reported"


def _judged(log: Log) -> list[_Judged]:
    """Return the test scores of a log with their best values, and best scores that it tracks without the others."""
    by_role, by_words = _by_role(log), defaultdict(list)
    tests, bests = ([series for series in by_role[role] if len(series.values)] for role in ("test", "best"))
    for series in bests:
        by_words[_words(series)].append(series)
    scores, used = [], set()
    for series in tests:
        at = f"{log.step} {series.steps[series.values.argmax()]:.15g}"
        candidates = [(float(series.values.max()), at)]
        for tracked in bests if len(bests) == len(tests) == 1 else by_words[_words(series)]:
            used.add(tracked.name)
            candidates.append((float(tracked.values.max()), f"tracked as {tracked.name}"))
        scores.append(_Judged(series, log.step, *max(candidates, key=itemgetter(0))))
    alone = [series for series in bests if series.name not in used]
    return scores + [_Judged(series, log.step, float(series.values.max())) for series in alone]


def _by_role(log: Log) -> Mapping[str, list[Series]]:
    """Return the series of a log by their roles."""
    by_role = defaultdict(list)
    for series in log.series:
        by_role[series.role].append(series)
    return by_role


def _words(series: Series) -> tuple[str, ...]:
    """Return the words that the name of a score shares with that of its tracked best value."""
    words = re.split(r"[\W_]+", series.name.lower())
    return tuple(word for word in words if word not in ("best", "max", "test"))


def _validated(log: Log, test: Series) -> list[float]:
    """Return the test scores at the steps with the best validation scores of the same owner and run."""
    scores: list[float] = []
    for series in log.series:
        belongs = series.owner in ("", test.owner) and series.run == test.run
        if series.role == "validation" and len(series.values) and belongs:
            scores += test.values[test.steps == series.steps[series.values.argmax()]].tolist()
    return scores


def _text(score: float) -> str:
    return f"{round(score, 4):g}"


def about_log(log: Log, reported: Reported | None) -> list[str]:
    """Return sentences about the content of a log, and the checks that were not possible."""
    by_role = _by_role(log)
    tests = by_role["test"] or by_role["best"]
    described = [_described(log, series) for series in tests[:_NAMED]]
    described += [f"and {len(tests) - _NAMED:,} other scores"] if len(tests) > _NAMED else []
    sentences = [
        f"Training log; test scores: {'; '.join(described)}" if described else "Training log without test scores"
    ]
    if by_role["validation"]:
        names = ", ".join(series.name for series in by_role["validation"][:_NAMED])
        sentences.append(f"Assumed to be validation scores, by their names: {names}")
    missing = _not_possible(tests, by_role["test"] + by_role["best"], reported)
    return [*sentences, *([NOT_CHECKED + missing] if missing else [])]


def _not_possible(tests: Sequence[Series], scores: Sequence[Series], reported: Reported | None) -> str:
    """Return the check that was not possible, if any; `tests` are the judged series, `scores` also tracked ones."""
    n_evaluations = max((len(series.values) for series in tests), default=0)
    if not n_evaluations:
        return "selection-on-test (needs a column of test scores: FILE:COLUMN)"
    if reported is None:
        return "which evaluation is reported (needs the reported score)" if n_evaluations > 1 else ""
    is_in_log = any(reported.matches(series.values, series.values) for series in scores if len(series.values))
    return "" if is_in_log else f"the origin of the reported {reported.text}, which is not in this log"


def _described(log: Log, series: Series) -> str:
    n = len(series.values)
    text = f"{series.name}, {counted(n, 'evaluation')}"
    if n:
        text += f" ({log.step} {series.steps[0]:.15g}" + (f" to {series.steps[-1]:.15g})" if n > 1 else ")")
    return text + (f", {series.n_missing:,} without a finite score omitted" if series.n_missing else "")


def read_logs(files: Any) -> dict[str, Log]:
    """Read training logs from one or several files, each optionally with the name of a column, ``F:column``.

    Raises
    ------
    ProtocolError
        If one can't be read; see `read_log`.
    """
    several = [files] if is_file(files) else files
    if not isinstance(several, Sequence) or not several or not all(map(is_file, several)):
        got = type(files).__name__ if several else "an empty list"
        raise ProtocolError(f"training_log: expected a file, or a list of files, got {got}.")
    return {str(file): read_log(*file_and_column(file)) for file in several}


def file_and_column(file: Any) -> tuple[Path, str | None]:
    """Return the path and the column in ``F:column``; an existing file with this complete name takes precedence."""
    path, mark, column = str(file).rpartition(":")
    try:
        is_path = not mark or not path or not column or Path(file).exists()
    except (OSError, ValueError) as error:  # too long, or a null character
        raise ProtocolError(f"training_log: {str(file)[:80]!r} is not a usable path ({error}).") from error
    return (Path(file), None) if is_path else (Path(path), column)
