"""Results of verifications, and the tables of an experiment checked against its codes and against each other."""

import io
import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from protocol import counting
from protocol.checks import ProtocolError, counted, need
from protocol.evaluation.exclusion import excluded_labels, read_positions
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.metrics import in_database_order, score_rows
from protocol.provenance import storage
from protocol.scores import tables
from protocol.scores.metadata import UNHASHED
from protocol.scores.summary import COLUMNS, COMBINATION, SCORED, SETTING, at, tables_of

HOLDS, FAILS, UNCHECKED, NOTE = "holds", "fails", "not checked", "note"
_Tables = Mapping[str, tables.DataFrame]
"""Stored tables by file; their column ``line`` is the line in the file."""
_KEYS = {"metrics.csv": COLUMNS[:-1], "runs.csv": (*SETTING, "run"), "summary.csv": COMBINATION}
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
        """The result in one line: the number of values that hold, and the first failure."""
        if self.holds:
            n = sum(check.outcome == UNCHECKED for check in self.checks)
            lines = f"; {counted(n, 'line')} below not checked" if n else ""
            return f"{self.file}: verified: {counted(self.n_values, 'value')} recomputed{lines}."
        problem = (f"{check.subject}: {check.text.rstrip('.')}" for check in self.failures)
        values = f"{counted(self.n_values, 'value')} as recorded; " if self.n_values else ""
        return f"{self.file}: {values}not verified: {next(problem, 'no value was recomputed')}."

    def parts(self) -> list[str | tables.Table]:
        """Return the verdict, and a line for each check, failures first; single values that hold share a line."""
        of_values = [check for check in self.checks if check.outcome == HOLDS and check.n_values == 1]
        together = [Check(HOLDS, "values", ", ".join(check.subject for check in of_values))] if of_values else []
        lines = [*together, *(check for check in self.checks if check not in of_values)]
        lines.sort(key=lambda check: (FAILS, NOTE, UNCHECKED, HOLDS).index(check.outcome))
        return [self.verdict, "\n".join(map(str, lines))]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"file": self.file, "verified": self.holds, "n_values": self.n_values, "checks": self.checks}


