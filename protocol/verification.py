"""Results that anyone can check: records of scores, and the tables of experiments, recomputed from the codes.

A record is the JSON of `protocol evaluate`. The tables of an experiment are checked against its codes, and stored
tables against each other.
"""

import csv
import io
import itertools
import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from protocol import counting, registry
from protocol.checks import ProtocolError, counted, need
from protocol.comparison.reading import FILES, explained, read_json
from protocol.evaluation import Codes, Evaluation, Judgments, Nearest, Outputs, Relevant, evaluate
from protocol.evaluation.buckets import searched
from protocol.evaluation.exclusion import excluded_labels, read_positions
from protocol.evaluation.ground_truth import Truth, only_truth
from protocol.evaluation.output import write_csv
from protocol.evaluation.printed import Printed, json_text
from protocol.evaluation.progress import Progress, stage
from protocol.metrics import in_database_order, score_rows
from protocol.provenance import VERSION, checksums, storage
from protocol.scores import tables
from protocol.scores.summary import COLUMNS, COMBINATION, SCORED, SETTING, at, tables_of
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Check", "Verification", "verify"]

HOLDS, FAILS, UNCHECKED, NOTE = "holds", "fails", "not checked", "note"
DIGITS = 12
"""The number of significant digits in which a recorded value must agree; sums on another CPU differ beyond these."""
_NAMES = ("name", "dataset", "split", "ground_truth")
_CALLED = {"codes_sha256": "codes", "labels_sha256": "labels", "ground_truth_sha256": "ground truth"}
_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST = 100
_ABSENT = object()
_Tables = Mapping[str, "pd.DataFrame"]
"""Stored tables by file; their column ``line`` is the line in the file."""
_KEYS: dict[str, tuple[str, ...]] = {
    "metrics.csv": COLUMNS[:-1],
    "runs.csv": (*SETTING, "run"),
    "summary.csv": COMBINATION,
}
"""The columns that identify a row of each table of an experiment."""
_OTHER = {"mean", "std", "n_runs", "options", "supervision", "version"}
"""Columns that are not compared with the codes: the first three are compared with metrics.csv."""
_NUMBERS = ("value", "mean", "std", "n_runs")
"""The columns whose cells must be numbers."""
_UNITS = 1.5
"""The largest difference of a mean, in units of the values' ninth digit, because they are rounded as well."""
_FEW = 10  # at most this many cells of a table are listed


class Check(NamedTuple):
    """One line of a verification: the outcome, such as "fails", its subject, and what was compared."""

    outcome: str
    subject: str
    text: str
    n_values: int = 0
    """The number of values that were recomputed, and are the same."""

    def __str__(self) -> str:
        return f"{self.outcome:<{len(UNCHECKED)}}  {self.subject}: {self.text}"


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Printed):
    """What holds of a record or of tables, and what does not.

    Parameters
    ----------
    file : str
        The record, or the folder of the tables.
    checks : tuple of Check
    """

    file: str
    checks: tuple[Check, ...]

    @property
    def n_values(self) -> int:
        """The number of values that were recomputed, and are the same."""
        return sum(check.n_values for check in self.checks)

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == FAILS]

    @property
    def holds(self) -> bool:
        """Whether at least one value was recomputed and no check failed."""
        return self.n_values > 0 and not self.failures

    @property
    def verdict(self) -> str:
        """The result in one line; it names the first failure."""
        if self.holds:
            n = sum(check.outcome == UNCHECKED for check in self.checks)
            lines = f"; {counted(n, 'line')} above not checked" if n else ""
            return f"{self.file}: verified: {counted(self.n_values, 'value')} recomputed{lines}."
        problem = (f"{check.subject}: {check.text.rstrip('.')}" for check in self.failures)
        return f"{self.file}: not verified: {next(problem, 'no value was recomputed')}."

    def parts(self) -> list[str | Table]:
        """Return a line for each check, and the verdict."""
        return ["\n".join(map(str, self.checks)), self.verdict]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"file": self.file, "verified": self.holds, "n_values": self.n_values, "checks": self.checks}


