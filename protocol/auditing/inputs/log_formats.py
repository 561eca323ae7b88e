"""Read series of scores from training logs: tables, JSON, TensorBoard's export and printed text.

The csv module reads the tables: pandas was considered, but it is not installed with the package alone, and rows must be
read one by one to find the line of an error.
"""

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.items import csv_rows, read_json
from protocol.checks import ProtocolError
from protocol.inputs.text import lines

_EXPECTED = "a training log"
_JSON = "a list of records, lists by name, or one record per line"
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
    steps : ndarray of float64, shape (n,)
        The epoch (or step) of each evaluation with a finite score, ascending.
    values : ndarray of float64, shape (n,)
        The scores of these evaluations.
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
        raise ProtocolError(
            f"{path}: printed text has no column {column!r}. Give a table or JSON, or leave out the column."
        )
    if not any(len(series.values) for series in log.series):
        names = ", ".join(dict.fromkeys(series.name for series in log.series[:_NAMED]))
        raise ProtocolError(f"{file}: no finite score in {names}." if names else f"{file}: no evaluation.")
    return log


_Row = tuple[str, Mapping[str, Any]]
"""The location of a row, and its fields by column."""


def _table_rows(path: Path, delimiter: str) -> Iterator[_Row]:
    """Yield the rows of a table, and at last one without values."""
    header: list[str] = []
    for line, fields in csv_rows(path, _EXPECTED, delimiter=delimiter):
        if not any(fields):
            continue
        if not header:
            header = _header(fields, path)
        elif len(fields) > len(header):
            raise ProtocolError(f"{path}: line {line}: {len(fields)} fields, but the header has {len(header)}.")
        else:
            yield f"line {line}", dict(zip(header, fields, strict=False))
    if not header:
        raise ProtocolError(f"{path}: the file is empty. It should contain a header and rows of scores.")
    yield "header", dict.fromkeys(header)


