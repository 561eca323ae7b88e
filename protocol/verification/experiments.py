"""Check the tables of an experiment against its codes, and stored tables against each other."""

import io
import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from protocol import counting
from protocol.checks import ProtocolError, need
from protocol.checks import counted as number_of
from protocol.evaluation.exclusion import excluded_labels, read_positions
from protocol.evaluation.progress import Progress, stage
from protocol.metrics import evaluate_extended, in_database_order, mean
from protocol.provenance import storage
from protocol.provenance.checksums import verify
from protocol.scores import summary as tables
from protocol.scores.tables import DIGITS
from protocol.verification.result import FAILS, HOLDS, UNCHECKED, Check, Verification, audit_checks

if TYPE_CHECKING:
    import pandas as pd

_Tables = Mapping[str, "pd.DataFrame"]
"""Stored tables by file; their column ``line`` is the line in the file."""
_KEYS: dict[str, tuple[str, ...]] = {
    "metrics.csv": tables.COLUMNS[:-1],
    "runs.csv": (*tables.PLACE, "run"),
    "summary.csv": tables.COMBINATION,
}
"""The columns that identify a row of each table of an experiment."""
_OTHER = {"mean", "std", "n_runs", "options", "supervision", "version"}
"""Columns that are not compared with the codes: the first three are compared with metrics.csv."""
_NUMBERS = ("value", "mean", "std", "n_runs")
"""The columns whose cells must be numbers."""
_UNITS = 1.5
"""The largest difference of a mean, in units of the values' ninth digit, because they are rounded as well."""
_FEW = 10  # at most this many cells of a table are listed


def verify_folder(folder: Path, progress: Progress = None) -> Verification:
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
    checks = ((one.resolve().name, check) for one in folders for check in _of_folder(one, progress))
    return Verification(str(folder), tuple(check._replace(place=f"{name}/{check.place}") for name, check in checks))


