"""Read series of scores from training logs: tables, JSON, TensorBoard's export and printed text.

The csv module reads the tables: pandas was considered, but it is not installed with the package alone, and rows must be
read one by one to find the line of an error.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
    words = _words(name)
    if words & _NO_SCORE or _EXTREME.search(name) or not any(map(_SCORE.fullmatch, words)):
        return None
    is_best = bool(words & {"best", "max"})
    if words & _VALIDATION:
        return None if is_best else "validation"
    return "best" if is_best else "test"


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
    path = Path(file)
    suffix = next((suffix for suffix in map(str.lower, path.suffixes[::-1]) if suffix != ".gz"), "")
    if suffix in (".csv", ".tsv"):
        log = _collected(_table_rows(path, "\t" if suffix == ".tsv" else ","), path, column)
    elif suffix in (".json", ".jsonl", ".ndjson"):
        log = _collected(_json_rows(path), path, column)
    elif column is None:
        log = _printed(path)
    else:
        raise ProtocolError(f"{path}: expected a table or JSON with the column {column!r}, got printed text.")
    if not any(len(series.values) for series in log.series):
        names = ", ".join(dict.fromkeys(series.name for series in log.series[:_NAMED]))
        got = f"none in {names}" if names else "no evaluation"
        raise ProtocolError(f"{file}: expected at least one finite score, got {got}.")
    return log


_Row = tuple[str, Mapping[str, Any]]
"""The location of a row, and its fields by column."""


def _table_rows(path: Path, delimiter: str) -> Iterator[_Row]:
    """Yield the rows of a table, and at last one without values."""
    reader = csv.reader(lines(path, _EXPECTED), delimiter=delimiter)
    header: list[str] = []
    try:
        for fields in reader:
            if not any(map(str.strip, fields)):
                continue
            if not header:
                header = _header([name.strip() for name in fields], path)
            elif len(fields) > len(header):
                got = f"expected {len(header)} fields, got {len(fields)}"
                raise ProtocolError(f"{path}: line {reader.line_num}: {got}.")
            else:
                yield f"line {reader.line_num}", dict(zip(header, fields, strict=False))
    except csv.Error as error:
        raise ProtocolError(f"{path}: expected {_EXPECTED}, got a file that can't be read ({error}).") from error
    if not header:
        raise ProtocolError(f"{path}: expected a header and rows of scores, got an empty file.")
    yield "header", dict.fromkeys(header)


def _header(names: list[str], path: Path) -> list[str]:
    """Return a header; in TensorBoard's export, the value is named by the tag at the end of the file name."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ProtocolError(f"{path}: expected distinct columns, got {repeated!r} more than once.")
    if [name.lower() for name in names] != ["wall time", "step", "value"]:
        return names
    tag = re.search(r"tag-(.+?)\.csv", path.name, re.IGNORECASE)
    return ["wall time", "step", tag[1] if tag else "value"]


def _json_rows(path: Path) -> Iterator[_Row]:
    """Yield the records of a list, of lists by name, or of one record per line."""
    all_lines = lines(path, _EXPECTED)
    first = next((line for line in all_lines if line.strip()), None)
    if first is None:
        raise ProtocolError(f"{path}: expected {_EXPECTED}, got an empty file.")
    record = _parsed(first)
    if isinstance(record, dict) and not any(isinstance(value, list) for value in record.values()):
        yield "record 1", record
        yield from _records((_parsed(line) for line in all_lines if line.strip()), path, first=2)
        return
    parts, n_bytes = [first], len(first)
    for line in all_lines:
        parts.append(line)
        n_bytes += len(line)
        if n_bytes > _DOCUMENT:
            limit = f"at most {_DOCUMENT >> 20} MiB, or one record per line"
            raise ProtocolError(f"{path}: expected JSON of {limit}, got more.")
    document = _parsed("".join(parts))
    if isinstance(document, list):
        yield from _records(document, path)
    elif isinstance(document, dict):
        columns = {name: values for name, values in document.items() if isinstance(values, list)}
        if len({len(values) for values in columns.values()}) > 1:
            got = ", ".join(f"{len(values)} in {name}" for name, values in list(columns.items())[:_NAMED])
            raise ProtocolError(f"{path}: expected lists of the same length, got {got}.")
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        yield from _records([*rows, dict.fromkeys(columns)] if columns else [document], path)
    else:
        got = "text that is not JSON" if document is None else type(document).__name__
        raise ProtocolError(f"{path}: expected a list of records, lists by name, or one record per line, got {got}.")


