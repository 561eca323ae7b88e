"""Finished codes in the pipeline, and the code on the page that describes how to write them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from browser import opened
from project import SMALL, Project

from protocol import codes, load_split
from protocol.provenance import storage

pytestmark = pytest.mark.ci
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "train-on-our-split.md").read_text()
RESULTS = "results/small"
FILES = {
    "query": "codes/{split}/run{run}/itq/query_{n_bits}.npy",
    "database": "codes/{split}/run{run}/itq/database_{n_bits}.npy",
}
METHODS = {"exported": FILES, "exported_part": FILES | {"splits": ["improved"], "n_bits": [16]}}
CELL = ["feature", "ground_truth", "split", "n_bits", "extension", "extension_bits", "metric"]


def blocks(language):
    """Return the page's blocks of code, for the small experiment with its two runs."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)
    return [
        text.replace("results/digits/", f"{RESULTS}/").replace("RUNS, SPLITS = 16, 10", "RUNS, SPLITS = 16, 2")
        for text in found
    ]


def python(project, *parts):
    code = "\n".join(parts)
    environment = project.environment() | {"PYTHONPATH": str(project.folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def export(project):
    """Write the codes of itq, in the order of the splits, to files of a user."""
    for split in SMALL["splits"]:
        for run in range(SMALL["runs"]):
            parts = load_split(project.folder / RESULTS / "splits" / split / f"run{run}" / "splits.h5")
            folder = project.folder / "codes" / split / f"run{run}" / "itq"
            folder.mkdir(parents=True, exist_ok=True)
            stored = storage.read(project.folder / RESULTS / "gist" / "thesis" / f"run{run}" / "itq" / "codes.h5")
            for n_bits, pair in codes.of_split(stored, parts.database).items():
                for role, packed in pair.items():
                    np.save(folder / f"{role}_{n_bits}.npy", codes.unpack(packed, n_bits))


@pytest.fixture(scope="module")
def scored(small, tmp_path_factory, root):
    """A copy of `small` with the codes of the page's program, and itq's codes under two other names."""
    pytest.importorskip("torch")
    made = Project(tmp_path_factory.mktemp("scored"), root)
    for part in ("results", ".snakemake"):
        shutil.copytree(small.folder / part, made.folder / part)
    export(made)
    python(made, blocks("python")[2])
    (page_config,) = blocks("yaml")
    paper = {"ground_truths": SMALL["ground_truths"], "splits": ["improved"]}
    made.write(SMALL | {"codes": METHODS | yaml.safe_load(page_config)["codes"], "paper": paper})
    jobs = {"finished_codes": 6, "count": 6, "score": 3, "metrics": 1, "claims": 1, "display": 2, "report": 1}
    assert made.jobs("report") == jobs
    done = made.run("all", "paper")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def changed(small, project):
    """A copy of `small` that names the codes of itq and may be changed."""
    for part in ("results", ".snakemake"):
        shutil.copytree(small.folder / part, project.folder / part)
    export(project)
    project.write(SMALL | {"codes": METHODS})
    return project


def scores(project, hasher, name="summary.csv"):
    table = pd.read_csv(project.folder / RESULTS / name)
    return table[table["hasher"] == hasher].drop(columns="hasher").reset_index(drop=True)


@pytest.mark.parametrize("name", ["summary.csv", "metrics.csv"])
def test_exported_codes_score_as_the_hasher_that_made_them(scored, name):
    itq, *exported = (scores(scored, method, name) for method in ("itq", "exported", "exported_part"))
    if name == "summary.csv":
        assert [set(table.pop("supervision")) for table in (itq, *exported)] == [{"none"}, {"unknown"}, {"unknown"}]
    part = itq[(itq["split"] == "improved") & (itq["n_bits"] == 16)].reset_index(drop=True)
    assert len(part)
    for table, expected in zip(exported, (itq, part), strict=True):
        pd.testing.assert_frame_equal(table, expected)


def test_the_scores_of_the_hashers_do_not_change(scored, small):
    for hasher in SMALL["hashers"]:
        pd.testing.assert_frame_equal(scores(scored, hasher), scores(small, hasher))


def test_the_page_s_network_learns(scored):
    rows = scores(scored, "my_network")
    of_labels = rows[
        (rows["metric"] == "mAP") & (rows["ground_truth"] == "class_label") & (rows["extension"] == "none")
    ]
    assert of_labels["split"].tolist() == ["improved", "standard"]
    assert (of_labels["n_runs"] == 2).all()
    assert (of_labels["mean"] > 0.5).all()


def test_they_are_in_every_table_and_figure(scored, browser):
    displayed = {path: pd.read_csv(path) for path in sorted((scored.folder / RESULTS).glob("gist/display/*/*.csv"))}
    assert len(displayed) == 12
    for path, table in displayed.items():
        found, expected = set(table["hasher"]), {"lsh", "itq", "exported"}
        if path.stem != "histogram":  # of the shortest codes
            expected |= {"my_network"} | ({"exported_part"} if "improved" in path.parts else set())
        assert found == expected, path
    text = (scored.folder / RESULTS / "tables" / "mAP-gist-improved.tex").read_text()
    itq, exported = (re.search(rf"^{name} & (.*)$", text, re.M)[1] for name in ("ITQ", "exported"))
    assert exported == itq
    assert re.search(r"^exported\\_part & -- & ", text, re.M)
    page = scored.folder / RESULTS / "report.html"
    with opened(browser, page, width=900) as (tab, wrong):
        text = tab.evaluate("document.body.textContent")
        assert wrong == []
    assert "The codes of exported, exported_part and my_network were made outside this pipeline" in text
    assert "· 5 hashers ·" in text
    assert "Finished codes, made outside this pipeline; how they were learned is not recorded." in text
    figures = scored.folder / RESULTS / "figures"
    for name in ("scores-mAP", "precision-at-n-16", "pr-curves"):
        assert "exported" in (figures / f"{name}-gist-class-label-improved.svg").read_text(), name


def test_the_file_of_codes_records_its_input_files(scored):
    path = scored.folder / RESULTS / "gist" / "thesis" / "run1" / "exported_part" / "codes.h5"
    record = storage.read_provenance(path)
    files = [f"codes/improved/run1/itq/{role}_16.npy" for role in ("database", "query")]
    assert record["parameters"]["files"] == {file: storage.file_sha256(scored.folder / file) for file in files}
    assert any("'exported_part' were made outside this pipeline" in note for note in record["notes"])
    assert set(storage.grouped(storage.read(path))) == {"improved"}
    counts = storage.read_provenance(path.with_name("counts.h5"))
    assert counts["inputs"]["codes"] == record["digest"]


def test_a_changed_file_scores_its_own_run_again(scored):
    assert scored.jobs("report", "paper") == {}
    file = scored.folder / "codes" / "improved" / "run1" / "query_16.npy"
    before = np.load(file)
    np.save(file, ~before)
    again = {"finished_codes": 1, "count": 1, "score": 1, "metrics": 1, "claims": 1, "display": 2, "report": 1}
    assert scored.jobs("report") == again
    np.save(file, before)
    assert scored.jobs("report") == {}


def test_the_five_lines_read_what_load_split_reads(small):
    with_package, without, _ = blocks("python")
    assert "protocol" not in without
    assert len(list(filter(None, without.splitlines()))) == 5
    compared = (
        "for name, rows in partitions.items():\n"
        "    assert (getattr(split, name) == rows).all() and rows.dtype == getattr(split, name).dtype\n"
        "assert (labels == split.labels).all()\n"
        "print(len(partitions), split, sep='\\n')\n"
    )
    number, *lines = python(small, with_package, without, compared).splitlines()
    assert number == "5"
    assert lines[1].split() == ["query", "50"]


def test_a_missing_file_stops_before_any_job(changed):
    (changed.folder / "codes" / "improved" / "run1" / "itq" / "query_8.npy").unlink()
    done = changed.run("-n")
    assert done.returncode != 0
    assert (
        "codes.exported.query: expected a file for the improved split, run 1 and 8 bits, got none at "
        "'codes/improved/run1/itq/query_8.npy'" in done.stdout + done.stderr
    )
    assert "Job stats" not in done.stdout


def test_another_number_of_rows_stops_before_any_job(changed):
    changed.write(SMALL | {"codes": {"mine": METHODS["exported_part"]}})
    file = changed.folder / "codes" / "improved" / "run0" / "itq" / "database_16.npy"
    np.save(file, np.load(file)[:-1])
    done = changed.run("-n", "counts")
    assert done.returncode != 0
    printed = done.stdout + done.stderr
    assert (
        "codes.mine.database: codes/improved/run0/itq/database_16.npy: 1,296 codes for the 1,297 items of `database` "
        "in the improved split." in printed
    )
    assert "Traceback" not in printed
