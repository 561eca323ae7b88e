"""Check training logs: whether the reported score is the best of several evaluations on the test set."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.auditing.log_formats import Log, Series, read_log
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

    def is_coarse(self, values: NDArray[np.float64]) -> bool:
        """Return whether the reported score has at most as many decimals as the scores of a log."""
        return 10.0**-self.decimals >= self._scale(values) * 10.0 ** -_decimals(values) * (1 - 1e-9)

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
    """A test score: its evaluations, and the best of them, which the log itself may track.

    Parameters
    ----------
    name, step : str
    steps, values : ndarray of float64, shape (n,)
        Empty if the log contains only the best score.
    best : float
    at : str
        The location of the best score, for the reader.
    series : Series
        The series in the log.
    """

    name: str
    step: str
    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    best: float
    at: str
    series: Series

    @property
    def ends_missing(self) -> bool:
        """Whether the last evaluation has no finite score."""
        return self.series.ends_missing

    @property
    def has_choice(self) -> bool:
        """Whether more than one evaluation could be reported."""
        return len(self.values) != 1 or self.best > self.values[-1] or self.ends_missing

    @property
    def what(self) -> str:
        """A clause with the number of evaluations, the best and the last score, and their difference."""
        if not len(self.values):
            return f"{self.name} is the best of several evaluations, {_text(self.best)}; the log lacks the last one"
        n, last = len(self.values), float(self.values[-1])
        times = "once" if n == 1 else f"{n:,} times"
        end, gap = f"{self.step} {self.steps[-1]:.15g}", _text(self.best - last)
        which = "last with a finite score" if self.ends_missing else "last"
        return (
            f"{self.name} is evaluated on the test set {times} in this log: the best is {_text(self.best)} "
            f"({self.at}), the {which} {_text(last)} ({end}), a difference of {gap}"
        )

    def found(self, severity: str, verdict: str) -> list[Finding]:
        """Return a finding on this score."""
        return found("selection-on-test", severity, 1, [self.name], what=self.what, verdict=verdict)


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
    judged = _judged(log)
    if reported is None:
        return [finding for one in judged if _undecided(one) for finding in one.found("warning", _unknown(log, one))]
    compared = [(one, *_compared(one, log, reported)) for one in judged]
    kinds = {kind for _, kind, _ in compared}
    is_last = bool(kinds & {"permitted", "doubtful"})  # possibly of one of the scores
    severities = {
        "doubtful": "warning",
        "best": "warning" if is_last else "error",
        **({} if is_last or "best" in kinds else {"other": "warning"}),
    }
    unless = ", unless it is the last value of another score: name the column" if is_last else ""
    return [
        finding
        for one, kind, verdict in compared
        if kind in severities and one.has_choice
        for finding in one.found(severities[kind], verdict + (unless if kind == "best" else ""))
    ]


def _undecided(judged: _Judged) -> bool:
    """Return whether it matters which evaluation is reported."""
    return not len(judged.values) or judged.best > judged.values[-1] or judged.ends_missing


def _compared(judged: _Judged, log: Log, reported: Reported) -> tuple[str, str]:
    """Compare the reported score with a score in the log; return a category, and the verdict as a clause.

    The category is ``"permitted"`` if it is the last one, or that of the step with the best validation score;
    ``"doubtful"`` if this is undecidable; ``"best"``; or ``"other"``.
    """
    if not len(judged.values):
        return "other", _unknown(log, judged)
    last = float(judged.values[-1])
    permitted = [
        (float(judged.values[place]), f"the {log.step} chosen on the validation set")
        for place in _validated(log, judged)
    ]
    permitted += [] if judged.ends_missing else [(last, "the last")]
    matching = [(score, which) for score, which in permitted if reported.matches(score, judged.values)]
    is_best = reported.matches(judged.best, judged.values)
    if matching:
        score, which = max(matching)
        if not is_best or score >= judged.best or any(reported.equals(score, judged.values) for score, _ in matching):
            return "permitted", ""
        coarse = f"the reported {reported.text} has" if reported.is_coarse(judged.values) else "the log has"
        best = f"the best ({judged.best:g}, {judged.at})"
        return "doubtful", f"{coarse} too few decimals to distinguish {best} from {which} ({score:g})"
    if judged.ends_missing and reported.matches(last, judged.values):
        return (
            "doubtful",
            f"the last evaluation has no finite score, and the reported {reported.text} is an earlier one",
        )
    if is_best:
        return "best", f"the reported {reported.text} is the best, so the {log.step} was chosen on the test set"
    return "other", f"the reported {reported.text} is not the last, and the log does not show how it was chosen"


def _unknown(log: Log, judged: _Judged) -> str:
    """Return the verdict if the reported score is not known."""
    if judged.ends_missing:
        return "the last evaluation has no finite score, so an earlier one may be reported"
    if any(series.role == "best" for series in log.series):
        return "the log tracks the best one, and it is not known whether that one is reported"
    return "it is not known which of them is reported"


def _judged(log: Log) -> list[_Judged]:
    """Return the test scores of a log with their best values, and best scores that it tracks without the others."""
    bests = [series for series in log.series if series.role == "best" and len(series.values)]
    tests = [series for series in log.series if series.role == "test" and len(series.values)]
    by_words = defaultdict(list)
    for one in bests:
        by_words[_words(one)].append(one)
    judged, used = [], set()
    for series in tests:
        values, steps = series.values, series.steps
        best, at = float(values.max()), f"{log.step} {steps[values.argmax()]:.15g}"
        for tracked in bests if len(bests) == len(tests) == 1 else by_words[_words(series)]:
            used.add(tracked.name)
            if tracked.values.max() > best:
                best, at = float(tracked.values.max()), f"tracked as {tracked.name}"
        judged.append(_Judged(series.name, log.step, steps, values, best, at, series))
    nothing = np.empty(0)
    alone = [series for series in bests if series.name not in used]
    return judged + [_Judged(one.name, log.step, nothing, nothing, float(one.values.max()), "", one) for one in alone]


def _words(series: Series) -> tuple[str, ...]:
    """Return the words that the name of a score shares with that of its tracked best value."""
    words = re.split(r"[\W_]+", series.name.lower())
    return tuple(word for word in words if word not in ("best", "max", "test"))


def _validated(log: Log, judged: _Judged) -> list[int]:
    """Return the evaluations at the steps with the best validation scores."""
    places: list[int] = []
    for series in log.series:
        belongs = series.owner in ("", judged.series.owner) and series.run == judged.series.run
        if series.role == "validation" and len(series.values) and belongs:
            places += np.flatnonzero(judged.steps == series.steps[series.values.argmax()]).tolist()
    return places


def _text(score: float) -> str:
    return f"{round(score, 4):g}"


def about_log(log: Log, reported: Reported | None) -> list[str]:
    """Return sentences about the content of a log, and the checks that were not possible."""
    tests = [series for series in log.series if series.role == "test"]
    tests = tests or [series for series in log.series if series.role == "best"]
    described = [_described(log, series) for series in tests[:_NAMED]]
    described += [f"and {len(tests) - _NAMED:,} other scores"] if len(tests) > _NAMED else []
    sentences = (
        [f"Training log; test scores: {'; '.join(described)}"] if described else ["Training log without test scores"]
    )
    validation = [series.name for series in log.series if series.role == "validation"]
    if validation:
        sentences.append(f"Assumed to be validation scores, by their names: {', '.join(validation[:_NAMED])}")
    missing = []
    if not any(len(series.values) for series in tests):
        missing.append("selection-on-test (needs a column of test scores: FILE:COLUMN)")
    elif reported is None and any(len(series.values) > 1 for series in tests):
        missing.append("which evaluation is reported (needs the reported score)")
    elif reported is not None and not any(_has(reported, series) for series in log.series):
        missing.append(f"the origin of the reported {reported.text}, which is not in this log")
    return [*sentences, f"Not checked: {'; '.join(missing)}"] if missing else sentences


def _has(reported: Reported, series: Series) -> bool:
    """Return whether a test score, or its best value, may be the reported one."""
    is_test = series.role in ("test", "best") and len(series.values) > 0
    return is_test and reported.matches(series.values, series.values)


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
        got = type(files).__name__ if several else "none"
        raise ProtocolError(f"training_log: expected a file, or a list of files, got {got}.")
    return {str(file): read_log(*file_and_column(file)) for file in several}


def file_and_column(file: Any) -> tuple[Path, str | None]:
    """Return the path and the column in ``F:column``; an existing file with this complete name takes precedence."""
    path, mark, column = str(file).rpartition(":")
    try:
        is_path = not mark or not path or not column or Path(file).exists()
    except (OSError, ValueError) as error:  # too long, or a null character
        raise ProtocolError(f"training_log: expected the path of a file, got {str(file)[:80]!r} ({error}).") from error
    return (Path(file), None) if is_path else (Path(path), column)
