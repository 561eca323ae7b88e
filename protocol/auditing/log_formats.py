"""Read series of scores from training logs: tables, JSON, TensorBoard's export and printed text."""

import csv
import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs.text import lines

_EXPECTED = "a training log"
_DOCUMENT = 256 << 20  # maximum bytes of a JSON document; JSON lines and tables are read line by line
_NAMED = 10  # maximum number of columns in a message
_LONGEST = 4096  # characters; longer lines of printed text are not searched for scores


@dataclass(frozen=True, eq=False)
class Series:
    """The values of one score during training.

    Parameters
    ----------
    name : str
        The column, or the name of a printed score, with its owner and run.
    role : {"test", "validation", "best"}
        The data on which it was measured; ``"best"`` is the best test score so far, which the log itself tracks.
    steps, values : ndarray of float64, shape (n,)
        The epoch (or step) and the score of each evaluation, ordered by step, without those that are not finite.
    n_missing : int
        Number of evaluations without a finite score.
    ends_missing : bool
        Whether the last evaluation has no finite score.
    owner : str
        The method, code length, dataset and seed that the log gives with the score; empty if there are none.
    run : int
        Number of the run in the log, from 1; a log has several runs if it was appended to.
    """

    name: str
    role: str
    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    n_missing: int = 0
    ends_missing: bool = False
    owner: str = ""
    run: int = 1


@dataclass
class Log:
    """The series of one log.

    Parameters
    ----------
    series : list of Series
    step : str
        The unit of the steps: ``"epoch"``, ``"step"``, or ``"row"`` if the log has neither.
    """

    series: list[Series]
    step: str = "epoch"


# Roles of columns

_STEPS = ("epoch", "epochs", "step", "global_step", "iteration", "iter")
_SPLITS = r"test|val|valid|validate|validation|dev|train|training|best"
_PREFIX = re.compile(rf"^(?:{_SPLITS})(?=.)")
_SCORE = re.compile(
    r"(?:[pr]@\w+|m?ap|ndcg|auprc|auc|precision|recall|acc|accuracy|f1|score|value|hit|hits|top\d+)(?:@?\d+)?(?:@\w+)?"
)
_VALIDATION = {"val", "valid", "validate", "validation", "dev"}
_NO_SCORE = {"loss", "error", "err", "lr", "time", "train", "training"}
_EXTREME = re.compile(r"__(?:min|max)$", re.IGNORECASE)  # wandb exports these next to each column, for groups of runs
_OWNERS = {
    "method": "{}",
    "bit": "{} bits",
    "bits": "{} bits",
    "n_bits": "{} bits",
    "dataset": "{}",
    "seed": "seed {}",
    "run": "run {}",
}
"""Columns that identify the owner of a score, and the format of their values."""


def role_of(name: str) -> str | None:
    """Return the role of a column, by its name; None for training scores and for columns that are not scores.

    A name without a partition, such as ``map``, is assumed to be a test score, as in the toolkits of the field.

    Examples
    --------
    >>> [role_of(name) for name in ("mAP", "test_map@5000", "val/mAP", "Best MAP", "train_map", "loss")]
    ['test', 'test', 'validation', 'best', None, None]
    """
    found = _words(name)
    if found & _NO_SCORE or _EXTREME.search(name) or not any(map(_SCORE.fullmatch, found)):
        return None
    if found & _VALIDATION:
        return None if "best" in found or "max" in found else "validation"
    return "best" if "best" in found or "max" in found else "test"


def _words(name: str) -> set[str]:
    """Return the words in a name; those in ``testmap`` are ``testmap``, ``test`` and ``map``."""
    words = {word for word in re.split(r"[^a-z0-9@]+", name.lower()) if word}
    for word in list(words):
        prefix = _PREFIX.match(word)
        if prefix and (_SCORE.fullmatch(word, prefix.end()) or word[prefix.end() :] in _NO_SCORE):
            words |= {prefix[0], word[prefix.end() :]}
    return words


def _owner(stated: Iterable[tuple[str, Any]]) -> str:
    """Return the owner of a score, from names in `_OWNERS` and their values."""
    return ", ".join(_OWNERS[name].format(" ".join(str(value).split())[:60]) for name, value in stated)


# Reading