def _of_folder(folder: Path, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables in a folder."""
    import pandas as pd

    stored = {}
    for path in sorted(folder.glob("*.csv")):
        try:
            verify(path, required=False)
            table = pd.read_csv(path)
            for column in table.columns.intersection(_NUMBERS if "metric" in table else ()):
                table[column] = _numbers(table[column])
            stored[path.name] = table.assign(line=range(2, len(table) + 2))
        except ValueError as error:  # those of pandas and of this package
            yield Check(FAILS, path.name, " ".join(str(error).split()))
    checks, codes = list[Check](), sorted(folder.glob("*/*/run*/*/codes.h5"))
    parts = {"tables": _means(stored)}
    if codes and stored.keys() >= _KEYS.keys():
        of_audit = _audited(folder, stored.get("audit.csv"))
        parts["codes"] = itertools.chain(_from_codes(folder, codes, stored, progress), of_audit)
    for place, part in (parts | {"runs": _same_runs(stored)}).items():
        try:
            checks += part
        except (KeyError, IndexError) as error:
            checks.append(Check(FAILS, place, f"a table has no rows, or no column {error}"))
        except (ValueError, OSError) as error:  # ProtocolError, and columns that pandas can't compare
            checks.append(Check(FAILS, place, " ".join(str(error).split())))
    yield from checks
    if others := [name for name in stored if name not in {check.place for check in checks}]:
        yield Check(UNCHECKED, ", ".join(others), "the codes, or the runs, from which they were computed are not there")


def _numbers(column: "pd.Series") -> "pd.Series":
    """Return the numbers of a column, NaN for empty cells; ValueError for any other text."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if (wrong := numbers.isna() & column.notna()).any():
        at = int(wrong.argmax())
        raise ValueError(f"line {at + 2}: {column.name}: expected a number, got {column.iloc[at]!r}")
    return numbers


def _with(stored: _Tables, *columns: str) -> "list[tuple[str, pd.DataFrame]]":
    """Return the tables that have a metric and other columns."""
    return [(name, table) for name, table in stored.items() if {"metric", *columns} <= set(table)]


def _means(stored: _Tables) -> Iterator[Check]:
    """Yield the check of each table of means for which another table has the values of all runs."""
    pairs = itertools.product(_with(stored, "run", "value"), _with(stored, "mean", "std", "n_runs"))
    for (of_runs, values), (name, every) in pairs:
        means = every[every["extension"] == "none"] if "extension" in every and "extension" not in values else every
        on = [column for column in tables.COMBINATION if column in values and column in means]
        groups = values.groupby(on)["value"]
        computed = groups.agg(mean="mean", std="std", n_runs="size", largest=lambda one: one.abs().max()).reset_index()
        both = means.merge(computed, on=on)
        if (both["n_runs_x"] == both["n_runs_y"]).any():  # else nothing in common, or the table of a single run
            others = len(every) - len(both)
            more = f"; no table has the runs of the other {others:,}" if others else ""
            yield from _compared(name, means, computed, on, f"means of the runs in {of_runs}{more}", n_values=len(both))


def _same_runs(stored: _Tables) -> Iterator[Check]:
    """Yield the check of each two tables that have values of the same runs."""
    for (name, one), (other, values) in itertools.combinations(_with(stored, "run", "value"), 2):
        on = [column for column in tables.COLUMNS[:-1] if column in one and column in values]
        if len(one.merge(values, on=on)):
            yield from _compared(name, one, values[[*on, "value"]], on, f"values of the same runs in {other}")


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
        for row in both[different].to_dict("records"):
            wrong.append(f"line {row['line']}: {column} {row[column]}, not {row[f'{column} computed']}")
    yield from (Check(FAILS, name, f"{one} ({what})") for one in wrong[:_FEW])
    if len(wrong) > _FEW:
        yield Check(FAILS, name, f"{len(wrong) - _FEW:,} more cells ({what})")
    if not wrong:
        yield Check(HOLDS, name, f"{number_of(len(both), 'row')}: {what}", n_values)


def _audited(folder: Path, stored: "pd.DataFrame | None") -> Iterator[Check]:
    """Yield the checks of the audit of each split protocol, and of the table of the experiment's own audit."""
    from protocol.auditing import audit

    items = None
    for split in sorted((folder / "splits").iterdir()):
        audited = audit(*sorted(split.glob("run*/splits.h5")))
        items = audited.runs[0].items
        for check in audit_checks(audited):
            yield check._replace(place=f"splits/{split.name}", text=f"audit: {check.text}")
    if stored is None:
        return
    if items is None or not items.with_name("content.h5").is_file():
        yield Check(UNCHECKED, "audit.csv", "the dataset of the splits (datasets/NAME) is not there")
    else:
        yield from _same_findings(folder, items, stored)


def _same_findings(folder: Path, items: Path, stored: "pd.DataFrame") -> Iterator[Check]:
    """Yield the checks of ``audit.csv``: each row is found again, and no finding is missing.

    The files stand in it as the pipeline named them, so only their paths within the experiment are compared.
    """
    from protocol.auditing.experiment import audit_experiment
    from protocol.auditing.findings import rows_of

    def paths(pattern: str, root: Path = folder) -> list[str]:
        return sorted(map(str, root.glob(pattern)))

    truths = paths("*/*/run*/ground_truth.h5")
    fitted = [str(Path(path).with_name("preprocessing.h5")) for path in truths]
    supervision = set(paths("*/*/run*/*.h5")) - {*truths, *fitted} - set(paths("splits/*/run*/*.h5"))
    findings = audit_experiment(
        items=str(items),
        content=str(items.with_name("content.h5")),
        features=paths("*/features.h5", items.parent),
        splits=paths("splits/*/run*/splits.h5"),
        preprocessing=fitted,
        ground_truths=truths,
        learned=[*paths("*/*/run*/*/selection.h5"), *sorted(supervision)],
    )
    columns = ["file", "finding", "severity", "count", "examples", "consequence"]
    lines = {
        row[:-1]: row[-1]
        for row in stored[[*columns, "line"]].astype(object).fillna("").astype(str).itertuples(index=False, name=None)
    }
    own = {place for place in lines if place[1] != "mixed-libraries"}
    prefix = _prefix(folder, [file for file, *_ in own])
    recorded = {tuple(cell.replace(prefix, "") for cell in place): lines[place] for place in own}
    computed = {tuple(str(cell).replace(f"{folder}/", "") for cell in row[: len(columns)]) for row in rows_of(findings)}
    errors = sorted(row for row in computed if row[2] == "error" and not row[0].startswith("splits/"))
    yield from (Check(FAILS, "audit.csv", f"an error, {row[1]} in {row[0]}") for row in errors[:_FEW])
    wrong = [f"line {recorded[row]}: not found again: {row[1]} in {row[0]}" for row in recorded.keys() - computed]
    wrong += [f"no row for {row[1]} in {row[0]}" for row in computed - recorded.keys()]
    yield from (Check(FAILS, "audit.csv", one) for one in sorted(wrong)[:_FEW])
    if not wrong:
        yield Check(HOLDS, "audit.csv", f"{number_of(len(recorded), 'row')}: found again by another audit")
    if others := len(lines) - len(own):
        yield Check(UNCHECKED, "audit.csv", f"{number_of(others, 'row')} on versions of libraries")


def _prefix(folder: Path, files: Sequence[str]) -> str:
    """Return the path of the experiment in the names of files, such as ``results/digits/``; empty without files."""
    for parts in (Path(file).parts for file in files):
        for n in range(len(parts)):
            if folder.joinpath(*parts[n:]).is_file():
                return "".join(f"{part}/" for part in parts[:n])
    return ""


def _from_codes(folder: Path, codes: Sequence[Path], stored: _Tables, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables of an experiment against the scores of its codes."""
    import pandas as pd

    without, summary = read_positions(folder.glob("excluded.csv")), stored["summary.csv"]
    scores = _scores(folder, codes, stored, without, progress)
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    excluded = excluded_labels(without, runs)
    computed = {"metrics.csv": scores, "runs.csv": tables.runs_of(scores)}
    computed["summary.csv"] = tables.summarise(scores, empty=summary["empty"].iloc[0], excluded=excluded)
    for name, keys in _KEYS.items():
        text = computed[name].drop(columns=[*_OTHER], errors="ignore").to_csv(index=False, float_format=DIGITS)
        on, table = list(keys), pd.read_csv(io.StringIO(text))
        n_rows = len(stored[name].merge(table, on=on))
        n_values = n_rows if name == "metrics.csv" else 0
        yield from _compared(name, stored[name], table, on, "computed from the codes", n_values)
        missing = table[on].merge(stored[name][on], on=on, how="left", indicator=True).query("_merge == 'left_only'")
        for key in missing[on].head(_FEW).itertuples(index=False, name=None):
            yield Check(FAILS, name, f"no row for {', '.join(map(str, key))} ({len(missing):,} missing)")
        if others := len(stored[name]) - n_rows:
            yield Check(UNCHECKED, name, f"{number_of(others, 'row')}, whose codes are not there")


def _scores(
    folder: Path, codes: Sequence[Path], stored: _Tables, without: Mapping[Any, Any], progress: Progress
) -> "pd.DataFrame":
    """Return the scores of all codes, as the stages of the pipeline compute them."""
    import pandas as pd

    rows, report = list[tuple[Any, ...]](), stage(progress, "counting", len(codes))
    summary = stored["summary.csv"]
    dataset, empty = (summary[name].iloc[0] for name in ("dataset", "empty"))
    for path in codes:
        feature, _, _, hasher, _ = path.relative_to(folder).parts
        own = tables.at(summary, feature=feature, hasher=hasher)
        extensions = own[["extension", "extension_bits"]].drop_duplicates().itertuples(index=False, name=None)
        asked = list(extensions), list(own["metric"].unique())
        for counted in _counts(folder, path, asked[1], without):
            place = (dataset, feature, counted.ground_truth, counted.split, counted.run, hasher, counted.n_bits)
            items = (counted.relevance, counted.counts.n_queries, counted.counts.n_database, counted.items)
            for *extension, values in evaluate_extended(counted.counts, *asked, empty=empty):
                rows += [(*place, *extension, name, *items, mean(one)) for name, one in values.items()]
        if report is not None:
            report(1)
    return pd.DataFrame(rows, columns=[*tables.COLUMNS[:-1], *tables.ITEMS, tables.COLUMNS[-1]])


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
        place = (split, int(run.removeprefix("run")))
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "counts.h5")
            counts = counting.counted(*place, files, code="", index_order=in_order, calls=1, earlier=path)
            counting.write_counts(path, counts, {place: files})
            yield from counting.read_counts(path, without=without)
