r"""Check training logs: whether the reported value is the best of several evaluations on the test set.

A log is a table (``.csv``), JSON lines (``.jsonl``, an object on each line), or any text with one regular expression.
Its named groups are ``value`` (the test score) and optionally ``bits`` and ``epoch``. The columns of tables and the
keys of objects have the same names; the test scores may also be named ``map`` or ``test_map``, and the epochs ``step``.
The evaluations are in the order of their lines. Code lengths and runs are judged separately; an epoch that is lower
than the previous one of the same code length begins another run.
"""

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import read_table
from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import is_file
from protocol.inputs.text import is_number, lines

_VALUES = ("map", "test_map", "value")
EXAMPLE = r"--pattern 'epoch:(?P<epoch>\d+), bit:(?P<bits>\d+).*mAP:(?P<value>[\d.]+)'"
CERTAIN = 10
"""The number of evaluations from which scores that never decrease, and repeat exactly, are no coincidence."""
_Row = tuple[int, Mapping[str, str]]
"""The number of a line, and its texts by the name of the column or group, in lower case."""


@dataclass
class History:
    """The evaluations of one code length in one run of a log.

    Parameters
    ----------
    bits : str
        The code length, "" if the log has none.
    run : int
        The number of the run, from 1.
    values : list of float
        The test scores, in the order of the log; NaN for those that are not finite.
    epochs : list of str
        The epoch of each, "" if the log has none.
    decimals : int
        The largest number of decimals of a score.
    """

    bits: str
    run: int = 1
    values: list[float] = field(default_factory=list)
    epochs: list[str] = field(default_factory=list)
    decimals: int = 0

    @property
    def name(self) -> str:
        """The code length, if the log has it, and the number of the run, if it is not the first: "48 bits in run 2"."""
        return " in ".join([f"{self.bits} bits"] * bool(self.bits) + [f"run {self.run}"] * (self.run > 1))

    @property
    def best(self) -> float:
        """The best score."""
        return float(np.nanmax(self.values))

    def matches(self, reported: str, *scores: float) -> bool:
        """Return whether a reported score may be one of some of this history: equal to as many decimals as both have.

        Percentages are compared with fractions, and vice versa. An unknown score, "", matches none.
        """
        if not reported:
            return False
        value, is_fraction = float(reported), np.nanmax(np.abs(self.values)) <= 1
        scale = 100.0 if is_fraction and abs(value) > 1 else 0.01 if not is_fraction and abs(value) <= 1 else 1.0
        unit = max(10.0 ** -_decimals(reported), scale * 10.0**-self.decimals)
        return any(abs(score * scale - value) <= 0.5 * unit * (1 + 1e-9) for score in scores)


def audit_training_log(histories: Sequence[History], reported: str = "") -> tuple[list[Finding], list[str], list[str]]:
    """Return a finding for each code length whose reported score is, or may be, the best, and what is said about it.

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
    about : list of str
        A sentence about the evaluations.
    not_checked : list of str
    """
    found = [one for one in histories if one.matches(reported, *one.values)]
    compared, severity = found or histories, _running_best(histories)
    is_a_last_score = any(one.matches(reported, one.values[-1]) for one in compared)  # which is no selection
    findings = list[Finding]()
    for one in compared:
        level, what = _verdict(one, reported, severity, is_a_last_score)
        findings += findings_of("selection-on-test", level, int(what != ""), [one.name or "test scores"], what=what)
    if reported and not found:
        return findings, _about(histories), [f"the origin of the reported {reported}, which is not in this log"]
    is_unknown = severity == reported == "" and max(len(one.values) for one in histories) > 1
    missing = ["which evaluation is reported (needs the reported score)"] * is_unknown
    return findings, _about(histories), missing


def _about(histories: Sequence[History]) -> list[str]:
    """Return a sentence about the evaluations of a log."""
    counts = [f"{counted(len(one.values), 'evaluation')}{one.name and f' at {one.name}'}" for one in histories]
    missing = int(np.isnan(np.concatenate([one.values for one in histories])).sum())
    omitted = f", {missing:,} without a finite score" * bool(missing)
    return [f"Training log with {', '.join(counts)} on the test set{omitted}."]


def _running_best(histories: Sequence[History]) -> str:
    """Return the severity if a log has the best scores so far: they never decrease, and some are equal in three digits.

    It is an error with at least `CERTAIN` evaluations, a warning with fewer, and "" for other logs.
    """
    steps = np.concatenate([np.diff(one.values) for one in histories])
    digits = max(one.decimals + 2 * (one.best > 1) for one in histories)
    if not ((steps >= 0).all() and (steps == 0).any() and (steps > 0).any() and digits >= 3):
        return ""
    return "error" if len(steps) + len(histories) >= CERTAIN else "warning"