def read_log(file: str | Path, column: str | None = None) -> Log:
    """Read the scores of a training log.

    Parameters
    ----------
    file : path
        ``.csv`` or ``.tsv`` with a header, such as TensorBoard's export ``Wall time,Step,Value``; ``.json`` with a list
        of records, with lists by name, or with one record per line (also ``.jsonl``); any other file is printed text,
        with an epoch and scores such as ``MAP:0.782, Best MAP: 0.797`` on one line, as in DeepHash-pytorch, or with the
        scores on a line after that of the epoch. All may be compressed as ``.gz``.
    column : str or None
        The column of the test scores, where higher values are better; not for printed text.

    Raises
    ------
    ProtocolError
        If the file can't be read, has no column of scores or lacks the given one, a score is not a number, or none is
        finite.
    """
    log = _read(file, column)
    if not any(len(series.values) for series in log.series):
        names = ", ".join(dict.fromkeys(series.name for series in log.series[:_NAMED]))
        got = f"none in {names}" if names else "no evaluation"
        raise ProtocolError(f"{file}: expected at least one finite score, got {got}.")
    return log


def _read(file: str | Path, column: str | None) -> Log:
    """Return a log, possibly without scores. Parameters and errors are those of `read_log`."""
    path = Path(file)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".csv", ".tsv"):
        return _collected(_table_rows(path, "\t" if kind == ".tsv" else ","), path, column)
    if kind in (".json", ".jsonl", ".ndjson"):
        return _collected(_json_rows(path), path, column)
    if column is not None:
        raise ProtocolError(f"{path}: expected a table or JSON with the column {column!r}, got printed text.")
    return _printed(path)


def _table_rows(path: Path, delimiter: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location of each row, and its fields by column."""
    reader = csv.reader(lines(path, _EXPECTED), delimiter=delimiter)
    header: list[str] | None = None
    try:
        for fields in reader:
            if not any(map(str.strip, fields)):
                continue
            if header is None:
                header = _renamed([name.strip() for name in fields], path)
                continue
            if len(fields) > len(header):
                raise ProtocolError(
                    f"{path}: line {reader.line_num}: expected {len(header)} fields, got {len(fields)}."
                )
            yield f"line {reader.line_num}", dict(zip(header, fields, strict=False))
    except csv.Error as error:
        raise ProtocolError(f"{path}: expected {_EXPECTED}, got a file that can't be read ({error}).") from error
    if header is None:
        raise ProtocolError(f"{path}: expected a header and rows of scores, got an empty file.")
    yield "header", dict.fromkeys(header)


def _renamed(header: list[str], path: Path) -> list[str]:
    """Return a header; in TensorBoard's export, the value is named by the tag at the end of the file name."""
    if len(set(header)) < len(header):
        repeated = next(name for name in header if header.count(name) > 1)
        raise ProtocolError(f"{path}: expected distinct columns, got {repeated!r} more than once.")
    if [name.lower() for name in header] != ["wall time", "step", "value"]:
        return header
    tag = re.search(r"tag-(.+?)\.csv", path.name, re.IGNORECASE)
    return ["wall time", "step", tag[1] if tag else "value"]


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location of each record, and the record: from a list, lists by name, or one record per line."""
    all_lines = iter(lines(path, _EXPECTED))
    first = next((line for line in all_lines if line.strip()), None)
    if first is None:
        raise ProtocolError(f"{path}: expected {_EXPECTED}, got an empty file.")
    record = _parsed(first)
    if isinstance(record, dict) and not any(isinstance(value, list) for value in record.values()):
        yield "record 1", record
        for number, line in enumerate((line for line in all_lines if line.strip()), start=2):
            yield f"record {number}", _record(_parsed(line), f"{path}: record {number}")
        return
    parts, n_bytes = [first], len(first)
    for line in all_lines:
        parts.append(line)
        n_bytes += len(line)
        if n_bytes > _DOCUMENT:
            raise ProtocolError(
                f"{path}: expected JSON of at most {_DOCUMENT >> 20} MiB, or one record per line, got more."
            )
    document = _parsed("".join(parts))
    if isinstance(document, list):
        for number, entry in enumerate(document, start=1):
            yield f"record {number}", _record(entry, f"{path}: record {number}")
    elif isinstance(document, dict):
        yield from _from_lists(document, path)
    else:
        got = "text that is not JSON" if document is None else type(document).__name__
        raise ProtocolError(f"{path}: expected a list of records, lists by name, or one record per line, got {got}.")


def _from_lists(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield records from lists by name; values that are not lists do not belong to an evaluation."""
    columns = {name: values for name, values in document.items() if isinstance(values, list)}
    if not columns:
        yield "record 1", document
        return
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} in {name}" for name, length in list(lengths.items())[:_NAMED])
        raise ProtocolError(f"{path}: expected lists of the same length, got {got}.")
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        yield f"record {number}", dict(zip(columns, values, strict=True))
    yield "record 0", dict.fromkeys(columns)


