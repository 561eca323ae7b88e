"""Training logs: whether the score that is reported is the best of several evaluations on the test set."""

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
from protocol.auditing.inputs import is_file
from protocol.auditing.log_formats import Log, Series, read_log
from protocol.checks import ProtocolError, counted

_PERCENT = 100.0
_DECIMALS = 6  # at the most, to which scores of a log are compared
_NAMED = 3  # scores in a sentence


class Reported:
    """The score that a paper reports, with the decimals that it has.

    Parameters
    ----------
    value : float, int or str
        As text it keeps its decimals: ``"0.800"`` is 0.7995 to 0.8005.

    Raises
    ------
    ProtocolError
        If it is no finite number.
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
        """Return whether the reported score may stand for one or any of a log: equal to as many decimals as both have.

        A report in percent is compared with fractions, and the other way round.

        Parameters
        ----------
        score : float or ndarray of float64
        values : ndarray of float64, shape (n,)
            All scores of its kind in the log: they show how many decimals it has, and whether they are fractions.
        """
        half = 0.5 * max(10.0**-self.decimals, self._scale(values) * 10.0 ** -_decimals(values))
        return bool(np.any(self._distance(score, values) <= half * (1 + 1e-9)))

    def equals(self, score: float, values: NDArray[np.float64]) -> bool:
        """Return whether the reported score is one of a log in all its decimals. Parameters as of `matches`."""
        return bool(self._distance(score, values) <= 1e-9 * max(1, abs(self.value)))

    def is_coarse(self, values: NDArray[np.float64]) -> bool:
        """Return whether the reported score has no more decimals than the scores of a log."""
        return 10.0**-self.decimals >= self._scale(values) * 10.0 ** -_decimals(values) * (1 - 1e-9)

    def _distance(self, score: float | NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(np.asarray(score) * self._scale(values) - self.value)

    def _scale(self, values: NDArray[np.float64]) -> float:
        """Return the factor from the scores of a log to the reported one: percent or fractions."""
        largest = float(np.abs(values).max())
        if largest <= 1 < abs(self.value):
            return _PERCENT
        return 1 / _PERCENT if abs(self.value) <= 1 < largest else 1.0


def _decimals(values: NDArray[np.float64]) -> int:
    """Return how many decimals the scores of a log have."""
    return next((n for n in range(_DECIMALS) if np.allclose(np.round(values, n), values, rtol=0, atol=1e-9)), _DECIMALS)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A test score: its evaluations, and the best of them or of those that the log keeps the best of.

    Parameters
    ----------
    name, step : str
    steps, values : ndarray of float64, shape (n,)
        Empty where the log has the best only.
    best : float
    at : str
        Where the best is, for the reader.
    series : Series
        Where it is from.
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
        """The evaluations, the best, the last, and the gap between the two, in a clause."""
        if not len(self.values):
            return f"{self.name} is the best of several evaluations, {_text(self.best)}; the log does not have the last"
        n, last = len(self.values), float(self.values[-1])
        times = "once" if n == 1 else f"{n:,} times"
        end, gap = f"{self.step} {self.steps[-1]:.15g}", _text(self.best - last)
        which = "last with a finite score" if self.ends_missing else "last"
        return (
            f"{self.name} is evaluated on the test set {times} in this log: the best is {_text(self.best)} "
            f"({self.at}), the {which} {_text(last)} ({end}), a gap of {gap}"
        )

    def found(self, severity: str, verdict: str) -> list[Finding]:
        """Return a finding on this score."""
        return found("selection-on-test", severity, 1, [self.name], what=self.what, verdict=verdict)


def audit_training_log(log: Log, reported: Reported | None = None) -> list[Finding]:
    """Return a finding for each test score of which the best of several evaluations is, or may be, reported.

    Parameters
    ----------
    log : Log
    reported : Reported or None
        None: not known.

    Returns
    -------
    list of Finding
        An error where the reported score is the best and not the last. A warning where it can't be told: no score is
        given and the last is not the best or not finite, the given one is neither, it has too few decimals, or the log
        has the best only. Nothing for a single evaluation, where the reported score is the last one, or that of the
        step which is best on the validation set.
    """
    judged = _judged(log)
    if reported is None:
        return [finding for one in judged if _undecided(one) for finding in one.found("warning", _unknown(log, one))]
    compared = [(one, *_compared(one, log, reported)) for one in judged]
    kinds = {kind for _, kind, _ in compared}
    is_last = bool(kinds & {"honest", "doubtful"})  # of one of the scores, perhaps
    severities = {
        "doubtful": "warning",
        "best": "warning" if is_last else "error",
        **({} if is_last or "best" in kinds else {"other": "warning"}),
    }
    unless = ", unless it is the last of another score: name the column" if is_last else ""
    return [
        finding
        for one, kind, verdict in compared
        if kind in severities and one.has_choice
        for finding in one.found(severities[kind], verdict + (unless if kind == "best" else ""))
    ]


def _undecided(one: _Judged) -> bool:
    """Return whether it makes a difference which evaluation is reported."""
    return not len(one.values) or one.best > one.values[-1] or one.ends_missing


def _compared(one: _Judged, log: Log, reported: Reported) -> tuple[str, str]:
    """Return what the reported score is to a score of the log, and the verdict in a clause.

    It is ``"honest"`` if it is the last one, or of the step that is best on the validation set; ``"doubtful"`` if that
    can't be told; ``"best"``; or ``"other"``.
    """
    if not len(one.values):
        return "other", _unknown(log, one)
    last = float(one.values[-1])
    allowed = [
        (float(one.values[place]), f"the {log.step} chosen on the validation set") for place in _validated(log, one)
    ]
    allowed += [] if one.ends_missing else [(last, "the last")]
    honest = [(score, which) for score, which in allowed if reported.matches(score, one.values)]
    is_best = reported.matches(one.best, one.values)
    if honest:
        score, which = max(honest)
        if not is_best or score >= one.best or any(reported.equals(score, one.values) for score, _ in honest):
            return "honest", ""
        coarse = f"the reported {reported.text} has" if reported.is_coarse(one.values) else "the log has"
        return (
            "doubtful",
            f"{coarse} too few decimals to tell the best ({one.best:g}, {one.at}) from {which} ({score:g})",
        )
    if one.ends_missing and reported.matches(last, one.values):
        return (
            "doubtful",
            f"the last evaluation has no finite score, and the reported {reported.text} is an earlier one",
        )
    if is_best:
        return "best", f"the reported {reported.text} is the best, so the {log.step} was chosen on the test set"
    return "other", f"the reported {reported.text} is not the last, and the log does not show how it was chosen"


def _unknown(log: Log, one: _Judged) -> str:
    """Return what may be reported, where that is not known."""
    if one.ends_missing:
        return "the last evaluation has no finite score, so an earlier one may be reported"
    if any(series.role == "best" for series in log.series):
        return "the log keeps the best one, and whether that is reported is not known"
    return "which of them is reported is not known"


def _judged(log: Log) -> list[_Judged]:
    """Return the test scores of a log, each with the best that the log itself keeps of it; and what it keeps alone."""
    bests = [series for series in log.series if series.role == "best" and len(series.values)]
    tests = [series for series in log.series if series.role == "test" and len(series.values)]
    by_words = defaultdict(list)
    for one in bests:
        by_words[_words(one)].append(one)
    judged, used = [], set()
    for series in tests:
        values, steps = series.values, series.steps
        best, at = float(values.max()), f"{log.step} {steps[values.argmax()]:.15g}"
        for kept in bests if len(bests) == len(tests) == 1 else by_words[_words(series)]:
            used.add(kept.name)
            if kept.values.max() > best:
                best, at = float(kept.values.max()), f"kept as {kept.name}"
        judged.append(_Judged(series.name, log.step, steps, values, best, at, series))
    nothing = np.empty(0)
    alone = [series for series in bests if series.name not in used]
    return judged + [_Judged(one.name, log.step, nothing, nothing, float(one.values.max()), "", one) for one in alone]


def _words(series: Series) -> tuple[str, ...]:
    """Return the words of a name that a score shares with the best that is kept of it."""
    words = re.split(r"[\W_]+", series.name.lower())
    return tuple(word for word in words if word not in ("best", "max", "test"))


def _validated(log: Log, judged: _Judged) -> list[int]:
    """Return the evaluations at the steps that are best on the validation set."""
    places: list[int] = []
    for one in log.series:
        is_its = one.owner in ("", judged.series.owner) and one.run == judged.series.run
        if one.role == "validation" and len(one.values) and is_its:
            places += np.flatnonzero(judged.steps == one.steps[one.values.argmax()]).tolist()
    return places


def _text(score: float) -> str:
    return f"{round(score, 4):g}"


def about_log(log: Log, reported: Reported | None) -> list[str]:
    """Return sentences about what a log holds, and what could not be checked."""
    tests = [series for series in log.series if series.role == "test"]
    tests = tests or [series for series in log.series if series.role == "best"]
    described = [_described(log, series) for series in tests[:_NAMED]]
    described += [f"and {len(tests) - _NAMED:,} other scores"] if len(tests) > _NAMED else []
    sentences = (
        [f"Training log; test scores: {'; '.join(described)}"] if described else ["Training log without test scores"]
    )
    validation = [series.name for series in log.series if series.role == "validation"]
    if validation:
        sentences.append(f"Taken as scores on a validation set, by their names: {', '.join(validation[:_NAMED])}")
    missing = []
    if not any(len(series.values) for series in tests):
        missing.append("selection-on-test (needs a column of test scores: FILE:COLUMN)")
    elif reported is None and any(len(series.values) > 1 for series in tests):
        missing.append("which evaluation is reported (needs the reported score)")
    elif reported is not None and not any(_has(reported, series) for series in log.series):
        missing.append(f"how the reported {reported.text} came about, as this log does not have it")
    return [*sentences, f"Not checked: {'; '.join(missing)}"] if missing else sentences


def _has(reported: Reported, series: Series) -> bool:
    """Return whether a test score, or the best of it, may be the reported one."""
    is_test = series.role in ("test", "best") and len(series.values) > 0
    return is_test and reported.matches(series.values, series.values)


def _described(log: Log, series: Series) -> str:
    n = len(series.values)
    text = f"{series.name}, {counted(n, 'evaluation')}"
    if n:
        text += f" ({log.step} {series.steps[0]:.15g}" + (f" to {series.steps[-1]:.15g})" if n > 1 else ")")
    return text + (f", {series.n_missing:,} without a finite score left out" if series.n_missing else "")


def read_logs(files: Any) -> dict[str, Log]:
    """Return the training logs of one or several files, each perhaps with the name of a column, ``F:column``.

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
    """Return the path and the column of ``F:column``; a file of that very name comes first."""
    path, mark, column = str(file).rpartition(":")
    try:
        whole = not mark or not path or not column or Path(file).exists()
    except (OSError, ValueError) as error:  # too long, or a null character
        raise ProtocolError(f"training_log: expected the path of a file, got {str(file)[:80]!r} ({error}).") from error
    return (Path(file), None) if whole else (Path(path), column)
