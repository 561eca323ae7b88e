"""The guide keep-a-leaderboard: its commands and its workflow accept good records, and refuse an edited one."""

import json
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from page_blocks import DOCS, blocks, folder_of_a_reader, script

from protocol.cli import main
from protocol.counting import count, pack_counts, write_counts
from protocol.provenance import storage
from protocol.scores.tables import write_csv, write_table
from protocol.truth.relevance import LabelRelevance

leaderboard = script("leaderboard")
PAGE = list(blocks((DOCS / "how-to" / "keep-a-leaderboard.md").read_text()))
(WORKFLOW,) = (yaml.safe_load(block.text) for block in PAGE if block.language == "yaml")
STEPS = [step["run"] for step in WORKFLOW["jobs"]["verify"]["steps"] if step.get("run", "").startswith("protocol")]


@pytest.fixture
def reader(tmp_path):
    """The folder of a reader who has followed the page up to the comparison, and its namespace."""
    with folder_of_a_reader(tmp_path) as namespace:
        make, score, *rest = (block for block in PAGE if block.runs)
        for block in (make, score):
            block.printed(namespace)
        yield tmp_path, namespace, rest


def test_the_commands_of_the_page_print_what_it_shows(reader, capsys):
    folder, namespace, (compare, edit) = reader
    assert compare.shows(printed := compare.printed(namespace)), printed
    assert all("itq" in (folder / f"leaderboard.{kind}").read_text() for kind in ("html", "csv", "json"))
    assert edit.shows(printed := edit.printed(namespace)), printed


def test_the_job_of_the_workflow_refuses_what_does_not_verify(reader, capsys):
    folder, namespace, (_, edit) = reader
    (command,) = map(shlex.split, STEPS)
    (folder / "site").mkdir()
    assert main(command[1:]) == 0
    shutil.copytree(folder / "methods" / "itq", folder / "methods" / "copy")
    capsys.readouterr()
    edit.printed(namespace)
    assert main(command[1:]) == 1
    *_, heading, refused = capsys.readouterr().out.splitlines()
    assert heading == "== Refused"
    assert refused.startswith("methods/lsh/lsh.json: not verified: mAP: 0.39647977162005")
    page = (folder / "site" / "index.html").read_bytes()
    ranked, _, below = page.partition(b"</style>")[2].partition(b"<script")[0].partition(b"<h2>Refused records</h2>")
    assert b"lsh" not in ranked
    assert refused.encode() in below


def test_experiments_are_gathered_into_the_same_tables_twice(tmp_path):
    made = {"inputs": {"features": "f"}, "fits": {"16": {"made_of": {"seed": 3}}}, "notes": [], "versions": {"x": "1"}}
    for name in ("a", "b"):
        codes = tmp_path / name / "gist" / "standard" / "run0" / "itq" / "codes.h5"
        storage.write(codes, {}, made)
        storage.write(codes.parents[1] / "ground_truth.h5", {"standard/class_label": [1]}, {})
        times = tmp_path / name / "benchmarks" / codes.relative_to(tmp_path / name).with_name("times.csv")
        write_csv(times, ("n_bits", "training_seconds", "encoding_seconds"), [(16, 2.5, 0.5)])
        for table in leaderboard.TABLES:
            write_table(tmp_path / name / table, pd.DataFrame({"dataset": name, "run": [0, 1]}))
    written = []
    for target in (tmp_path / "first", tmp_path / "second"):
        leaderboard.gather([tmp_path / "a", tmp_path / "b"], target)
        written.append({path.name: path.read_bytes() for path in sorted(target.iterdir())})
    assert written[0] == written[1]
    assert written[0]["summary.csv"] == b"dataset,run\na,0\na,1\nb,0\nb,1\n"
    assert written[0]["times.csv"].splitlines()[1:] == [b"gist,standard,0,itq,16,2.5,0.5"] * 2
    assert json.loads(written[0]["provenance.json"])["b"]["seeds"] == {"itq": {"16": 3}}


def test_the_queries_of_a_single_run_are_divided_into_groups(tmp_path, monkeypatch):
    """AP is 1 if the item with the query's own code is relevant, 1/2 if the other one is."""
    counts = count(np.array([[0], [0], [1], [1]], np.uint8), np.array([[0], [1]], np.uint8), 1, {
        "class_label": LabelRelevance([0, 1, 1, 1], [0, 1])
    })  # fmt: skip
    record = {"class_label": {"relevance": "class labels", "items": "digest"}}
    stored = [("improved/run0/1", pack_counts(counts), record, {})]
    (tmp_path / "gist" / "counts").mkdir(parents=True)
    write_counts(tmp_path / "gist" / "counts" / "lsh.h5", stored, {})
    monkeypatch.setattr(leaderboard, "N_GROUPS", 2)
    (row,) = leaderboard.query_groups(tmp_path)
    assert (row["hasher"], row["n_bits"], row["0"], row["1"]) == ("lsh", 1, 0.75, 1)