def _parsed(text: str) -> Any:
    """Return the value of a JSON text; None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _record(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        got = "text that is not JSON" if value is None else type(value).__name__
        raise ProtocolError(f"{where}: expected names and values, got {got}.")
    return value


def _collected(rows: Iterable[tuple[str, Mapping[str, Any]]], path: Path, column: str | None) -> Log:
    """Return the series of the columns with scores."""
    collector = _Collector()
    roles: dict[str, str | None] = {}
    scored: list[tuple[str, str]] = []
    owners: list[tuple[str, str]] = []
    step: str | None = None
    number, at = 0, 0.0
    for where, row in rows:
        if not row.keys() <= roles.keys():
            roles |= {name: _role(name, column) for name in row if name not in roles}
            scored = [(name, role) for name, role in roles.items() if role]
            owners = [(key, name) for key in _OWNERS for name in roles if name.lower() == key and name != column]
            step = min((name for name in roles if name.lower() in _STEPS), key=_rank, default=None)
        scores = [
            (name, role, _number(row[name], path, where, name)) for name, role in scored if not _empty(row.get(name))
        ]
        if not scores:
            continue
        number += 1
        if step is None:
            at = float(number)
        elif not _empty(row.get(step)):  # otherwise, the step of the previous row remains
            stated = _number(row[step], path, where, step)
            at = stated if math.isfinite(stated) else at
        collector.add(_owner((key, row[name]) for key, name in owners if not _empty(row.get(name))), at, scores)
    _check_columns(roles, path, column)
    return Log(collector.series(), "row" if step is None else "epoch" if step.lower().startswith("epoch") else "step")


def _rank(step: str) -> int:
    """Return the priority of a column as the column of steps."""
    return _STEPS.index(step.lower())


def _role(name: str, column: str | None) -> str | None:
    """Return the role of a column, given the column of test scores if the user named one."""
    if column is None:
        return role_of(name)
    if name == column:
        return "test"
    role = role_of(name)
    return role if role == "validation" else None


def _check_columns(roles: Mapping[str, str | None], path: Path, column: str | None) -> None:
    """Raise ProtocolError if no column contains scores, or the named one does not."""
    names = ", ".join(list(roles)[:_NAMED]) + (", ..." if len(roles) > _NAMED else "") or "none"
    if column is not None and column not in roles:
        raise ProtocolError(f"{path}: expected a column {column!r}, got {names}.")
    if column is not None and _words(column) & _NO_SCORE:
        raise ProtocolError(f"{path}: expected a column of test scores for which higher is better, got {column!r}.")
    if not any(roles.values()):
        raise ProtocolError(
            f"{path}: expected a column of scores such as test_map or map, got {names}. "
            f"Name the column: {path.name}:COLUMN."
        )


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: Any, path: Path, where: str, name: str) -> float:
    """Return a number from a table or from JSON; it may be NaN."""
    try:
        if isinstance(value, (bool, dict, list)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError(f"{path}: {where}: {name}: expected a number, got {str(value)[:40]!r}.") from None


class _Collector:
    """Collects scores in series, one for each name, owner and run of a log that was appended to."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str, str, int], _Evaluations] = {}
        self._runs: dict[str, int] = {}

    def add(self, owner: str, step: float, scores: Sequence[tuple[str, str, float]]) -> None:
        """Append the evaluations of one step: the name, role and value of each score.

        The order of evaluations is arbitrary, so a new run starts only when a score returns to an earlier step.
        """
        run = self._runs.setdefault(owner, 1)
        present = (self._series.get((name, role, owner, run)) for name, role, _ in scores)
        if any(one is not None and one.returns_to(step) for one in present):
            run = self._runs[owner] = run + 1
        for name, role, value in scores:
            key = (name, role, owner, run)
            if key not in self._series:
                self._series[key] = _Evaluations()
            self._series[key].append(step, value)

    def series(self) -> list[Series]:
        """Return the series in the order of their first evaluations."""
        return [one.series(*key) for key, one in self._series.items()]


