"""Check the tables of an experiment against its codes, and stored tables against each other."""

import csv
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
from protocol.metrics import evaluate_extended, mean, needs
from protocol.provenance import storage
from protocol.scores import summary as tables
from protocol.scores.tables import DIGITS, read_text
from protocol.verification.result import FAILS, HOLDS, UNCHECKED, Check, Verification, audit_checks

if TYPE_CHECKING:
    import pandas as pd

_Texts = Mapping[str, list[dict[str, str]]]
"""The rows of tables, as text, by file."""
_KEYS: dict[str, tuple[str, ...]] = {
    "metrics.csv": tables.COLUMNS[:-1],
    "runs.csv": (*tables.PLACE, "run"),
    "summary.csv": tables.COMBINATION,
}
"""The columns that identify a row of each table of an experiment."""
_OTHER = ("mean", "std", "n_runs", "options", "supervision", "version")
"""Columns that are not compared with the codes: the first three are compared with metrics.csv."""
_NUMBERS = ("n_bits", "extension_bits", "run", "value", "mean", "std", "n_runs")
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
        raise ProtocolError(f"{folder}: expected the tables of an experiment (*.csv) there or in its folders.")
    return Verification(
        str(folder),
        tuple(
            check._replace(place=f"{one.name}/{check.place}") for one in folders for check in _of_folder(one, progress)
        ),
    )


