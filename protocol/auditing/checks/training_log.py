r"""Check training logs: whether the reported value is the best of several evaluations on the test set.

A log is a table (``.csv``), JSON lines (``.json``, ``.jsonl``), or any text with one regular expression. Its named
groups are ``value`` (the test score) and optionally ``bits`` and ``epoch``. The columns of tables have the same names;
the test scores may also be in the column ``map`` or ``test_map``, and the epochs in ``step``. The evaluations are in
the order of their lines, and an epoch that is lower than the previous one begins another run.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from protocol.auditing.findings import NOT_CHECKED, Finding, findings_of
from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import is_file
from protocol.inputs.text import lines

_GROUPS = ("value", "bits", "epoch")
_VALUES = ("map", "test_map", "value")
EXAMPLE = r"--pattern 'epoch:(?P<epoch>\d+), bit:(?P<bits>\d+).*mAP:(?P<value>[\d.]+)'"
CERTAIN = 10
"""The number of evaluations from which scores that never decrease, and repeat exactly, are no coincidence."""
_JSON_LINES = (".json", ".jsonl")
_Row = tuple[str, Mapping[str, str]]
"""The location of an evaluation, and its texts by the names in `_GROUPS`."""


@dataclass
class History:
    """The evaluations of one code length in one run of a log.

    Parameters
    ----------
    name : str
        The code length, if the log has it, and the number of the run, if it is not the first.
    values : list of float
        The test scores, in the order of the log; NaN for those that are not finite.
    epochs : list of str
        The epoch of each, "" if the log has none.
    decimals : int
        The largest number of decimals of a score.
    """

    name: str
    values: list[float] = field(default_factory=list)
    epochs: list[str] = field(default_factory=list)
    decimals: int = 0

    @property
    def best(self) -> float:
        """The best score."""
        return float(np.nanmax(self.values))

    def matches(self, reported: str, score: float) -> bool:
        """Return whether a reported score may be one of this history: equal to as many decimals as both have.

        Percentages are compared with fractions, and vice versa.
        """
        value = float(reported)
        is_fraction = np.nanmax(np.abs(self.values)) <= 1
        scale = 100.0 if is_fraction and abs(value) > 1 else 0.01 if not is_fraction and abs(value) <= 1 else 1.0
        unit = max(10.0 ** -_decimals(reported), scale * 10.0**-self.decimals)
        return abs(score * scale - value) <= 0.5 * unit * (1 + 1e-9)

    def finding(self, reported: str, *, running_best: str, is_elsewhere: bool) -> list[Finding]:
        """Return a finding if the reported score is, or may be, the best of several.

        Parameters
        ----------
        reported : str
            The reported score, "" if it is not known.
        running_best : str
            The severity if the log has the best score so far instead of each score; otherwise "".
        is_elsewhere : bool
            Whether the reported score is the last score of a history of this log, which is no selection.
        """
        n, last, best = len(self.values), self.values[-1], self.best
        is_best, is_last = (bool(reported) and self.matches(reported, score) for score in (best, last))
        where = f"At {self.name}, the" if self.name else "The"
        epoch = self.epochs[int(np.nanargmax(self.values))]
        at_best = f" (epoch {epoch})" if epoch else ""
        if running_best:
            if reported and not is_best:
                return []
            severity, what = running_best, f"reported value {reported or f'{best:.15g}'} is the best of {n:,} seen on "
            each = "is" if running_best == "error" else "may be"
            what += f"the test set: the scores in this log never decrease and repeat exactly, so each {each} the best"
            what += " so far"
        elif n == 1 or last == best or (reported and not is_best and (is_last or is_elsewhere)):
            return []
        elif is_best and not is_last:
            severity = "warning" if is_elsewhere else "error"
            what = f"reported value {reported} is the best of {n:,} seen on the test set{at_best}; the last is "
            what += f"{last:.15g}" + ", unless the last value of another code length or run is reported" * is_elsewhere
        else:
            why = f"{reported} has too few decimals to tell them apart" if is_best else ""
            why = why or (f"the reported value {reported} is neither of them" if reported else "")
            severity = "warning"
            what = f"best of {n:,} seen on the test set is {best:.15g}{at_best}, and the last is {last:.15g}: "
            what += why or "compare both with the reported value"
        items = [self.name or "test scores"]
        return findings_of("selection-on-test", severity, 1, items, what=f"{where} {what}")


def audit_training_log(histories: Sequence[History], reported: str = "") -> tuple[list[Finding], list[str]]:
    """Return a finding for each code length whose reported score is, or may be, the best, and sentences about the log.

    Parameters
    ----------
    histories : sequence of History
    reported : str
        The reported score as `reported_score` returns it; "" if it is not known.

    Returns
    -------
    findings : list of Finding
        An error if the reported score is the best and not the last one, or if the log has only the best so far. A
        warning if it is neither, has too few decimals to tell, or is not known and the last one is not the best; or
        if the log is too short to be certain that it has only the best so far.
    sentences : list of str
    """
    running_best = _running_best(histories)
    known = [one for one in histories if reported and any(one.matches(reported, score) for score in one.values)]
    chosen = known or histories  # others say nothing about this score
    elsewhere = bool(reported) and not running_best and any(one.matches(reported, one.values[-1]) for one in chosen)
    findings = [
        found for one in chosen for found in one.finding(reported, running_best=running_best, is_elsewhere=elsewhere)
    ]
    counts = [f"{counted(len(one.values), 'evaluation')}{one.name and f' at {one.name}'}" for one in histories]
    missing = sum(math.isnan(value) for one in histories for value in one.values)
    omitted = f", {missing:,} without a finite score" if missing else ""
    sentences = [f"Training log with {', '.join(counts)} on the test set{omitted}."]
    if reported and not known:
        sentences.append(f"{NOT_CHECKED}the origin of the reported {reported}, which is not in this log")
    elif not (running_best or reported) and any(len(one.values) > 1 for one in chosen):
        sentences.append(f"{NOT_CHECKED}which evaluation is reported (needs the reported score)")
    return findings, sentences


def _running_best(histories: Sequence[History]) -> str:
    """Return the severity if a log has the best scores so far: they never decrease, and some are equal in three digits.

    It is an error with at least `CERTAIN` evaluations, a warning with fewer, and "" for other logs.
    """
    steps = np.concatenate([np.diff(one.values) for one in histories])
    digits = max(one.decimals + 2 * (np.nanmax(one.values) > 1) for one in histories)
    if not ((steps >= 0).all() and (steps == 0).any() and (steps > 0).any() and digits >= 3):
        return ""
    return "error" if len(steps) + len(histories) >= CERTAIN else "warning"


def reported_score(value: Any) -> str:
    """Return a reported score as text, whose decimals are its precision: ``"0.800"`` means 0.7995 to 0.8005.

    Raises
    ------
    ProtocolError
        If it is not a finite number.
    """
    text = str(value).strip()
    if not _is_finite(text):
        raise ProtocolError(f"reported: expected a finite number such as 0.797, got {text[:40]!r}.")
    return text


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _decimals(text: str) -> int:
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        return 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


# Reading


def read_logs(files: Any, pattern: str | None = None) -> dict[str, list[History]]:
    """Read training logs from one or several files: the evaluations of each code length and run, by file.

    Parameters
    ----------
    files : path or sequence of path
    pattern : str or None
        The regular expression that is searched for in each line, for files that are not tables.

    Raises
    ------
    ProtocolError
        If one can't be read, has no test score, or a score is not a number.
    """
    several = [files] if is_file(files) else files
    if not isinstance(several, Sequence) or not several or not all(map(is_file, several)):
        got = type(files).__name__ if several else "an empty list"
        raise ProtocolError(f"training_log: expected a file, or a list of files, got {got}.")
    return {str(file): _histories(_rows(file, pattern), str(file)) for file in several}


def _rows(file: Any, pattern: str | None) -> Iterator[_Row]:
    path = Path(file)
    if pattern is not None:
        return _matching_lines(path, _compiled(pattern))
    suffix = next((suffix for suffix in map(str.lower, path.suffixes[::-1]) if suffix != ".gz"), "")
    if suffix == ".csv":
        return _renamed(_table(path), path)
    if suffix in _JSON_LINES:
        return _renamed(_json_lines(path), path)
    raise ProtocolError(f"{path}: printed text needs a regular expression for its evaluations, such as {EXAMPLE}")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ProtocolError(f"pattern: {pattern!r} is not a regular expression ({error}).") from error
    names = set(expression.groupindex)
    if "value" not in names or not names <= set(_GROUPS):
        raise ProtocolError(
            f"pattern: {pattern!r} needs the named group (?P<value>...), and may have those named bits and epoch."
        )
    return expression


def _matching_lines(path: Path, expression: re.Pattern[str]) -> Iterator[_Row]:
    n_matching = 0
    for number, line in enumerate(lines(path, "a training log"), start=1):
        if match := expression.search(line):
            n_matching += 1
            yield f"line {number}", {name: text for name, text in match.groupdict().items() if text is not None}
    if not n_matching:
        raise ProtocolError(f"{path}: no line matches the pattern {expression.pattern!r}.")


def _table(path: Path) -> Iterator[_Row]:
    reader = csv.DictReader(lines(path, "a training log"), restkey="")
    try:
        for row in reader:
            if row.get(""):
                raise ProtocolError(f"{path}: line {reader.line_num}: more fields than the header has.")
            yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as a table ({error}).") from error


def _json_lines(path: Path) -> Iterator[_Row]:
    for number, line in enumerate(lines(path, "a training log"), start=1):
        if line.strip():
            try:
                row = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise ProtocolError(f'{path}: line {number}: expected a JSON object such as {{"map": 0.7}}.')
            yield f"line {number}", {name: str(text) for name, text in row.items() if text is not None}


def _renamed(rows: Iterator[_Row], path: Path) -> Iterator[_Row]:
    """Yield rows with the columns that are read, by the names in `_GROUPS`."""
    columns = dict[str, None]()
    for where, row in rows:
        texts = {str(name).lower(): (text or "").strip() for name, text in row.items()}
        columns |= dict.fromkeys(texts)
        texts["value"] = next(filter(None, map(texts.get, _VALUES)), "")
        texts.setdefault("epoch", texts.get("step", ""))
        yield where, {name: texts[name] for name in _GROUPS if texts.get(name)}
    if not set(_VALUES) & set(columns):
        known = ", ".join(columns)[:200] or "none"
        raise ProtocolError(f"{path}: no column named map, test_map or value; its columns: {known}.")


def _histories(rows: Iterator[_Row], file: str) -> list[History]:
    histories: dict[tuple[str, int], History] = {}
    runs: dict[str, tuple[int, float]] = {}  # by code length: the number of the run, and its last epoch
    for where, row in rows:
        if "value" not in row:
            continue
        bits, epoch = row.get("bits", ""), row.get("epoch", "")
        run, previous = runs.get(bits, (1, -math.inf))
        at = float(epoch) if _is_finite(epoch) else previous
        run += at < previous
        runs[bits] = (run, at)
        name = ", ".join([f"{bits} bits"] * bool(bits) + [f"run {run} of the log"] * (run > 1))
        history = histories.setdefault((bits, run), History(name))
        history.values.append(_number(row["value"], f"{file}: {where}"))
        history.epochs.append(epoch)
        history.decimals = max(history.decimals, _decimals(row["value"]))
    evaluated = [one for one in histories.values() if not np.isnan(one.values).all()]
    if not evaluated:
        raise ProtocolError(f"{file}: no evaluation with a finite score.")
    return evaluated


def _number(text: str, where: str) -> float:
    """Return a score; NaN if it is not finite."""
    try:
        value = float(text)
    except ValueError:
        raise ProtocolError(f"{where}: expected a number, got {text[:40]!r}.") from None
    return value if math.isfinite(value) else math.nan