def verify(
    record: str | Path,
    query_codes: Any = None,
    database_codes: Any = None,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Relevant | Judgments | Nearest | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Verification:
    """Check a record by recomputing its values from the codes, or check the tables of an experiment.

    Parameters
    ----------
    record : str or Path
        The JSON of ``protocol evaluate --json`` or `Evaluation.write_json`; or a folder with the tables of an
        experiment (``results/NAME``) or with stored tables, which takes no inputs.
    query_codes : array_like, str, Path or Codes, optional
        The codes of the queries. If None, the file that the record names, relative to the record. Codes without an
        encoding have the recorded one.
    database_codes : array_like, str, Path or Codes, optional
        The codes of the database, with the same default.
    query_labels : array_like, str or Path, optional
        The labels of the queries, as for `protocol.evaluate`.
    database_labels : array_like, str or Path, optional
        The labels of the database, as for `protocol.evaluate`.
    truth : Relevant or Nearest, optional
        The ground truth in place of labels; the numbers and the distance of `Nearest` are the recorded ones.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    progress : callable, optional
        Called as ``progress(done, total, stage)``, as by `protocol.evaluate`.

    Returns
    -------
    Verification
        Its string has a line for each check, and `Verification.holds` is whether none of them failed.

    Raises
    ------
    ProtocolError
        If the record is missing or is not a record, or if a folder is given together with inputs of a record. Inputs
        that can't be read are failed checks.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, labels = Path(folder, "mine.json"), {"query_labels": [7], "database_labels": [7, 8]}
    ...     evaluate([[0, 1]], [[0, 1], [1, 1]], **labels, metrics="mAP").write_json(path)
    ...     same = verify(path, [[0, 1]], [[0, 1], [1, 1]], **labels)
    ...     other = verify(path, [[0, 1]], [[0, 1], [1, 0]], **labels)
    >>> same.holds, other.holds, other.failures[0].subject
    (True, False, 'database codes')
    """
    path = Path(record)
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise ProtocolError(f"record: {record!s:.80}... is not a usable path ({error.strerror}).") from error
    if is_folder:
        if any(given is not None for given in (query_codes, database_codes, query_labels, database_labels, truth)):
            raise ProtocolError(f"{path}: codes and a ground truth need a JSON file, not a folder.")
        return _verify_folder(path, progress)
    checks, stored = list[Check](), _Record(path, read_json(path))
    try:
        with explained(path):
            codes = [stored.codes("query_codes", query_codes), stored.codes("database_codes", database_codes)]
            source = stored.truth(query_labels, database_labels, truth)
            evaluation, computed = stored.computed(codes, source, threads, progress)
            checks += stored.compared(computed)
            checks += stored.files(evaluation)
            checks += stored.split()
            checks += stored.others(computed)
            checks += (Check(NOTE, name, text) for name, text in evaluation.code_utilisation.sentences().items())
    except (ProtocolError, OSError) as error:
        checks.append(Check(FAILS, "recomputation", str(error)))
    return Verification(str(path), tuple(checks))


# Records


@dataclass(frozen=True)
class _Record:
    """A record, and the checks of its parts."""

    path: Path
    content: dict[str, Any]

    def recorded_input(self, role: str) -> Mapping[str, Any]:
        """Return the file of an input, with the encoding of codes; {} if the record does not name it."""
        recorded = (self.content.get("inputs") or {}).get(role) or {}
        return recorded if isinstance(recorded, dict) else {"file": recorded}

    def file(self, role: str) -> str | None:
        """Return the path of an input that the record names, relative to the record, or None."""
        name = self.recorded_input(role).get("file")
        return None if name is None else str(self.path.parent / name)

    def codes(self, role: str, values: Any) -> Codes | Outputs:
        """Return the codes of one side, or else of the file that the record names, in the recorded encoding."""
        encoding = {name: self.content[name] for name in ("n_bits", "binarize")}
        of_file = dict(self.recorded_input(role))
        of_file.pop("file", None)
        encoding = encoding | of_file if values is None else of_file | encoding
        values = self.file(role) if values is None else values
        if values is None:
            raise ProtocolError(f"{role.replace('_', ' ')} are missing: the record does not name their file.")
        if isinstance(values, Codes):
            return replace(values, n_bits=values.n_bits or self.content["n_bits"])
        is_real = role == "query_codes" and self.content["ranking"] == "asymmetric"
        return values if isinstance(values, Outputs) else Outputs(values) if is_real else Codes(values, **encoding)

    def truth(self, query_labels: Any, database_labels: Any, truth: Any) -> Truth:
        """Return the ground truth of the arguments, or else of the files that the record names."""
        nearest = self.content.get("nearest")
        if truth is None and query_labels is None and database_labels is None:
            truth = self.recorded_truth()
        if isinstance(truth, Nearest) and nearest:
            k, distance, relevant = (nearest[name] for name in ("numbers", "distance", "relevant"))
            truth = replace(truth, k=k, distance=distance, relevant=relevant)
        if truth is None:
            query_labels = self.file("query_labels") if query_labels is None else query_labels
            database_labels = self.file("database_labels") if database_labels is None else database_labels
        return only_truth(query_labels, database_labels, truth)

    def recorded_truth(self) -> Judgments | Relevant | Nearest | None:
        """Return the ground truth of the files that the record names; None if it is labels."""
        if relevance := self.file("relevance"):
            ids = self.file("query_ids"), self.file("database_ids")
            return Judgments(relevance, *ids) if all(ids) else Relevant(relevance)
        if self.content.get("nearest"):
            return Nearest(self.file("query_vectors"), self.file("database_vectors"))
        return None

    def computed(
        self, codes: list[Any], truth: Any, threads: int, progress: Progress
    ) -> tuple[Evaluation, dict[str, Any]]:
        """Return the evaluation that the record describes, and its content as JSON has it."""
        recorded = self.content
        evaluation = evaluate(
            *codes,
            truth=truth,
            metrics=list(recorded["metrics"]),
            convention=recorded["convention"],
            leave_one_out=recorded.get("leave_one_out", False),
            threads=threads,
            progress=progress,
        )
        expected = evaluation.content()
        if "spread" in recorded:
            expected |= evaluation.spread(threads=threads).content()
        if "without_queries" in recorded:
            expected |= evaluation.without(np.array(recorded["without_queries"]["excluded"], dtype=np.int64)).content()
        if "bucket_search" in recorded:
            tables, relevance = list(recorded["bucket_search"]), evaluation.truth.relevance
            expected |= searched(evaluation.codes, relevance, tables, evaluation.convention).content()
        return evaluation, json.loads(json_text(expected))

    def compared(self, computed: Mapping[str, Any]) -> Iterator[Check]:
        """Yield the fields that differ from the computed ones, those of the inputs first, and the equal ones."""
        same = []
        for key, value in sorted(computed.items(), key=lambda field: field[0] not in _CALLED):
            if key in (*_NAMES, "version"):
                continue
            different = dict(_differences(self.content.get(key, _ABSENT), value))
            yield from (Check(FAILS, _subject(key, *keys), text) for keys, text in different.items())
            if key == "metrics":
                held = {name: mean for name, mean in value.items() if not {(), (name,)} & different.keys()}
                yield from (Check(HOLDS, name, json.dumps(mean), 1) for name, mean in held.items())
            elif not different:
                same.append(_CALLED.get(key, key))
        yield Check(HOLDS, "as recorded", ", ".join(same) or "nothing")

    def files(self, evaluation: Evaluation) -> Iterator[Check]:
        """Yield the checks of the CSV files to which the record refers, each with the first cell that differs."""
        for key in FILES:
            if not (reference := self.content.get(key)):
                continue
            file = self.path.parent / reference["file"]
            yield _same_file(key, file, reference)
            if file.is_file():
                with tempfile.TemporaryDirectory() as folder:
                    computed = Path(folder, "computed.csv")
                    write_csv(evaluation, key, computed)
                    for keys, text in itertools.islice(_differences(_rows(file), _rows(computed)), 1):
                        cells = text.replace('"', "")  # a cell is text, most often a number
                        yield Check(FAILS, key, f"{file.name}: {', '.join(keys)}: {cells}")

    def split(self) -> Iterator[Check]:
        """Yield the checks of the lists' files and of the sizes that the split protocol declares."""
        lists = self.content.get("lists") or {}
        yield from (_same_file(f"list of {part}", self.path.parent / one["file"], one) for part, one in lists.items())
        name = self.content.get("split")
        if name in registry.names("split") and not (declared := registry.get("split", name)).open:
            sizes = declared.sizes({}, n_items=declared.n_items, n_classes=declared.n_classes)
            expected = [sizes["query"], sizes["database"] - self.content.get("leave_one_out", False)]
            recorded = [self.content["n_queries"], self.content["n_database"]]
            text = "{:,} and {:,} recorded, {:,} and {:,} declared by {}".format(*recorded, *expected, name)
            yield Check(HOLDS if recorded == expected else FAILS, "n_queries and n_database", text)
        yield Check(UNCHECKED, "split", "not audited; `protocol audit` audits its lists")

    def others(self, computed: Mapping[str, Any]) -> Iterator[Check]:
        """Yield the fields that can't be computed, and another version."""
        if names := [name for name in _NAMES if self.content.get(name) is not None]:
            yield Check(UNCHECKED, ", ".join(names), "names, which nothing but the record states")
        if others := [key for key in self.content if key not in (*computed, "inputs", "lists", *FILES)]:
            yield Check(UNCHECKED, ", ".join(others), "not recomputed")
        if (version := self.content.get("version")) != VERSION:
            yield Check(NOTE, "version", f"{version} recorded, {VERSION} installed")


def _subject(key: str, *keys: str) -> str:
    """Return the name of a field in messages; a digest is called by what it identifies."""
    if key not in _CALLED:
        return ": ".join(keys if key == "metrics" and keys else (key, *keys))
    return " ".join((*keys, _CALLED[key]))


def _differences(recorded: Any, computed: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the places in which two values of JSON differ, and both values in words."""
    if isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed):
        recorded, computed = ({str(at): one for at, one in enumerate(values)} for values in (recorded, computed))
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in recorded | computed:
            both = recorded.get(key, _ABSENT), computed.get(key, _ABSENT)
            yield from _differences(*both, (*keys, key))
    elif not _equal(recorded, computed):
        yield keys, f"{_in_words(recorded, computed)} recorded, {_in_words(computed, recorded)} computed"


def _equal(recorded: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers to `DIGITS` significant digits."""
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (recorded, computed)):
        return math.isclose(recorded, computed, rel_tol=0.8 * 10.0**-DIGITS, abs_tol=0)
    return type(recorded) is type(computed) and recorded == computed


def _in_words(value: Any, other: Any) -> str:
    """Return a value in words: of a digest, only the start if the other one has another start."""
    if value is _ABSENT:
        return "nothing"
    if _DIGEST.fullmatch(str(value)):
        return f"SHA-256 {value[:12] if str(other)[:12] != value[:12] else value}"
    return f"{json.dumps(value):.{_LONGEST}}"


def _same_file(subject: str, file: Path, reference: Mapping[str, Any]) -> Check:
    """Return the check of a recorded file's digest."""
    if not file.is_file():
        return Check(FAILS, subject, f"{file} is missing")
    if storage.file_sha256(file) == reference["sha256"]:
        return Check(HOLDS, subject, file.name)
    return Check(FAILS, subject, f"{file.name} is another file than the recorded one: its SHA-256 differs")


def _rows(file: Path) -> dict[str, dict[str, Any]]:
    """Return the cells of a CSV file by line and column."""
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    return {f"line {number}": row for number, row in enumerate(csv.DictReader(lines, restkey="(none)"), 2)}


# Tables


def _verify_folder(folder: Path, progress: Progress = None) -> Verification:
    """Check the tables in a folder, or in each of its folders; see `protocol.verify`.

    Raises
    ------
    ProtocolError
        If there are no tables.
    """
    need("pandas", "report")
    folders = [folder] if any(folder.glob("*.csv")) else sorted({path.parent for path in folder.glob("*/*.csv")})
    if not folders:
        raise ProtocolError(f"{folder}: no tables of an experiment (*.csv) in this folder or its subfolders.")
    checks = ((one.name, check) for one in map(Path.resolve, folders) for check in _of_folder(one, progress))
    return Verification(str(folder), tuple(check._replace(subject=f"{name}/{check.subject}") for name, check in checks))


def _of_folder(folder: Path, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables in a folder."""
    stored, checks = dict[str, "pd.DataFrame"](), list[Check]()
    for path in sorted(folder.glob("*.csv")):
        try:
            stored[path.name] = _read(path)
        except ValueError as error:  # those of pandas and of this package
            yield Check(FAILS, path.name, " ".join(str(error).split()))
    parts, codes = {"tables": _means(stored)}, sorted(folder.glob("*/*/run*/*/codes.h5"))
    if codes and stored.keys() >= _KEYS.keys():
        parts["codes"] = _from_codes(folder, codes, stored, progress)
    if "audit.csv" in stored:
        parts["audit.csv"] = _of_audit(stored["audit.csv"])
    for name, part in parts.items():
        try:
            checks += part
        except (LookupError, ValueError, OSError) as error:  # a missing column, and columns that pandas can't compare
            checks.append(Check(FAILS, name, f"{type(error).__name__}: {' '.join(str(error).split())}"))
    yield from checks
    if others := [name for name in stored if name not in {check.subject for check in checks}]:
        yield Check(UNCHECKED, ", ".join(others), "the codes, or the runs, from which they were computed are not there")


def _read(path: Path) -> "pd.DataFrame":
    """Return a table with its lines; its checksum is verified if it has one."""
    import pandas as pd

    checksums.verify(path, required=False)
    table = pd.read_csv(path)
    for column in table.columns.intersection(_NUMBERS if "metric" in table else ()):
        table[column] = pd.to_numeric(table[column])
    return table.assign(line=range(2, len(table) + 2))


def _means(stored: _Tables) -> Iterator[Check]:
    """Yield the check of each table of means for which another table has the values of all runs."""
    by_metric = {name: table for name, table in stored.items() if "metric" in table}
    with_values = [(name, table) for name, table in by_metric.items() if {"run", "value"} <= set(table)]
    with_means = [(name, table) for name, table in by_metric.items() if {"mean", "std", "n_runs"} <= set(table)]
    for (of_runs, values), (name, every) in itertools.product(with_values, with_means):
        means = every[every["extension"] == "none"] if "extension" in set(every) - set(values) else every
        on = [column for column in COMBINATION if column in values and column in means]
        groups = values.groupby(on)["value"]
        computed = groups.agg(mean="mean", std="std", n_runs="size", largest=lambda one: one.abs().max()).reset_index()
        both = means.merge(computed, on=on)
        if (both["n_runs_x"] == both["n_runs_y"]).any():  # else nothing in common, or the table of a single run
            others = len(every) - len(both)
            more = f"; no table has the runs of the other {others:,}" if others else ""
            yield from _compared(name, means, computed, on, f"means of the runs in {of_runs}{more}", n_values=len(both))


def _compared(
    name: str, stored: "pd.DataFrame", computed: "pd.DataFrame", on: list[str], what: str, n_values: int = 0
) -> Iterator[Check]:
    """Yield failed checks for the first cells of a table that differ from computed ones, or else one that holds."""
    both, wrong = stored.merge(computed, on=on, suffixes=("", " computed")), []
    for column in computed.columns.intersection(stored.columns).drop(on):
        one, other = both[column], both[f"{column} computed"]
        different = (one != other) & ~(one.isna() & other.isna())
        if column in ("mean", "std"):
            unit = 10.0 ** (np.floor(np.log10(both["largest"].where(both["largest"] > 0, 1.0))) - 8)
            different &= ~((one - other).abs() <= _UNITS * unit)
        wrong += [
            f"line {row['line']}: {column} {row[column]}, not {row[f'{column} computed']}"
            for row in both[different].to_dict("records")
        ]
    yield from (Check(FAILS, name, f"{one} ({what})") for one in wrong[:_FEW])
    if len(wrong) > _FEW:
        yield Check(FAILS, name, f"{len(wrong) - _FEW:,} more cells ({what})")
    if not wrong:
        yield Check(HOLDS, name, f"{counted(len(both), 'row')}: {what}", n_values)


def _of_audit(findings: "pd.DataFrame") -> Iterator[Check]:
    """Yield the errors that the audit of an experiment found; it is not repeated."""
    for row in at(findings, severity="error").head(_FEW).itertuples():
        yield Check(FAILS, "audit.csv", f"line {row.line}: an error, {row.finding} in {row.file}")
    yield Check(UNCHECKED, "audit.csv", "`protocol audit` audits the splits again")


def _from_codes(folder: Path, codes: Sequence[Path], stored: _Tables, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables of an experiment against the scores of its codes."""
    import pandas as pd

    without, summary = read_positions(folder.glob("excluded.csv")), stored["summary.csv"]
    scores = _scores(folder, codes, stored, without, progress)
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    excluded = excluded_labels(without, runs)
    computed = tables_of(scores, undefined=summary["undefined"].iloc[0], excluded=excluded)
    for name, keys in _KEYS.items():
        text = computed[name].drop(columns=[*_OTHER], errors="ignore").to_csv(index=False, float_format=tables.DIGITS)
        on, table = list(keys), pd.read_csv(io.StringIO(text))
        n_rows = len(stored[name].merge(table, on=on))
        n_values = n_rows if name == "metrics.csv" else 0
        yield from _compared(name, stored[name], table, on, "computed from the codes", n_values)
        missing = table[on].merge(stored[name][on], on=on, how="left", indicator=True).query("_merge == 'left_only'")
        for key in missing[on].head(_FEW).itertuples(index=False, name=None):
            yield Check(FAILS, name, f"no row for {', '.join(map(str, key))} ({len(missing):,} missing)")
        if others := len(stored[name]) - n_rows:
            yield Check(UNCHECKED, name, f"{counted(others, 'row')}, whose codes are not there")


def _scores(
    folder: Path, codes: Sequence[Path], stored: _Tables, without: Mapping[Any, Any], progress: Progress
) -> "pd.DataFrame":
    """Return the scores of all codes, as the stages of the pipeline compute them."""
    import pandas as pd

    rows, report, summary = list[tuple[Any, ...]](), stage(progress, "counting", len(codes)), stored["summary.csv"]
    dataset, undefined = (summary[name].iloc[0] for name in ("dataset", "undefined"))
    for path in codes:
        feature, _, _, hasher, _ = path.relative_to(folder).parts
        means = at(summary, feature=feature, hasher=hasher)
        extensions = means[["extension", "extension_bits"]].drop_duplicates().itertuples(index=False, name=None)
        metrics = list(means["metric"].unique())
        counts = _counts(folder, path, metrics, without)
        rows += score_rows(counts, (dataset, feature, hasher), list(extensions), metrics, undefined=undefined)
        if report is not None:
            report(1)
    return pd.DataFrame(rows, columns=[*SCORED])


def _counts(
    folder: Path, codes: Path, metrics: Sequence[str], without: Mapping[Any, Any]
) -> Iterator[counting.StoredCounts]:
    """Yield the counts of the codes of a run for each split and ground truth, without the excluded queries."""
    run, truth = codes.parts[-3], codes.parents[1] / "ground_truth.h5"
    with storage.opened(truth) as arrays:
        splits = sorted({name.partition("/")[0] for name in arrays})
    in_order = in_database_order(metrics)
    for split in splits:
        files = {"codes": codes, "ground_truths": truth, "splits": folder / "splits" / split / run / "splits.h5"}
        key = (split, int(run.removeprefix("run")))
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "counts.h5")
            counts = counting.counted(*key, files, code="", index_order=in_order, calls=1, earlier=path)
            counting.write_counts(path, counts, {key: files})
            yield from counting.read_counts(path, without=without)
