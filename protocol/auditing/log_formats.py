"""Training logs as tools write them: tables, JSON, TensorBoard's export and printed text, as series of scores."""

import csv
import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError
from protocol.formats.text import lines

_EXPECTED = "a training log"
_DOCUMENT = 256 << 20  # bytes of one JSON document; JSON lines and tables are read line by line
_NAMED = 10  # columns in a message
RUN = ", run "
"""Stands before the number of a run in the name of a series, where a log has several."""
_LONGEST = 4096  # characters of a printed line that holds scores


@dataclass
class Series:
    """One score as it changed during training.

    Parameters
    ----------
    name : str
        The column, or for printed text the score with the method, code length and dataset of its line.
    role : {"test", "validation", "best"}
        What it was measured on; ``"best"`` is the best test score until then, which the log keeps itself.
    steps, values : array of float
        The epoch (or step) and the score of each evaluation, without those that are no finite number.
    n_missing : int
        How many were no finite number.
    """

    name: str
    role: str
    steps: array = field(default_factory=lambda: array("d"))
    values: array = field(default_factory=lambda: array("d"))
    n_missing: int = 0


@dataclass
class Log:
    """The series of one log.

    Parameters
    ----------
    series : list of Series
    step : str
        What the steps are called: ``"epoch"``, ``"step"``, or ``"row"`` if the log has neither.
    """

    series: list[Series]
    step: str = "epoch"


# What a column is

_STEPS = ("epoch", "epochs", "step", "global_step", "iteration", "iter")
_SPLITS = r"test|val|valid|validate|validation|dev|train|training|best"
_PREFIX = re.compile(rf"^(?:{_SPLITS})(?=.)")
_SCORE = re.compile(
    r"(?:[pr]@\w+|m?ap|ndcg|auprc|auc|precision|recall|acc|accuracy|f1|score|value|hit|hits|top\d+)(?:@?\d+)?(?:@\w+)?"
)
_VALIDATION = {"val", "valid", "validate", "validation", "dev"}
_NO_SCORE = {"loss", "error", "err", "lr", "time", "train", "training"}


def role_of(name: str) -> str | None:
    """Return what a column of scores was measured on, by its name; None if it is no score, or one of training.

    A name without a partition, such as ``map``, is taken as a test score: that is what the toolkits of the field print.

    Examples
    --------
    >>> [role_of(name) for name in ("mAP", "test_map@5000", "val/mAP", "Best MAP", "train_map", "loss")]
    ['test', 'test', 'validation', 'best', None, None]
    """
    words = [word for word in re.split(r"[^a-z0-9@]+", name.lower()) if word]
    for word in list(words):
        prefix = _PREFIX.match(word)
        if prefix and _SCORE.fullmatch(word, prefix.end()):
            words += [prefix[0], word[prefix.end() :]]
    found = set(words)
    if found & _NO_SCORE or not any(_SCORE.fullmatch(word) for word in words):
        return None
    if found & _VALIDATION:
        return None if "best" in found or "max" in found else "validation"
    return "best" if "best" in found or "max" in found else "test"


# Reading


def read_log(file: str | Path, column: str | None = None) -> Log:
    """Read the scores of a training log.

    Parameters
    ----------
    file : path
        ``.csv`` or ``.tsv`` with a header (TensorBoard's export ``Wall time,Step,Value`` among them); ``.json`` with a
        list of records, lists by name, or a record a line (also ``.jsonl``); any other name is printed text, with an
        epoch and scores such as ``MAP:0.782, Best MAP: 0.797`` on one line, as DeepHash-pytorch prints them. Also
        packed as ``.gz``.
    column : str or None
        The column that holds the test scores, whatever its name; not for printed text.

    Raises
    ------
    ProtocolError
        If the file can't be read, has no column of scores or not the one that is named, or a score is no number.
    """
    path = Path(file)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".csv", ".tsv"):
        return _collected(_table_rows(path, "\t" if kind == ".tsv" else ","), path, column)
    if kind in (".json", ".jsonl", ".ndjson"):
        return _collected(_json_rows(path), path, column)
    if column is not None:
        raise ProtocolError(f"{path}: expected a table or JSON to find the column {column!r} in, got printed text.")
    return _printed(path)


