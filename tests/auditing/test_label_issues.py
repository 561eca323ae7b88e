"""Doubtful labels: queries that other annotators doubt, from tables in the formats of the published ones.

The published files are not part of the project, so the tests create arrays with the shapes and dtypes that CIFAR-10H
documents. `inputs.yaml` has tables of items, and the answers of cleanlab/label-errors.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing import Dataset, Split
from protocol.auditing.inputs.label_issues import label_issues_from
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.provenance import storage

N, N_TEST = 60, 20
Y = np.arange(N) % 5
LISTS = {"query": np.arange(40, 50), "database": np.arange(40)}
LABELLED = Dataset(n_items=N, y=Y)


def annotators(rows, *, doubted=(), unsure=()):
    """Return the number of annotators per class: 45 of 50 gave the label, fewer for doubtful and unsure items."""
    counts = np.zeros((len(rows), 5), dtype=np.int64)
    for position, row in enumerate(rows):
        shares = [15, 35, 0, 0, 0] if row in doubted else [22, 7, 7, 7, 7] if row in unsure else [45, 5, 0, 0, 0]
        counts[position] = np.roll(shares, Y[row])
    return counts


def found(audited):
    (made,) = audited.findings.values()
    return [(one.severity, one.count, one.items) for one in made if one.name == "doubtful-label"]


def sentence_about(audited):
    return next(line for lines in audited.about.values() for line in lines if line.startswith("Doubtful labels"))


TABLE = annotators(range(N), doubted=(41, 3), unsure=(44,))


@pytest.mark.parametrize("table", [TABLE, TABLE / TABLE.sum(axis=1, keepdims=True), TABLE.astype(np.float32)])
def test_a_label_is_doubtful_if_another_is_more_frequent_or_less_than_half_give_it(table):
    audited = audit(**LISTS, labels=Y, label_issues=table)
    assert found(audited) == [("warning", 2, ("41", "44"))]
    assert sentence_about(audited) == "Doubtful labels from label_issues, which covers 10 of 10 queries."
    (finding,) = (one for one in audited.findings["query database"] if one.name == "doubtful-label")
    assert "annotators gave another one more often, or fewer than 50% of them gave this one" in finding.consequence
    assert finding.fix
    assert "doubtful-label (needs label issues)" not in audited.to_text(why=True)
    assert "doubtful-label (needs label issues)" in audit(**LISTS).to_text(why=True)
    listed = audit(**LISTS, label_issues=[41, 3])
    assert found(listed) == [("warning", 1, ("41",))]
    assert sentence_about(listed) == "Doubtful labels from label_issues, which lists only doubtful items."


@pytest.mark.parametrize("wrong", [1.5, -1, "half", float("nan")])
def test_a_threshold_that_is_not_a_share_is_refused(wrong):
    with pytest.raises(ProtocolError, match=rf"^label_agreement must be a finite number from 0 to 1, got {wrong!r}\.$"):
        audit(**LISTS, labels=Y, label_issues=TABLE, label_agreement=wrong)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=10, max_size=10),
    agreement=st.sampled_from((0, 0.3, 0.5, 1)),
)
def test_the_findings_match_a_loop_over_the_queries(counts, agreement):
    table = annotators(range(N))
    table[40:50] = counts
    expected = []
    for row in LISTS["query"]:
        same, total = table[row][Y[row]], sum(table[row])
        if total and (same < max(table[row]) or same / total < agreement):
            expected.append(str(row))
    audited = audit(**LISTS, labels=Y, label_issues=table, label_agreement=agreement)
    assert [item for *_, items in found(audited) for item in items] == expected
    n_judged = int((table[40:50].sum(axis=1) > 0).sum())
    others = "" if n_judged == 10 else "; the others were not checked"
    assert sentence_about(audited).endswith(f"which covers {n_judged} of 10 queries{others}.")


ORDER = np.argsort(Y, kind="stable")  # so that the positions of classes are distinguishable
PARTS = {"test": np.arange(20, 40)}


@pytest.mark.parametrize(
    ("table", "dataset", "doubtful", "assumed"),
    [
        (TABLE[-N_TEST:], Dataset(n_items=N, y=(Y + (np.arange(N) < 40)) % 5), [41, 44], "the last 20 items"),
        (TABLE[ORDER][:N_TEST], Dataset(n_items=N, y=Y[ORDER]), [], "the first 20 items"),
        (annotators(range(20, 40), doubted=[25]), Dataset(n_items=N, y=Y, official=PARTS), [25], "the part 'test'"),
    ],
)
def test_a_table_of_the_last_or_first_items_or_of_an_official_part_finds_its_rows(table, dataset, doubtful, assumed):
    issues = label_issues_from(table, dataset, N)
    assert np.flatnonzero(issues.doubtful).tolist() == doubtful
    assert issues.judged.sum() == N_TEST
    assert issues.source == f"label_issues (its rows are assumed to be {assumed})"


BAD = {
    "no labels": (TABLE, Dataset(), "the dataset's labels are needed (labels), one per item"),
    "several": (TABLE, Dataset(n_items=N, y=np.eye(5, dtype=bool)[Y]), "the dataset's labels are needed (labels), one"),
    "order": (
        np.roll(TABLE, 2, axis=1),
        LABELLED,
        "the annotators' most frequent label is that of the dataset for only 0.0%",
    ),
    "rows": (np.ones((70, 5)), LABELLED, "shape (70, 5) fits neither all 60 items of 5 classes nor the first or"),
    "columns": (TABLE[:, :4], LABELLED, "shape (60, 4) fits neither all 60 items of 5 classes nor the first or"),
    "either": (annotators(range(50)), LABELLED, "50 rows for 60 items, which may be the first or the last ones."),
    "negative": (-TABLE, LABELLED, "counts or shares of annotators can't be negative, NaN or infinite."),
    "NaN": (TABLE * np.nan, LABELLED, "counts or shares of annotators can't be negative, NaN or infinite."),
    "cube": (TABLE[None], LABELLED, "expected the number of annotators who gave each class, shape (n_items,"),
    "words": (TABLE.astype(str), LABELLED, "expected the number of annotators who gave each class, shape (n_items,"),
}


@pytest.mark.parametrize("case", BAD)
def test_annotators_that_do_not_match_the_dataset_are_refused_in_one_line(case):
    table, dataset, message = BAD[case]
    with pytest.raises(ProtocolError) as error:
        label_issues_from(table, dataset, N)
    assert str(error.value).startswith(f"label_issues: {message}")
    assert "\n" not in str(error.value)


def test_the_positions_of_doubtful_queries_are_those_of_their_codes():
    split = Split({"query": np.array([44, 40, 41, 44]), "database": np.arange(40)}, LABELLED)
    assert label_issues_from(TABLE, LABELLED, N).queries(split).tolist() == [0, 2, 3]


def test_the_command_warns_and_writes_all_queries(tmp_path, monkeypatch, capsys):
    """The split and dataset are those of the pipeline; CIFAR-10's test images are the last 10,000 of 60,000."""
    monkeypatch.chdir(tmp_path)
    items = {"ids": [f"i{row}.png".encode() for row in range(N)], "labels": Y, "class_names": [b"a"] * 5}
    items["partitions/test"] = np.arange(40, 60)
    storage.write("items.h5", items, storage.provenance("dataset x", parameters={}, inputs={}))
    record = storage.provenance("split from_lists", parameters={}, inputs={"labels": "items.h5"}, seed=None)
    storage.write("splits.h5", LISTS | {"query": np.arange(49, 39, -1)}, record)
    table = annotators(range(40, 60), doubted=range(40, 48))
    np.save("probs.npy", table / table.sum(axis=1, keepdims=True))
    arguments = ["audit", "splits.h5", "--label-issues=probs.npy", "--json=found.json", "--write-affected=doubtful.txt"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "doubtful-label: 8\n           i40.png, i41.png, i42.png, i43.png, i44.png, ...\n" in printed
    assert "its rows are assumed to be the part 'test'" in " ".join(printed.split())
    (one,) = (one for one in json.loads(Path("found.json").read_text()) if one["finding"] == "doubtful-label")
    assert one["items"] == [f"i{row}.png" for row in range(40, 48)]
    assert Path("doubtful.txt").read_text() == "".join(f"{row}\n" for row in range(2, 10))  # in the order of the list
    assert audit("splits.h5", label_issues="probs.npy").affected["splits.h5"].tolist() == list(range(2, 10))
    assert audit("splits.h5").affected == {}
    assert main([*arguments, "--label-agreement", "0.2", "--fail-on", "warning"]) == 1
    with pytest.raises(SystemExit):
        main([*arguments, "--label-agreement", "2"])
    assert "argument --label-agreement: expected a share from 0 to 1, got 2." in capsys.readouterr().err