def _header(names: list[str], path: Path) -> list[str]:
    """Return a header; in TensorBoard's export, the value is named by the tag at the end of the file name."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ProtocolError(f"{path}: the column {repeated!r} occurs more than once.")
    if [name.lower() for name in names] != ["wall time", "step", "value"]:
        return names
    tag = re.search(r"tag-(.+?)\.csv", path.name, re.IGNORECASE)
    return ["wall time", "step", tag[1] if tag else "value"]


def _json_rows(path: Path) -> Iterator[_Row]:
    """Return the records of a list, of lists by name, or of one record per line."""
    text = (line for line in lines(path, _EXPECTED) if line.strip())
    first = next(text, None)
    if first is None:
        raise ProtocolError(f"{path}: the file is empty. It should contain {_EXPECTED}.")
    record = _parsed(first)
    if isinstance(record, dict) and not any(isinstance(value, list) for value in record.values()):
        return _records(itertools.chain([record], map(_parsed, text)), path)  # read line by line
    document = read_json(path, itertools.chain([first], text), _JSON, " Write one record per line.")
    if isinstance(document, dict):
        document = _transposed(document, path)
    if not isinstance(document, list):
        raise ProtocolError(f"{path}: expected {_JSON}, got {type(document).__name__}.")
    return _records(document, path)


def _transposed(document: Mapping[str, Any], path: Path) -> list[Mapping[str, Any]]:
    """Return lists by name as records, and at last one without values; the document itself if it has no lists."""
    columns = {name: values for name, values in document.items() if isinstance(values, list)}
    if not columns:
        return [document]
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{len(values):,} in {name}" for name, values in list(columns.items())[:_NAMED])
        raise ProtocolError(f"{path}: its lists differ in length: {lengths}.")
    rows = zip(*columns.values(), strict=True)
    return [*(dict(zip(columns, values, strict=True)) for values in rows), dict.fromkeys(columns)]


def _records(values: Iterable[Any], path: Path) -> Iterator[_Row]:
    for number, value in enumerate(values, start=1):
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
    collector, columns = _Collector(), _Columns(column)
    number, at = 0, 0.0
    for where, row in rows:
        columns.add(row)
        values = {name: value for name, value in row.items() if not _is_empty(value)}
        scores = [
            (name, role, _number(values[name], f"{path}: {where}: {name}"))
            for name, role in columns.roles.items()
            if role and name in values
        ]
        if not scores:
            continue
        number += 1
        if columns.step is None:
            at = float(number)
        elif columns.step in values:  # otherwise, the step of the previous row remains
            stated = _number(values[columns.step], f"{path}: {where}: {columns.step}")
            at = stated if math.isfinite(stated) else at
        collector.add(_owner((key, values[name]) for key, name in columns.owners if name in values), at, scores)
    _check_columns(columns.roles, path, column)
    return Log(collector.series(), columns.unit)


class _Columns:
    """The columns in the rows of a log so far: the role of each, the column of steps, and those of owners.

    `scores` is the column of test scores, if the user named it.
    """

    def __init__(self, scores: str | None) -> None:
        self._scores = scores
        self.roles: dict[str, str | None] = {}
        self.step: str | None = None
        self.owners: list[tuple[str, str]] = []

    def add(self, names: Iterable[str]) -> None:
        new = [name for name in names if name not in self.roles]
        if new:
            self.roles |= {name: _role(name, self._scores) for name in new}
            in_order = [(_STEPS.index(name.lower()), name) for name in self.roles if name.lower() in _STEPS]
            self.step = min(in_order)[1] if in_order else None
            others = [name for name in self.roles if name != self._scores]
            self.owners = [(key, name) for key in _OWNERS for name in others if name.lower() == key]

    @property
    def unit(self) -> str:
        return "row" if self.step is None else "epoch" if self.step.lower().startswith("epoch") else "step"


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
        raise ProtocolError(f"{path}: no column {column!r}. Its columns: {names}.")
    if column is not None and _words(column) & _NO_SCORE:
        raise ProtocolError(f"{path}: the column {column!r} is not a test score for which higher is better.")
    if not roles:
        raise ProtocolError(f"{path}: contains no scores.")
    if not any(roles.values()):
        raise ProtocolError(
            f"{path}: no column is known to contain scores (such as test_map or map). Its columns: {names}. Name the "
            f"column: {path.name}:COLUMN."
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


class _Collector:
    """Collects scores in series, one for each name, role, owner and run of a log that was appended to."""

    def __init__(self) -> None:
        self._evaluations: dict[tuple[str, str, str, int], dict[float, list[float]]] = {}  # values by step, in order
        self._runs: dict[str, int] = {}

    def add(self, owner: str, step: float, scores: Iterable[tuple[str, str, float]]) -> None:
        """Append the evaluations of one step: the name, role and value of each score.

        The order of evaluations is arbitrary, so a new run starts only when a score returns to an earlier step.
        """
        run = self._runs.setdefault(owner, 1)
        earlier = [self._evaluations.get((name, role, owner, run), {}) for name, role, _ in scores]
        if any(step in steps and step != next(reversed(steps)) for steps in earlier):
            run = self._runs[owner] = run + 1
        for name, role, value in scores:
            self._evaluations.setdefault((name, role, owner, run), {}).setdefault(step, []).append(value)

    def series(self) -> list[Series]:
        """Return the series in the order of their first evaluations."""
        return [_series(*key, evaluations) for key, evaluations in self._evaluations.items()]


def _series(name: str, role: str, owner: str, run: int, evaluations: Mapping[float, Sequence[float]]) -> Series:
    """Return the values of a score, ordered by step."""
    pairs = [(step, value) for step in sorted(evaluations) for value in evaluations[step]]
    steps, values = np.array(pairs, dtype=np.float64).T
    finite = np.isfinite(values)
    title = name + (f" ({owner})" if owner else "") + (f", run {run} of the log" if run > 1 else "")
    return Series(title, role, steps[finite], values[finite], int((~finite).sum()), not finite[-1], owner, run)


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
    """Return the series of printed epochs and scores, each with the method, code length and dataset on its line."""
    text, n_lines = _PrintedText(), 0
    for line in lines(path, _EXPECTED):
        n_lines += bool(line.strip())
        if len(line) <= _LONGEST:
            text.add(line)
    series = text.collector.series()
    if not series:
        problem = "no line has" if n_lines else "the file is empty. Its lines should have"
        raise ProtocolError(f"{path}: {problem} an epoch and a score, such as `epoch:10, MAP:0.782`.")
    return Log(series, text.unit)


class _PrintedText:
    """The scores in the lines of a log so far, and the state that later lines refer to.

    A score on a line without an epoch belongs to the epoch of an earlier line, unless the log prints both on one line:
    at the end of such a log, a score without an epoch belongs to a stored model.
    """

    def __init__(self) -> None:
        self.collector, self.unit = _Collector(), "epoch"
        self._step: float | None = None
        self._stated: dict[str, str] = {}
        self._printed_at_step: set[str] = set()  # names of the scores at the current step
        self._on_one_line: bool | None = None

    def add(self, line: str) -> None:
        match = _STEP.search(line)
        if match is not None:
            self._begin(match, line)
            printed = _PRINTED.findall(line, match.end())
            stated = self._stated
        elif self._step is not None and not self._on_one_line:
            printed = self._without_options(_PRINTED.findall(line))
            stated = self._stated | _stated("", line)
        else:
            return
        scores = [(name.strip(), role, float(value)) for name, value in printed if (role := role_of(name.strip()))]
        if scores and self._step is not None:
            if self._on_one_line is None:
                self._on_one_line = match is not None
            self._printed_at_step |= {name for name, _, _ in scores}
            self.collector.add(_owner(stated.items()), self._step, scores)

    def _begin(self, match: re.Match[str], line: str) -> None:
        """Read the step on a line, with the owner of its scores."""
        before = (self._step, self._stated)
        self.unit = "epoch" if match[1].lower() == "epoch" else "step"
        self._step, self._stated = float(match[2]), _stated(line[: match.start()], line[match.end() :])
        if (self._step, self._stated) != before:
            self._printed_at_step = set()

    def _without_options(self, printed: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the scores on a line without a step; integers are options, such as the interval of evaluations."""
        are_scores = {name.strip() for name, value in printed if not value.isdecimal()} - self._printed_at_step
        return [(name, value) for name, value in printed if name.strip() in are_scores]


def _stated(before: str, after: str) -> dict[str, str]:
    """Return the owner of the scores on a line, by the names in `_OWNERS`, from the text before and after its epoch."""
    options = {name.lower().rstrip("s"): value for name, value in _OPTION.findall(after)}
    method = _METHOD.search(before)
    if method and not _CLOCK.search(method[1]):
        options["method"] = method[1]
    return {name: options[name] for name in _OWNERS if name in options}