def _verdict(one: History, reported: str, running_best: str, is_a_last_score: bool) -> tuple[str, str]:
    """Return the severity and what was found if the reported score may be the best of several; else an empty text.

    `running_best` is the result of `_running_best`, and `is_a_last_score` states whether the reported score is the last
    one of some history of the log.
    """
    last, best, epoch = one.values[-1], one.best, one.epochs[int(np.nanargmax(one.values))]
    is_other = reported != "" and not one.matches(reported, best)
    the, at_best = f"At {one.name}, the" if one.name else "The", f" (epoch {epoch})" * bool(epoch)
    seen = f"best of {len(one.values):,} seen on the test set"
    if running_best and not is_other:
        why = "the scores in this log never decrease and repeat exactly, as the best so far do"
        return running_best, f"{the} reported value {reported or f'{best:.15g}'} is the {seen}: {why}"
    if running_best or last == best or (is_other and is_a_last_score):
        return "", ""
    if reported and not (is_other or is_a_last_score):
        return "error", f"{the} reported value {reported} is the {seen}{at_best}; the last is {last:.15g}"
    compared = f"compare both with the reported value {reported}".rstrip()
    return "warning", f"{the} {seen} is {best:.15g}{at_best}, and the last is {last:.15g}: {compared}"


def reported_score(value: Any) -> str:
    """Return a reported score as text, whose decimals are its precision: ``"0.800"`` means 0.7995 to 0.8005.

    Raises
    ------
    ProtocolError
        If it is not a finite number.
    """
    text = str(value).strip()
    if not is_number(text) or not math.isfinite(float(text)):
        raise ProtocolError(f"reported: expected a finite number such as 0.797, got {text[:40]!r}.")
    return text


def _decimals(text: str) -> int:
    exponent = Decimal(text).as_tuple().exponent
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
    return {str(file): _histories(Path(file), _rows(Path(file), pattern)) for file in several}


def _rows(path: Path, pattern: str | None) -> Sequence[_Row]:
    """Return the rows of a table, or the groups of the lines that match a pattern."""
    name = path.name.lower().removesuffix(".gz")
    if pattern is None and name.endswith(".csv"):
        return read_table(path, "a training log")[1]
    numbered = list(enumerate(lines(path, "a training log"), start=1))
    if pattern is None:
        if not name.endswith(".jsonl"):
            raise ProtocolError(f"{path}: other text than .csv or .jsonl needs a regular expression, such as {EXAMPLE}")
        return [(number, _json_object(line, f"{path}, line {number}")) for number, line in numbered if line.strip()]
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ProtocolError(f"pattern: {pattern!r} is not a regular expression ({error}).") from error
    if not {"value"} <= expression.groupindex.keys() <= {"value", "bits", "epoch"}:
        groups = "the named group (?P<value>...), and may have those named bits and epoch"
        raise ProtocolError(f"pattern: {pattern!r} needs {groups}.")
    rows = [(number, match.groupdict("")) for number, line in numbered if (match := expression.search(line))]
    if not rows:
        raise ProtocolError(f"{path}: no line matches the pattern {pattern!r}.")
    return rows


def _json_object(line: str, name: str) -> dict[str, str]:
    """Return the texts of an object by their keys; numbers keep their decimals."""
    try:
        pairs = json.loads(line, parse_float=str, parse_int=str, object_pairs_hook=list)
        row = {key.lower(): "" if value is None else str(value) for key, value in pairs}
    except (ValueError, TypeError, AttributeError, RecursionError):
        pairs, row = [""], {}
    if len(row) < len(pairs):
        raise ProtocolError(f"{name}: expected a JSON object in which no key is repeated.")
    return row


def _histories(path: Path, rows: Sequence[_Row]) -> list[History]:
    histories: dict[tuple[str, int], History] = {}
    runs: dict[str, tuple[int, float]] = {}  # by code length: the number of the run, and its last epoch
    for line, row in rows:
        value = next(filter(None, map(row.get, _VALUES)), None)
        if value is None:
            continue
        if not is_number(value):
            raise ProtocolError(f"{path}, line {line}: expected a number, got {value[:40]!r}.")
        score, bits, epoch = float(value), row.get("bits", ""), row.get("epoch", row.get("step", ""))
        run, previous = runs.get(bits, (1, -math.inf))
        at = float(epoch) if is_number(epoch) else previous
        run += at < previous
        runs[bits] = run, at
        history = histories.setdefault((bits, run), History(bits, run))
        history.values.append(score if math.isfinite(score) else math.nan)
        history.epochs.append(epoch)
        history.decimals = max(history.decimals, _decimals(value))
    columns = dict.fromkeys(itertools.chain.from_iterable(row for _, row in rows))
    if not columns.keys() & _VALUES:
        listed = ", ".join(columns)[:200]
        raise ProtocolError(f"{path}: no column named map, test_map or value; its columns: {listed}.")
    evaluated = [one for one in histories.values() if not np.isnan(one.values).all()]
    if not evaluated:
        raise ProtocolError(f"{path}: no evaluation with a finite score.")
    return evaluated