def _records(values: Iterable[Any], path: Path, first: int = 1) -> Iterator[_Row]:
    for number, value in enumerate(values, start=first):
        if not isinstance(value, dict):
            got = "text that is not JSON" if value is None else type(value).__name__
            raise ProtocolError(f"{path}: record {number}: expected names and values, got {got}.")
        yield f"record {number}", value


def _parsed(text: str) -> Any:
    """Return the value of a JSON text; None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _collected(rows: Iterable[_Row], path: Path, column: str | None) -> Log:
    """Return the series of the columns with scores; `column` has the test scores, if the user named it."""
    collector = _Collector()
    roles: dict[str, str | None] = {}
    step: str | None = None
    number, at = 0, 0.0
    for where, row in rows:
        if not row.keys() <= roles.keys():
            roles |= {name: _role(name, column) for name in row if name not in roles}
            steps = [name for name in roles if name.lower() in _STEPS]
            step = min(steps, key=lambda name: _STEPS.index(name.lower()), default=None)
            owners = [(key, name) for key in _OWNERS for name in roles if name.lower() == key and name != column]
        values = {name: value for name, value in row.items() if not _is_empty(value)}
        scores = [
            (name, role, _number(values[name], f"{path}: {where}: {name}"))
            for name, role in roles.items()
            if role and name in values
        ]
        if not scores:
            continue
        number += 1
        if step is None:
            at = float(number)
        elif step in values:  # otherwise, the step of the previous row remains
            stated = _number(values[step], f"{path}: {where}: {step}")
            at = stated if math.isfinite(stated) else at
        collector.add(_owner((key, values[name]) for key, name in owners if name in values), at, scores)
    _check_columns(roles, path, column)
    return Log(collector.series(), "row" if step is None else "epoch" if step.lower().startswith("epoch") else "step")


def _role(name: str, column: str | None) -> str | None:
    """Return the role of a column, given the column of test scores if the user named one."""
    if name == column:
        return "test"
    role = role_of(name)
    return role if column is None or role == "validation" else None


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


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: Any, where: str) -> float:
    """Return a number from a table or from JSON; it may be NaN."""
    try:
        if isinstance(value, (bool, dict, list)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError(f"{where}: expected a number, got {str(value)[:40]!r}.") from None


@dataclass
class _Evaluations:
    """The steps and values of a series in the order of the log, including values that are not finite."""

    steps: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    distinct_steps: set[float] = field(default_factory=set)

    def series(self, name: str, role: str, owner: str, run: int) -> Series:
        """Return the evaluations ordered by step."""
        order = np.argsort(self.steps, kind="stable")
        steps, values = np.array(self.steps)[order], np.array(self.values)[order]
        finite = np.isfinite(values)
        title = name + (f" ({owner})" if owner else "") + (f", run {run} of the log" if run > 1 else "")
        n_missing = len(values) - int(finite.sum())
        return Series(title, role, steps[finite], values[finite], n_missing, not finite[-1], owner, run)


class _Collector:
    """Collects scores in series, one for each name, role, owner and run of a log that was appended to."""

    def __init__(self) -> None:
        self._evaluations: dict[tuple[str, str, str, int], _Evaluations] = {}
        self._runs: dict[str, int] = {}

    def add(self, owner: str, step: float, scores: Iterable[tuple[str, str, float]]) -> None:
        """Append the evaluations of one step: the name, role and value of each score.

        The order of evaluations is arbitrary, so a new run starts only when a score returns to an earlier step.
        """
        run = self._runs.setdefault(owner, 1)
        earlier = [self._evaluations.get((name, role, owner, run)) for name, role, _ in scores]
        if any(one is not None and step in one.distinct_steps and step != one.steps[-1] for one in earlier):
            run = self._runs[owner] = run + 1
        for name, role, value in scores:
            evaluations = self._evaluations.setdefault((name, role, owner, run), _Evaluations())
            evaluations.steps.append(step)
            evaluations.values.append(value)
            evaluations.distinct_steps.add(step)

    def series(self) -> list[Series]:
        """Return the series in the order of their first evaluations."""
        return [evaluations.series(*key) for key, evaluations in self._evaluations.items()]


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
        printed = [(name.strip(), value) for name, value in _PRINTED.findall(rest)]
        if match is None:  # integers are options, such as the interval between evaluations
            are_scores = {name for name, value in printed if not value.isdecimal()} - printed_at_step
            printed = [(name, value) for name, value in printed if name in are_scores]
        scores = [(name, role, float(value)) for name, value in printed if (role := role_of(name))]
        if not scores or step is None:
            continue
        if on_one_line is None:
            on_one_line = match is not None
        printed_at_step |= {name for name, _, _ in scores}
        collector.add(_owner((stated if match else stated | _stated("", rest)).items()), step, scores)
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
