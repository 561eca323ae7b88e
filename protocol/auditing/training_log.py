"""Training logs: whether the score that is reported is the best of several evaluations on the test set."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.auditing.inputs import is_file
from protocol.auditing.log_formats import RUN, Log, Series, read_log
from protocol.checks import ProtocolError

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
        largest, scale = float(np.abs(values).max()), 1.0
        if largest <= 1 < abs(self.value):
            scale = _PERCENT
        elif abs(self.value) <= 1 < largest:
            scale = 1 / _PERCENT
        half = 0.5 * max(10.0**-self.decimals, scale * 10.0 ** -_decimals(values))
        return bool(np.any(np.abs(np.asarray(score) * scale - self.value) <= half * (1 + 1e-9)))


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
    """

    name: str
    step: str
    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    best: float
    at: str

    @property
    def has_choice(self) -> bool:
        """Whether more than one evaluation could be reported."""
        return len(self.values) != 1 or self.best > self.values[-1]

    @property
    def what(self) -> str:
        """The evaluations, the best, the last, and the gap between the two, in a clause."""
        if not len(self.values):
            return f"{self.name} is the best of several evaluations, {_text(self.best)}; the log does not have the last"
        n, last = len(self.values), float(self.values[-1])
        times = "once" if n == 1 else f"{n:,} times"
        end, gap = f"{self.step} {self.steps[-1]:.15g}", _text(self.best - last)
        return (
            f"{self.name} is evaluated on the test set {times} in this log: the best is {_text(self.best)} "
            f"({self.at}), the last {_text(last)} ({end}), a gap of {gap}"
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
        given and the last is not the best, or the given one is neither, or the log has the best only. Nothing for a
        single evaluation, where the reported score is the last one, or that of the step which is best on the validation
        set.
    """
    judged = _judged(log)
    if reported is None:
        return [finding for one in judged if _undecided(one) for finding in one.found("warning", _unknown(log))]
    honest = [one for one in judged if _is_honest(one, log, reported)]
    best = [one for one in judged if one not in honest and len(one.values) and reported.matches(one.best, one.values)]
    verdict = f"the reported {reported.text} is the best, so the {log.step} was chosen on the test set"
    if honest:
        verdict += ", unless it is the last of another score: name the column"
    if best:
        return [finding for one in best for finding in one.found("warning" if honest else "error", verdict)]
    verdict = f"the reported {reported.text} is not the last, and the log does not show how it was chosen"
    others = [] if honest else [one for one in judged if one.has_choice]
    return [
        finding for one in others for finding in one.found("warning", verdict if len(one.values) else _unknown(log))
    ]


def _undecided(one: _Judged) -> bool:
    """Return whether it makes a difference which evaluation is reported."""
    return not len(one.values) or one.best > one.values[-1]


def _is_honest(one: _Judged, log: Log, reported: Reported) -> bool:
    """Return whether the reported score is the last one, or of the step that is best on the validation set."""
    places = [*_chosen_by_validation(log, one), len(one.values) - 1] if len(one.values) else []
    return any(reported.matches(float(one.values[place]), one.values) for place in places)


def _unknown(log: Log) -> str:
    """Return what may be reported, where that is not known."""
    if any(series.role == "best" for series in log.series):
        return "the log keeps the best one, and whether that is reported is not known"
    return "which of them is reported is not known"


def _judged(log: Log) -> list[_Judged]:
    """Return the test scores of a log, each with the best that the log itself keeps of it; and what it keeps alone."""
    bests = [series for series in log.series if series.role == "best" and series.values]
    tests = [series for series in log.series if series.role == "test" and series.values]
    judged, used = [], []
    for series in tests:
        values, steps = np.asarray(series.values), np.asarray(series.steps)
        best, at = float(values.max()), f"{log.step} {steps[values.argmax()]:.15g}"
        for kept in (one for one in bests if _belong(one, series) or len(bests) == len(tests) == 1):
            used.append(kept.name)
            if max(kept.values) > best:
                best, at = max(kept.values), f"kept as {kept.name}"
        judged.append(_Judged(series.name, log.step, steps, values, best, at))
    nothing = np.empty(0)
    alone = [series for series in bests if series.name not in used]
    return judged + [_Judged(one.name, log.step, nothing, nothing, max(one.values), "") for one in alone]


def _belong(kept: Series, series: Series) -> bool:
    """Return whether one series is the best of the other, by their names."""
    own, other = (
        [word for word in re.split(r"[\W_]+", one.name.lower()) if word not in ("best", "max", "test")]
        for one in (kept, series)
    )
    return own == other


def _chosen_by_validation(log: Log, judged: _Judged) -> list[int]:
    """Return the evaluations at the steps that are best on the validation set."""
    places: list[int] = []
    for one in log.series:
        if one.role == "validation" and one.values and _run_of(one.name) == _run_of(judged.name):
            best = one.steps[int(np.argmax(np.asarray(one.values)))]
            places += np.flatnonzero(judged.steps == best).tolist()
    return places


def _run_of(name: str) -> str:
    """Return which run of a log that was appended to a series belongs to."""
    return name.rpartition(RUN)[2] if RUN in name else ""


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
    values = np.asarray(series.values)
    return series.role in ("test", "best") and len(values) > 0 and reported.matches(values, values)


def _described(log: Log, series: Series) -> str:
    n = len(series.values)
    text = f"{series.name}, {n:,} evaluation{'' if n == 1 else 's'}"
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