class _Evaluations:
    """The steps and values of a series in the order of the log, including values that are not finite."""

    def __init__(self) -> None:
        self.steps, self.values = array("d"), array("d")
        self._largest = -math.inf
        self._seen: set[float] | None = None  # all steps; None while they are ascending

    def returns_to(self, step: float) -> bool:
        """Return whether a step occurred before, other than in the previous evaluation."""
        if step > self._largest or step == self.steps[-1]:
            return False
        if self._seen is None:
            self._seen = set(self.steps)
        return step in self._seen

    def append(self, step: float, value: float) -> None:
        """Append one evaluation."""
        self.steps.append(step)
        self.values.append(value)
        self._largest = max(self._largest, step)
        if self._seen is not None:
            self._seen.add(step)

    def series(self, name: str, role: str, owner: str, run: int) -> Series:
        """Return the evaluations ordered by step."""
        steps, values = np.array(self.steps), np.array(self.values)
        order = np.argsort(steps, kind="stable")
        finite = np.isfinite(values[order])
        selected = order[finite]
        title = name + (f" ({owner})" if owner else "") + (f", run {run} of the log" if run > 1 else "")
        missing = len(values) - len(selected)
        return Series(title, role, steps[selected], values[selected], missing, not finite[-1], owner, run)


# Printed text

_STEP = re.compile(r"\b(epoch|iter|iteration|step)\b[\s:=|#(\[]*(\d{1,15})\b", re.IGNORECASE)
_PRINTED = re.compile(
    rf"(?<![\w@'\"-])((?:(?:{_SPLITS})[ _-]*){{0,2}}(?:[a-z]{{1,8}}-)?m?ap(?:@\w{{1,12}})?)"
    r"(?:\s*[:=]\s*|\s+(?=[-+]?\d*\.\d|nan\b))([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan)",
    re.IGNORECASE,
)
_METHOD = re.compile(r"\[([a-z][^\[\]]{0,59})\]\s*-?\s*$", re.IGNORECASE)
_CLOCK = re.compile(r"\d:\d\d")
_OPTION = re.compile(r"\b(bits?|dataset)\s*:\s*([^\s,|]{1,60})", re.IGNORECASE)


def _printed(path: Path) -> Log:
    """Return the series of printed epochs and scores, each with the method, code length and dataset on its line.

    A score on a line without an epoch belongs to the epoch of an earlier line, unless the log prints both on one line:
    at the end of such a log, a score without an epoch belongs to a stored model.
    """
    collector, unit, n_lines = _Collector(), "epoch", 0
    step: float | None = None
    stated: dict[str, str] = {}
    printed_at_step: set[str] = set()  # names of the scores at the current step
    on_one_line: bool | None = None
    for line in lines(path, _EXPECTED):
        n_lines += bool(line.strip())
        if len(line) > _LONGEST:
            continue
        match = _STEP.search(line)
        if match is None and (step is None or on_one_line):
            continue
        rest = line
        if match is not None:
            unit = "epoch" if match[1].lower() == "epoch" else "step"
            rest = line[match.end() :]
            before = (step, stated)
            step, stated = float(match[2]), _stated(line[: match.start()], rest)
            if (step, stated) != before:
                printed_at_step = set()
        scores = [(name.strip(), role_of(name), value) for name, value in _PRINTED.findall(rest)]
        known = [(name, role, float(value)) for name, role, value in scores if role]
        if match is None:  # integers are options, such as the interval between evaluations
            is_score = {name for name, _, value in scores if not value.isdecimal()} - printed_at_step
            known = [score for score in known if score[0] in is_score]
        if not known or step is None:
            continue
        if on_one_line is None:
            on_one_line = match is not None
        printed_at_step |= {name for name, _, _ in known}
        collector.add(_owner((stated if match else stated | _stated("", rest)).items()), step, known)
    series = collector.series()
    if not series:
        got = f"{counted(n_lines, 'line')} without them" if n_lines else "an empty file"
        raise ProtocolError(
            f"{path}: expected lines with an epoch and a score, such as `epoch:10, MAP:0.782`, got {got}."
        )
    return Log(series, unit)


def _stated(before: str, after: str) -> dict[str, str]:
    """Return the owner of the scores on a line, by the names in `_OWNERS`, from the text before and after its epoch."""
    options = {name.lower().rstrip("s"): value for name, value in _OPTION.findall(after)}
    method = _METHOD.search(before)
    if method and not _CLOCK.search(method[1]):
        options["method"] = method[1]
    return {name: options[name] for name in _OWNERS if name in options}