def _table_rows(path: Path, delimiter: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield where each row is, and its fields by column."""
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
    """Return a header; in TensorBoard's export the value has the name of the tag that the file's name ends with."""
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ProtocolError(f"{path}: expected every column once, got {twice!r} more than once.")
    if [name.lower() for name in header] != ["wall time", "step", "value"]:
        return header
    tag = re.search(r"tag-(.+?)\.csv", path.name, re.IGNORECASE)
    return ["wall time", "step", tag[1] if tag else "value"]


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield where each record is, and the record: from a list, lists by name, or a record a line."""
    every = iter(lines(path, _EXPECTED))
    first = next((line for line in every if line.strip()), None)
    if first is None:
        raise ProtocolError(f"{path}: expected {_EXPECTED}, got an empty file.")
    record = _parsed(first)
    if isinstance(record, dict) and not any(isinstance(value, list) for value in record.values()):
        yield "record 1", record
        for number, line in enumerate((line for line in every if line.strip()), start=2):
            yield f"record {number}", _record(_parsed(line), f"{path}: record {number}")
        return
    held, n_bytes = [first], len(first)
    for line in every:
        held.append(line)
        n_bytes += len(line)
        if n_bytes > _DOCUMENT:
            raise ProtocolError(
                f"{path}: expected JSON of at most {_DOCUMENT >> 20} MiB, or a record a line, got more."
            )
    document = _parsed("".join(held))
    if isinstance(document, list):
        for number, one in enumerate(document, start=1):
            yield f"record {number}", _record(one, f"{path}: record {number}")
    elif isinstance(document, dict):
        yield from _from_lists(document, path)
    else:
        got = "text that is no JSON" if document is None else type(document).__name__
        raise ProtocolError(f"{path}: expected a list of records, lists by name, or a record a line, got {got}.")


def _from_lists(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield records from lists by name; what is no list belongs to no evaluation."""
    columns = {name: values for name, values in document.items() if isinstance(values, list)}
    if not columns:
        yield "record 1", document
        return
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} in {name}" for name, length in list(lengths.items())[:_NAMED])
        raise ProtocolError(f"{path}: expected lists of one length, got {got}.")
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        yield f"record {number}", dict(zip(columns, values, strict=True))
    yield "record 0", dict.fromkeys(columns)


def _parsed(text: str) -> Any:
    """Return the value of JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _record(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        got = "text that is no JSON" if value is None else type(value).__name__
        raise ProtocolError(f"{where}: expected names and values, got {got}.")
    return value


def _collected(rows: Iterable[tuple[str, Mapping[str, Any]]], path: Path, column: str | None) -> Log:
    """Return the series of the columns that hold scores."""
    collector = _Collector(path)
    roles: dict[str, str | None] = {}
    scored: list[tuple[str, str]] = []
    step: str | None = None
    number = 0
    for where, row in rows:
        if not row.keys() <= roles.keys():
            roles |= {name: _role(name, column) for name in row if name not in roles}
            scored = [(name, role) for name, role in roles.items() if role]
            step = min((name for name in roles if name.lower() in _STEPS), key=_rank, default=None)
        scores = [(name, role, row[name]) for name, role in scored if not _empty(row.get(name))]
        if not scores:
            continue
        number += 1
        at = math.nan if step is None or _empty(row.get(step)) else _number(row[step], path, where, step)
        for name, role, value in scores:
            collector.add(name, role, at if math.isfinite(at) else float(number), _number(value, path, where, name))
    _check_columns(roles, path, column)
    return Log(collector.series, "row" if step is None else "epoch" if step.lower().startswith("epoch") else "step")


def _rank(step: str) -> int:
    """Return the place of a column of steps among those that may be one."""
    return _STEPS.index(step.lower())


def _role(name: str, column: str | None) -> str | None:
    """Return what a column is, where the user may have named the one that holds the test scores."""
    if column is None:
        return role_of(name)
    if name == column:
        return "test"
    role = role_of(name)
    return role if role == "validation" else None


def _check_columns(roles: Mapping[str, str | None], path: Path, column: str | None) -> None:
    """Raise ProtocolError if no column holds scores, or not the one that is named."""
    names = ", ".join(list(roles)[:_NAMED]) + (", ..." if len(roles) > _NAMED else "") or "none"
    if column is not None and column not in roles:
        raise ProtocolError(f"{path}: expected a column {column!r}, got {names}.")
    if not any(roles.values()):
        raise ProtocolError(
            f"{path}: expected a column of scores such as test_map or map, got {names}. Name it: {path.name}:COLUMN"
        )


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: Any, path: Path, where: str, name: str) -> float:
    """Return a number of a table or of JSON, which may be NaN."""
    try:
        if isinstance(value, (bool, dict, list)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError(f"{path}: {where}: {name}: expected a number, got {str(value)[:40]!r}.") from None


class _Collector:
    """Puts scores into series; where the steps start again, so does a series: logs are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.series: list[Series] = []
        self._current: dict[tuple[str, str], Series] = {}
        self._runs: dict[tuple[str, str], int] = {}

    def add(self, name: str, role: str, step: float, value: float) -> None:
        """Append one evaluation."""
        key = (name, role)
        current = self._current.get(key)
        if current is None or (current.steps and step < current.steps[-1]):
            run = self._runs[key] = self._runs.get(key, 0) + 1
            current = self._current[key] = Series(name if run == 1 else f"{name}{RUN}{run} of the log", role)
            self.series.append(current)
        if math.isfinite(value):
            current.steps.append(step)
            current.values.append(value)
        else:
            current.n_missing += 1


# Printed text

_STEP = re.compile(r"\b(epoch|iter|iteration|step)\b[\s:=|]*(\d{1,15})\b", re.IGNORECASE)
_PRINTED = re.compile(
    rf"(?<![\w@'\"-])((?:(?:{_SPLITS})[ _-]*){{0,2}}(?:[a-z]{{1,8}}-)?m?ap(?:@\w{{1,12}})?)\s*[:=]\s*"
    r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan)",
    re.IGNORECASE,
)
_METHOD = re.compile(r"\[([^\[\]]{1,60})\]\s*-?\s*$")
_OPTION = re.compile(r"\b(bits?|dataset)\s*:\s*([^\s,|]{1,60})", re.IGNORECASE)


def _printed(path: Path) -> Log:
    """Return the series of lines that print an epoch and scores, each with the method, code length and dataset."""
    collector, called, n_lines = _Collector(path), "epoch", 0
    for line in lines(path, _EXPECTED):
        n_lines += bool(line.strip())
        step = _STEP.search(line) if len(line) <= _LONGEST else None
        if step is None:
            continue
        called = "epoch" if step[1].lower() == "epoch" else "step"
        method = _METHOD.search(line[: step.start()])
        rest = line[step.end() :]
        options = {name.lower().rstrip("s"): value for name, value in _OPTION.findall(rest)}
        run = [method[1]] if method else []
        run += [f"{options['bit']} bits"] if "bit" in options else []
        run += [options["dataset"]] if "dataset" in options else []
        for name, value in _PRINTED.findall(rest):
            role = role_of(name)
            if role:
                of = f" ({', '.join(run)})" if run else ""
                collector.add(f"{name.strip()}{of}", role, float(step[2]), float(value))
    if not collector.series:
        got = "an empty file" if not n_lines else f"{n_lines:,} lines without them"
        raise ProtocolError(
            f"{path}: expected lines with an epoch and a score, such as `epoch:10, MAP:0.782`, got {got}."
        )
    return Log(collector.series, called)
