"""The checklist of an experiment, from tables written by hand and from a small experiment."""

import re

import pytest
from page_blocks import DOCS, blocks
from project import SMALL, Results

from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.report.checklist import checklist

COLUMNS = (
    "dataset,feature,ground_truth,split,hasher,n_bits,metric,mean,n_runs,extension,relevance,n_queries,n_database,"
    "excluded_queries,supervision,empty,convention,version"
)
ROWS = [
    "made,gist,class_label,{split},{hasher},8,{metric},{mean},3,{extension},class labels,10,{n},none,{learned},zero,c,1"
]
VALUES = [
    ("improved", "lsh", "mAP[worst]", 0.25, "none", 40, "none"),
    ("improved", "lsh", "mAP[best]", 0.5, "none", 40, "none"),
    ("standard", "lsh", "mAP[worst]", 0.375, "none", 90, "none"),
    ("standard", "lsh", "mAP[best]", 0.5, "none", 90, "none"),
    ("standard", "sdh", "mAP@5[retrieved]", 0.5, "none", 90, "labels"),
    ("standard", "sdh", "precision@r2", 0.5, "none", 90, "labels"),
    ("standard", "sdh", "mAP@5[all]", 0.5, "same", 90, "labels"),
]
AUDIT = "file,finding,severity,count\nrun0,train-in-database,warning,50\nrun1,train-in-database,warning,49\n"


@pytest.fixture
def folder(tmp_path):
    names = ("split", "hasher", "metric", "mean", "extension", "n", "learned")
    rows = [ROWS[0].format(**dict(zip(names, values, strict=True))) for values in VALUES]
    (tmp_path / "summary.csv").write_text("\n".join([COLUMNS, *rows, ""]))
    (tmp_path / "audit.csv").write_text(AUDIT)
    return tmp_path


def answers(folder):
    return {question: (answer, source) for _, question, answer, source in checklist(folder).rows}


def test_answers_by_hand(folder):
    found = answers(folder)
    assert found["Are the queries outside the database and the training set?"][0] == "yes"
    assert found["Is the training set outside the database?"] == (
        "no: An item of the training set is also in the database (warning; at most 50 in one file, 2 files)",
        "audit.csv: train-in-database",
    )
    # The metric of the extended codes and the one of balls play no part.
    assert found["What is the denominator of each ranking metric?"][0] == (
        "mAP[worst], mAP[best]: all relevant items; mAP@5[retrieved]: relevant items among the top K"
    )
    assert found["How are undefined values (0/0) treated?"][0] == "they count as 0"
    assert found["How much can the order of ties change mAP?"][0] == (
        "by at most 0.2500 (gist/class_label/improved, lsh, 8 bits)"
    )
    assert found["Were options selected without the test queries and their database?"][0] == (
        "this experiment selected no options"
    )
    assert found["What are the ground truth, the queries and the database of each score?"][0] == (
        "gist/class_label/improved: class labels, 10 queries, 40 database items, 3 runs, excluded queries: none; "
        "gist/class_label/standard: class labels, 10 queries, 90 database items, 3 runs, excluded queries: none"
    )
    assert found["What did each method learn from in addition to vectors?"][0] == "lsh: none; sdh: labels"
    assert found["Which convention and version of this package were used?"][0] == "c, version 1"


def test_what_is_not_measured_says_so_with_the_command(folder):
    assert {source for answer, source in answers(folder).values() if answer == "not measured"} == {
        "protocol audit --training-log",
        "protocol compare",
    }
    (folder / "audit.csv").unlink()
    text = re.sub(r".*mAP\[worst\].*\n", "", (folder / "summary.csv").read_text())
    (folder / "summary.csv").write_text(text)
    found = answers(folder)
    unaudited = [question for question, answer in found.items() if answer == ("not measured", "snakemake -- audit")]
    assert len(unaudited) == 5
    assert found["How much can the order of ties change mAP?"][0] == "not measured"


def test_a_selection_is_judged_by_the_audit(folder):
    question = "Were options selected without the test queries and their database?"
    (folder / "selection.csv").write_text("hasher,n_bits\nsdh,8\nsdh,16\n")
    assert answers(folder)[question][0] == "yes (sdh)"
    (folder / "audit.csv").write_text(f"{AUDIT}run0,truth-leak,error,1\n")
    assert answers(folder)[question][0].startswith("no: Options were chosen with the test queries, or with the ")


def test_an_altered_file_and_another_folder_are_refused(folder, tmp_path):
    (folder / "summary.csv.sha256").write_text(f"{'0' * 64}  summary.csv\n")
    with pytest.raises(ProtocolError, match=r"summary.csv: "):
        checklist(folder)
    with pytest.raises(ProtocolError, match=r"none: no summary\.csv\. Run `snakemake -- metrics` to write it\.$"):
        checklist(tmp_path / "none")


def test_the_command_fills_it_in_for_an_experiment(made_once, capsys, monkeypatch):
    monkeypatch.chdir(made_once("tiny", lambda folder: Results(folder).stages(SMALL, "all", "paper")))
    assert main(["checklist", "results/small"]) == 0
    text = capsys.readouterr().out
    assert "  Is everything fitted on the training set alone?\n    yes, except for finished codes [" in text
    assert main(["checklist", "results/small", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "Checklist of the experiment in results/small",
        "",
        "| mistake | question | answer | source |",
        "|---|---|---|---|",
    ]
    assert len(lines) == 4 + len(checklist("results/small").rows)


def test_the_page_shows_how_unlike_protocols_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = list(blocks((DOCS / "how-to" / "checklist-for-authors-and-reviewers.md").read_text()))
    (refused,) = [block for block in page if "protocol compare" in block.text]
    namespace = {}
    for block in page[: page.index(refused)]:
        block.printed(namespace)
    capsys.readouterr()
    assert main(refused.text.split()[1:]) == 2
    assert refused.shows(capsys.readouterr().err)
    assert not refused.shows("protocol: nothing to compare: all.json and part.json differ in n_queries (1; 2). See.\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("audit", "finding,severity,count\nx,error,many\n", "line 2: count: expected a number, got 'many'."),
        ("selection", "a\n1\n", "the column 'hasher' is missing."),
    ],
)
def test_other_tables_are_refused(folder, name, text, message):
    (folder / f"{name}.csv").write_text(text)
    with pytest.raises(ProtocolError) as error:
        checklist(folder)
    assert str(error.value) == f"{folder / name}.csv: {message}"


def test_an_undefined_mean_does_not_hide_the_others(folder):
    rows = (
        (folder / "summary.csv")
        .read_text()
        .replace("mAP[best],0.5,3,none,class labels,10,40", "mAP[best],,3,none,class labels,10,40")
    )
    (folder / "summary.csv").write_text(rows)
    assert answers(folder)["How much can the order of ties change mAP?"][0] == (
        "by at most 0.1250 (gist/class_label/standard, lsh, 8 bits)"
    )
