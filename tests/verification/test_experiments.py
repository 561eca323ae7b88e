"""The tables of an experiment are recomputed from its codes, and stored tables from each other."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from project import SMALL, Results

from protocol.cli import main
from protocol.provenance import storage
from protocol.verification import verify

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture(scope="session")
def tiny(made_once):
    """The results of the small experiment, which the workflow's tests also read."""
    return made_once("tiny", lambda folder: Results(folder).stages(SMALL, "all", "paper")) / "results"


@pytest.fixture
def folder(tiny, tmp_path):
    """A copy of the experiment that a test may change, without checksums, which somebody who edits it would remove."""
    shutil.copytree(tiny, tmp_path / "results")
    for name in ("metrics", "runs", "summary"):
        (tmp_path / "results" / "small" / f"{name}.csv.sha256").unlink()
    return tmp_path / "results" / "small"


def cell(path, line, column, edit):
    """Change one cell of a table."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index(column)
    rows[line - 1][at] = edit(rows[line - 1][at])
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def digit(text, at=-1):
    """Return a number with another digit."""
    return f"{text[:at]}{(int(text[at]) + 5) % 10}{text[at:][1:]}"


def test_all_tables_of_an_experiment_verify(tiny, capsys):
    seen = []
    verification = verify(tiny / "small", progress=lambda *step: seen.append(step))
    lines = str(verification).split("\n")
    assert verification.holds
    n_values = 2 * 2 * 2 * 2 * 2 * 3 * len(SMALL["metrics"])  # truths, splits, runs, hashers, lengths, extensions
    assert f"holds        small/metrics.csv: {n_values:,} rows: computed from the codes" in lines
    assert f"holds        small/summary.csv: {n_values // 2} rows: means of the runs in metrics.csv" in lines
    assert "holds        small/runs.csv: 8 rows: computed from the codes" in lines
    unchecked = [line for line in lines if line.startswith("not checked ")]
    assert unchecked == ["not checked  small/audit.csv: `protocol audit` audits the splits again"]
    assert seen[-1] == (4, 4, "counting")
    assert verification.n_values == n_values * 3 // 2
    assert main(["verify", str(tiny / "small")]) == 0
    assert "small: verified: " in capsys.readouterr().out


EDITS = {
    "metrics": {"value": digit, "n_bits": lambda text: "32"},
    "runs": {"items": lambda text: f"{'0' if text[0] != '0' else '1'}{text[1:]}", "n_database": digit},
    "summary": {
        "mean": lambda text: digit(text, -2),
        "std": lambda text: digit(text, 4),
        "n_runs": lambda text: "3",
        "ties": lambda text: f"{text} ",
        "excluded_queries": lambda text: "1 query (0123456789ab)",
    },
}


@pytest.mark.parametrize("table", EDITS)
def test_one_cell_of_a_table_is_refused_with_its_line(table, folder):
    for line, (column, edit) in enumerate(EDITS[table].items(), 4):
        cell(folder / f"{table}.csv", line, column, edit)
    found = [check.text for check in verify(folder).failures if check.subject == f"small/{table}.csv"]
    for line, column in enumerate(EDITS[table], 4):
        start = "no row for digits, gist, " if column == "n_bits" else f"line {line}: {column} "
        assert any(text.startswith(start) for text in found), (column, found)


def test_an_error_in_the_table_of_the_audit_is_a_failure(folder):
    (folder / "audit.csv.sha256").unlink()
    assert verify(folder).holds
    cell(folder / "audit.csv", 3, "severity", lambda _: "error")
    (text,) = [check.text for check in verify(folder).failures if check.subject == "small/audit.csv"]
    assert text.startswith("line 3: an error, ")


def test_one_bit_of_the_codes_is_refused(folder):
    (path,) = folder.glob("gist/*/run1/itq/codes.h5")
    arrays, record = storage.read(path), storage.read_provenance(path)
    arrays["16/query"] = arrays["16/query"] ^ (np.arange(arrays["16/query"].size).reshape(-1, 2) == 4).astype(np.uint8)
    record.pop("digest")
    storage.write(path, arrays, record)
    texts = [check.text for check in verify(folder).failures]
    assert texts
    assert all(text.startswith(("line ", "1", "2", "3", "4", "5", "6", "7", "8", "9")) for text in texts)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert [check.subject for check in verify(folder).failures] == ["small/codes"]
    path.unlink()
    text = str(verify(folder))
    assert "not checked  small/metrics.csv: 168 rows, not of codes that are there" in text


def test_the_stored_reference_tables_verify_as_far_as_their_runs_are_there():
    verification = verify(REFERENCE)
    assert verification.holds
    checks = {(check.outcome, check.subject): check.text for check in verification.checks}
    assert checks["holds", "cifar10/full.csv"].startswith("192 rows: means of the runs in map_by_run.csv; no table")
    assert checks["holds", "learned/summary.csv"] == "681 rows: means of the runs in metrics.csv"
    assert checks["holds", "supervised/summary.csv"] == "1,836 rows: means of the runs in runs.csv"
    unchecked = " ".join(place for outcome, place in checks if outcome == "not checked")
    for name in ("thesis/radii.csv", "hashers/map_by_run.csv", "leak/leak.csv", "matched.csv"):
        assert name in unchecked


@pytest.mark.parametrize(("column", "at"), [("mean", -2), ("std", 5)])
def test_one_digit_of_a_stored_table_is_refused(column, at, tmp_path):
    for name in ("full", "map_by_run"):
        shutil.copy(REFERENCE / "cifar10" / f"{name}.csv", tmp_path)
    with open(tmp_path / "full.csv", newline="") as file:
        line = next(line for line, row in enumerate(csv.DictReader(file), 2) if row["metric"] == "mAP")
    cell(tmp_path / "full.csv", line, column, lambda text: digit(text, at))
    assert any(check.text.startswith(f"line {line}: {column} 0.") for check in verify(tmp_path).failures)


def test_text_in_place_of_a_number_is_a_failed_check(here, capsys):
    for name in ("full", "map_by_run"):
        shutil.copy(REFERENCE / "cifar10" / f"{name}.csv", here)
    cell(here / "full.csv", 2, "n_bits", lambda _: "x")
    assert verify(here).failures[0].text.startswith("ValueError: You are trying to merge on ")
    cell(here / "full.csv", 2, "mean", lambda _: "x")
    assert main(["verify", "."]) == 1
    assert f"not verified: {here.name}/full.csv: Unable to parse string 'x'" in capsys.readouterr().out


def test_other_means_in_the_folder_of_an_experiment_are_not_compared_with_its_runs(tmp_path):
    keys = "dataset,feature,ground_truth,split,hasher,n_bits,metric"
    row = "digits,gist,class_label,standard,itq,16,mAP"
    (tmp_path / "metrics.csv").write_text(f"{keys},run,value\n{row},0,0.25\n{row},1,0.75\n")
    for name, mean in (("summary", 0.5), ("others", 0.9)):
        (tmp_path / f"{name}.csv").write_text(f"{keys},mean,std,n_runs\n{row},{mean},0.353553391,2\n")
    verification = verify(tmp_path)
    assert verification.holds
    outcomes = {check.subject.partition("/")[2]: check.outcome for check in verification.checks}
    assert outcomes == {"summary.csv": "holds", "metrics.csv, others.csv": "not checked"}