def verify_folder(folder: Path, progress: Progress = None) -> Verification:
    """Check the tables in a folder, or in each of its folders, as `protocol.verify` describes it.

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
    stored, checks = dict[str, tables.DataFrame](), list[Check]()
    for path in sorted(folder.glob("*.csv")):
        try:
            stored[path.name] = _read(path)
        except ValueError as error:  # those of pandas and of this package
            yield Check(FAILS, path.name, " ".join(str(error).split()))
    parts = {"tables": _means(stored), "audit.csv": _of_audit(stored)}
    codes = sorted(folder.glob("*/*/run*/*/codes.h5"))
    if codes and stored.keys() >= _KEYS.keys():
        parts["codes"] = _from_codes(folder, codes, stored, progress)
    for name, part in parts.items():
        try:
            checks += part
        except (LookupError, ValueError, OSError) as error:  # a missing column, and columns that pandas can't compare
            checks.append(Check(FAILS, name, f"{type(error).__name__}: {' '.join(str(error).split())}"))
    yield from checks
    if others := [name for name in stored if name not in {check.subject for check in checks}]:
        yield Check(UNCHECKED, ", ".join(others), "the codes, or the runs, from which they were computed are not there")


def _read(path: Path) -> tables.DataFrame:
    """Return a table with its lines; its checksum is verified if it has one."""
    import pandas as pd

    table = tables.read_table(path, required=False)
    for column in table.columns.intersection(_NUMBERS if "metric" in table else ()):
        table[column] = pd.to_numeric(table[column])
    return table.assign(line=range(2, len(table) + 2))


def _means(stored: _Tables) -> Iterator[Check]:
    """Yield the check of each table of means for which another table has the values of all runs."""
    by_metric = {name: table for name, table in stored.items() if "metric" in table}
    with_values = [(name, table) for name, table in by_metric.items() if {"run", "value"} <= set(table)]
    with_means = [(name, table) for name, table in by_metric.items() if {"mean", "std", "n_runs"} <= set(table)]
    for (of_runs, values), (name, every) in itertools.product(with_values, with_means):
        if "metrics.csv" in stored and (of_runs == "metrics.csv") != (name == "summary.csv"):
            continue  # the two tables of one experiment belong together, and others to each other
        means = every[every["extension"] == "none"] if "extension" in set(every) - set(values) else every
        on = [column for column in COMBINATION if column in {*values}.intersection(means)]
        groups = values.groupby(on)["value"]
        computed = groups.agg(mean="mean", std="std", n_runs="size", largest=lambda one: one.abs().max()).reset_index()
        both = means.merge(computed, on=on)
        if (both["n_runs_x"] == both["n_runs_y"]).any():  # else nothing in common, or the table of a single run
            others = len(every) - len(both)
            more = f"; no table has the runs of the other {others:,}" * bool(others)
            yield from _compared(name, means, computed, on, f"means of the runs in {of_runs}{more}", n_values=len(both))


def _compared(
    name: str, stored: tables.DataFrame, computed: tables.DataFrame, on: list[str], what: str, n_values: int = 0
) -> Iterator[Check]:
    """Yield failed checks for the first cells of a table that differ from computed ones, or else one that holds."""
    both, wrong = stored.merge(computed, on=on, suffixes=("", " computed")), []
    for column in computed.columns.intersection(stored.columns).drop(on):
        one, other = both[column], both[f"{column} computed"]
        different = (one != other) & ~(one.isna() & other.isna())
        if column in ("mean", "std"):
            unit = 10.0 ** (np.floor(np.log10(both["largest"].where(both["largest"] > 0, 1.0))) - 8)
            different &= ~((one - other).abs() <= _UNITS * unit)
        rows = zip(both["line"][different], one[different], other[different], strict=True)
        wrong += [f"line {line}: {column} {value}, not {right}" for line, value, right in rows]
    yield from (Check(FAILS, name, f"{one} ({what})") for one in wrong[:_FEW])
    if len(wrong) > _FEW:
        yield Check(FAILS, name, f"{len(wrong) - _FEW:,} more cells ({what})")
    if not wrong:
        yield Check(HOLDS, name, f"{counted(len(both), 'row')}: {what}", n_values)


def _of_audit(stored: _Tables) -> Iterator[Check]:
    """Yield the errors that the audit of an experiment found, if it has one; it is not repeated."""
    if "audit.csv" in stored:
        for row in at(stored["audit.csv"], severity="error").head(_FEW).itertuples():
            yield Check(FAILS, "audit.csv", f"line {row.line}: an error, {row.finding} in {row.file}")
        yield Check(UNCHECKED, "audit.csv", "`protocol audit` audits the splits again")


def _from_codes(folder: Path, codes: Sequence[Path], stored: _Tables, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables of an experiment against the scores of its codes without the excluded queries.

    The scores are computed as by the stages of the pipeline.
    """
    import pandas as pd

    if "audit.csv" not in stored:
        yield Check(UNCHECKED, "audit.csv", "missing; `protocol audit` audits the splits")
    without, summary = read_positions(folder.glob("excluded.csv")), stored["summary.csv"]
    dataset, undefined = (summary[name].iloc[0] for name in ("dataset", "undefined"))
    rows, report = list[tuple[Any, ...]](), stage(progress, "counting", len(codes))
    for path in codes:
        feature, _, run, hasher, _ = path.relative_to(folder).parts
        means, truth = at(summary, feature=feature, hasher=hasher), path.parents[1] / "ground_truth.h5"
        extensions = means[["extension", "extension_bits"]].drop_duplicates().itertuples(index=False, name=None)
        about = ((dataset, feature, hasher), list(extensions), list(means["metric"].unique()))
        with storage.opened(truth) as arrays:
            splits = sorted({name.partition("/")[0] for name in arrays})
        for split in splits:
            files = {"codes": path, "ground_truths": truth, "splits": folder / "splits" / split / run / "splits.h5"}
            of_run = (split, int(run.removeprefix("run")))
            with tempfile.TemporaryDirectory() as temporary:
                file, in_order = Path(temporary, "counts.h5"), in_database_order(about[-1])
                counts = counting.counted(*of_run, files, code="", index_order=in_order, earlier=file)
                counting.write_counts(file, counts, {of_run: files})
                rows += score_rows(counting.read_counts(file, without=without), *about, undefined=undefined)
        report(1)
    scores = pd.DataFrame(rows, columns=[*SCORED])
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    computed = tables_of(scores, undefined=undefined, excluded=excluded_labels(without, runs))
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
            vectors = "; vectors themselves are not scored again" * (UNHASHED in [*stored[name].get("hasher", [])])
            yield Check(UNCHECKED, name, f"{counted(others, 'row')}, not of codes that are there{vectors}")