def _of_folder(folder: Path, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables in a folder."""
    texts = {}
    for path in sorted(folder.glob("*.csv")):
        try:
            texts[path.name] = read_text(path)
        except ProtocolError as error:
            yield Check(FAILS, path.name, str(error))
    checks, codes = list(_means(texts)), sorted(folder.glob("*/*/run*/*/codes.h5"))
    if codes and texts.keys() >= _KEYS.keys():
        try:
            checks += _from_codes(folder, codes, texts, progress)
            checks += _audited(folder)
        except ProtocolError as error:
            checks.append(Check(FAILS, "codes", str(error)))
    yield from checks
    yield from _same_runs(texts)
    if others := [name for name in texts if name not in {check.place for check in checks}]:
        yield Check(UNCHECKED, ", ".join(others), "the codes, or the runs, from which they were computed are not there")


def _frames(texts: _Texts, *columns: str) -> "list[tuple[str, pd.DataFrame]]":
    """Return the tables with a metric and some columns, with their numbers; ``line`` is the line in the file."""
    import pandas as pd

    frames = {
        name: pd.DataFrame(rows) for name, rows in texts.items() if rows and {"metric", *columns} <= rows[0].keys()
    }
    for frame in frames.values():
        frame["line"] = range(2, len(frame) + 2)
        for name in frame.columns.intersection(_NUMBERS):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return list(frames.items())


def _means(texts: _Texts) -> Iterator[Check]:
    """Yield the check of each table of means for which another table has the values of all runs."""
    for (of_runs, values), (name, means) in itertools.product(
        _frames(texts, "run", "value"), _frames(texts, "mean", "std", "n_runs")
    ):
        if "extension" in means and "extension" not in values:
            means = means[means["extension"] == "none"]
        on = [column for column in tables.COMBINATION if column in values and column in means]
        computed = values.groupby(on)["value"].agg(
            computed_mean="mean", computed_std="std", computed_n_runs="size", most="max", least="min"
        )
        both = means.merge(computed.reset_index(), on=on)
        if not (both["n_runs"] == both["computed_n_runs"]).any():
            continue  # nothing in common, or the table of a single run
        largest = both[["most", "least"]].abs().max(axis="columns")
        unit = 10.0 ** (np.floor(np.log10(largest.where(largest > 0, 1.0))) - 8)
        wrong = []
        for column, limit in {"mean": _UNITS * unit, "std": _UNITS * unit, "n_runs": 0 * unit}.items():
            one, other = both[column], both[f"computed_{column}"]
            different = both[~(((one - other).abs() <= limit) | (one.isna() & other.isna()))]
            for row in different.to_dict("records"):
                wrong.append(f"line {row['line']}: {column} {row[column]:.9g}, not {row[f'computed_{column}']:.9g}")
        others = len(texts[name]) - len(both)
        more = f"; no table has the runs of the other {others:,}" if others else ""
        yield from _verdict(name, wrong, len(both), f"means of the runs in {of_runs}{more}", len(both))


def _same_runs(texts: _Texts) -> Iterator[Check]:
    """Yield the check of each two tables that have values of the same runs."""
    for (name, one), (other, values) in itertools.combinations(_frames(texts, "run", "value"), 2):
        on = [column for column in tables.COLUMNS[:-1] if column in one and column in values]
        both = one.merge(values, on=on, suffixes=("", "_other"))
        if len(both):
            rows = both[both["value"] != both["value_other"]].to_dict("records")
            wrong = [f"line {row['line']}: {row['value']:.9g}, not {row['value_other']:.9g}" for row in rows]
            yield from _verdict(name, wrong, len(both), f"values of the same runs in {other}")


def _verdict(name: str, wrong: Sequence[str], n_rows: int, what: str, n_values: int = 0) -> Iterator[Check]:
    """Yield failed checks for the first wrong cells, or else one that holds for all rows."""
    yield from (Check(FAILS, name, f"{one} ({what})") for one in wrong[:_FEW])
    if len(wrong) > _FEW:
        yield Check(FAILS, name, f"{len(wrong) - _FEW:,} more cells ({what})")
    if not wrong:
        yield Check(HOLDS, name, f"{number_of(n_rows, 'row')}: {what}", n_values)


def _audited(folder: Path) -> Iterator[Check]:
    """Yield the checks of the audit of each split protocol, which requires the dataset's items.h5."""
    from protocol.auditing import audit

    for split in sorted((folder / "splits").iterdir()):
        for check in audit_checks(audit(*sorted(split.glob("run*/splits.h5")))):
            yield check._replace(place=f"splits/{split.name}", text=f"audit: {check.text}")


def _from_codes(folder: Path, codes: Sequence[Path], texts: _Texts, progress: Progress) -> Iterator[Check]:
    """Yield the checks of the tables of an experiment against the scores of its codes."""
    without = read_positions(folder.glob("excluded.csv"))
    scores, empty = _scores(folder, codes, texts, without, progress), texts["summary.csv"][0]["empty"]
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    computed = {"metrics.csv": scores, "runs.csv": tables.runs_of(scores)}
    computed["summary.csv"] = tables.summarise(scores, empty=empty, excluded=excluded_labels(without, runs))
    for name, keys in _KEYS.items():
        lines = computed[name].to_csv(index=False, float_format=DIGITS).splitlines()
        expected = {tuple(row[key] for key in keys): row for row in csv.DictReader(lines)}
        wrong, n_rows = [], 0
        for line, row in enumerate(texts[name], 2):
            key = tuple(row[key] for key in keys)
            n_rows += key in expected
            wrong += [
                f"line {line}: {column} {row.get(column)}, not {value}"
                for column, value in expected.pop(key, {}).items()
                if column in row and column not in _OTHER and row[column] != value
            ]
        wrong += [f"no row for {', '.join(key)}" for key in expected]
        n_values = n_rows if name == "metrics.csv" else 0
        yield from _verdict(name, wrong, n_rows, "computed from the codes", n_values)
        if others := len(texts[name]) - n_rows:
            yield Check(UNCHECKED, name, f"{number_of(others, 'row')}, whose codes are not there")


def _scores(
    folder: Path, codes: Sequence[Path], texts: _Texts, without: Mapping[Any, Any], progress: Progress
) -> "pd.DataFrame":
    """Return the scores of all codes with nine digits, as the stages of the pipeline compute and write them."""
    import pandas as pd

    rows, report = list[tuple[Any, ...]](), stage(progress, "counting", len(codes))
    dataset, empty = (texts["summary.csv"][0][name] for name in ("dataset", "empty"))
    for path in codes:
        feature, _, _, hasher, _ = path.relative_to(folder).parts
        own = [row for row in texts["summary.csv"] if (row["feature"], row["hasher"]) == (feature, hasher)]
        extensions = dict.fromkeys((row["extension"], int(row["extension_bits"])) for row in own)
        metrics = list(dict.fromkeys(row["metric"] for row in own))
        for stored in _counts(folder, path, metrics, without):
            place = (dataset, feature, stored.ground_truth, stored.split, stored.run, hasher, stored.n_bits)
            items = (stored.relevance, stored.counts.n_queries, stored.counts.n_database, stored.items)
            for *extension, values in evaluate_extended(stored.counts, extensions, metrics, empty=empty):
                rows += [(*place, *extension, name, *items, float(DIGITS % mean(one))) for name, one in values.items()]
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
    in_order = "index_average_precision" in needs(metrics)
    for split in splits:
        files = {"codes": codes, "ground_truths": truth, "splits": folder / "splits" / split / run / "splits.h5"}
        place = (split, int(run.removeprefix("run")))
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "counts.h5")
            counts = counting.counted(*place, files, code="", index_order=in_order, calls=1, earlier=path)
            counting.write_counts(path, counts, {place: files})
            yield from counting.read_counts(path, without=without)
