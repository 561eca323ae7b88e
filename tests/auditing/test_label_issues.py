"""Doubtful labels: queries that other annotators doubt, from tables in the formats of the published ones.

The published files are not part of the project, so the tests create files in the same formats: with the shapes and
dtypes that CIFAR-10H documents, and the keys of cleanlab/label-errors.
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
IDS = np.array([f"i{row}.png" for row in range(N)])


def annotators(rows, *, total=50, doubted=(), unsure=()):
    """Return the number of annotators per class: nearly all gave the label, except for doubtful and unsure items."""
    counts = np.zeros((len(rows), 5), dtype=np.int64)
    for place, row in enumerate(rows):
        share = 0.3 if row in doubted else 0.45 if row in unsure else 0.9
        counts[place, Y[row]] = share * total
        other = 4 if row in unsure else 1
        for step in range(1, other + 1):
            counts[place, (Y[row] + step) % 5] += round((1 - share) * total / other)
    return counts


def found(audited):
    (made,) = audited.findings.values()
    return [(one.severity, one.count, one.items) for one in made if one.name == "doubtful-label"]


def sentence_about(audited):
    return next(line for lines in audited.about.values() for line in lines if line.startswith("Doubtful labels"))


TABLE = annotators(range(N), doubted=(41, 3), unsure=(44,))
EXPECTED = [("warning", 2, ("41", "44"))]


# Tables with one row of annotators' votes per item


@pytest.mark.parametrize("table", [TABLE, TABLE / TABLE.sum(axis=1, keepdims=True), TABLE.astype(np.float32)])
def test_a_label_is_doubtful_if_another_is_more_frequent_or_less_than_half_give_it(table):
    audited = audit(**LISTS, labels=Y, label_issues=table)
    assert found(audited) == EXPECTED
    assert sentence_about(audited) == "Doubtful labels from label_issues, which covers 10 of 10 queries."
    (finding,) = (one for one in audited.findings["query database"] if one.name == "doubtful-label")
    assert "annotators gave another one more often, or fewer than 50% of them gave this one" in finding.consequence
    assert finding.fix
    assert "doubtful-label (needs label issues)" not in str(audited)
    assert "doubtful-label (needs label issues)" in str(audit(**LISTS))


def test_the_positions_of_doubtful_queries_are_those_of_their_codes():
    issues = label_issues_from(TABLE, Dataset(n_items=N, y=Y), N)
    split = Split({"query": np.array([44, 40, 41, 44]), "database": np.arange(40)}, Dataset(n_items=N, y=Y))
    assert issues.queries(split).tolist() == [0, 2, 3]


def test_the_threshold_is_an_option():
    known = {**LISTS, "labels": Y, "label_issues": TABLE}
    assert found(audit(**known, label_agreement=0.4)) == [("warning", 1, ("41",))]
    assert found(audit(**known, label_agreement=0)) == [("warning", 1, ("41",))]
    assert found(audit(**known, label_agreement=0.95))[0][1] == 10
    for wrong in (1.5, -1, "half", float("nan")):
        with pytest.raises(ProtocolError, match=r"^label_agreement: expected a "):
            audit(**known, label_agreement=wrong)


def test_a_table_of_the_last_or_first_items_or_of_an_official_part_finds_its_rows(tmp_path):
    last, first = TABLE[-N_TEST:], annotators(range(50))
    labels = np.where(np.arange(N) < 40, (Y + 1) % 5, Y)
    audited = audit(**LISTS, labels=labels, label_issues=last)
    assert found(audited) == EXPECTED
    assert sentence_about(audited).startswith(
        "Doubtful labels from label_issues (its rows are assumed to be the last 20 items), which covers 10 of"
    )
    y = np.sort(Y)  # so that the positions are distinguishable
    order = np.argsort(Y, kind="stable")
    part = audit(query=[50, 51], database=[0, 1], labels=y, label_issues=TABLE[order][:N_TEST])
    assert (
        "(its rows are assumed to be the first 20 items), which covers 0 of 2 queries; the others were not checked"
        in sentence_about(part)
    )
    assert found(part) == []
    with pytest.raises(
        ProtocolError, match="expected a row for each of 60 items, got 50, which may be the first or the"
    ):
        label_issues_from(first, Dataset(n_items=N, y=Y), N)
    official = Dataset(n_items=N, y=Y, official={"test": np.arange(20, 40)})
    issues = label_issues_from(annotators(range(20, 40), doubted=(25,)), official, N)
    assert np.flatnonzero(issues.doubtful).tolist() == [25]
    assert issues.source.endswith("(its rows are assumed to be the part 'test')")
    # CIFAR-10 by the pipeline: the test images are the last 10,000 of 60,000.
    items, file = tmp_path / "items.h5", tmp_path / "splits.h5"
    known = {"ids": np.char.encode(IDS), "labels": Y, "class_names": [b"a", b"b", b"c", b"d", b"e"]}
    known["partitions/test"] = np.arange(40, 60)
    storage.write(items, known, storage.provenance("dataset x", parameters={}, inputs={}))
    made = storage.provenance("split from_lists", parameters={}, inputs={"labels": items}, seed=None)
    storage.write(file, dict(LISTS), made)
    np.save(tmp_path / "probs.npy", last / last.sum(axis=1, keepdims=True))
    audited = audit(file, label_issues=tmp_path / "probs.npy")
    assert found(audited) == [("warning", 2, ("i41.png", "i44.png"))]
    assert "its rows are assumed to be the part 'test'" in sentence_about(audited)


def test_an_item_without_annotators_was_not_checked():
    table = TABLE.copy()
    table[[41, 42]] = 0
    audited = audit(**LISTS, labels=Y, label_issues=table)
    assert found(audited) == [("warning", 1, ("44",))]
    assert (
        sentence_about(audited)
        == "Doubtful labels from label_issues, which covers 8 of 10 queries; the others were not checked."
    )


BAD = {
    "no labels": ({}, TABLE, "expected the dataset's labels (labels), one for each item"),
    "several labels": ({"labels": np.eye(5, dtype=int)[Y]}, TABLE, "expected the dataset's labels (labels), one"),
    "other order": ({"labels": Y}, np.roll(TABLE, 2, axis=1), "expected the annotators' most frequent labels to"),
    "rows": ({"labels": Y}, np.ones((70, 5)), "expected a row for each of 60 items (or the first or last of them)"),
    "columns": ({"labels": Y}, TABLE[:, :4], "expected a row for each of 60 items (or the first or last of them)"),
    "negative": ({"labels": Y}, -TABLE, "expected counts or shares of annotators, got a negative number, NaN or"),
    "NaN": ({"labels": Y}, TABLE * np.nan, "expected counts or shares of annotators, got a negative number, NaN or"),
    "cube": ({"labels": Y}, TABLE[None], "expected the number of annotators who gave each class, shape (n_items,"),
    "words": ({"labels": Y}, TABLE.astype(str), "expected the number of annotators who gave each class, shape"),
    "ids": ({}, ["a", "b"], "expected row numbers >= 0, as in the lists, got 'a'."),
    "large rows": ({"labels": Y}, [7, 99], "expected row numbers from 0 to 59, got 99."),
    "no rows": ({}, [77, 99], "expected items of the split, got none among 2 items."),
    "ragged": ({}, [[0], [1, 2]], "expected an array, got list"),
}


@pytest.mark.parametrize("case", BAD)
def test_issues_that_do_not_match_the_dataset_are_refused_in_one_line(case):
    known, issues, message = BAD[case]
    with pytest.raises(ProtocolError) as error:
        audit(**LISTS, **known, label_issues=issues)
    assert str(error.value).startswith(f"label_issues: {message}")
    assert "\n" not in str(error.value)


# Tables of items


def audited_table(text, folder, **known):
    file = folder / "issues.csv"
    file.write_text(text)
    return audit(**(LISTS | known), label_issues=str(file))


TABLES = {
    "suggested": "id,given,suggested\n41,1,2\n42,2,2\n44,4,0\n3,3,1\n",
    "agreement": "row,agreement\n41,0.2\n42,0.9\n44,0.49\n45,0.5\n",
    "both": "index,given_label,suggested_label,agreement,note\n41,cat,dog,0.9,x\n44,cat,cat,0.1,y\n42,cat,cat,1,\n",
    "sets": "id,given,suggested\n41,1;2,2\n44,1;2,2;3\n42,1;2,2;1\n43,7|8,8;7\n",
    "labels of the dataset": "id,suggested\n41,2\n42,2\n44,0\n45,\n",
    "a list": "41\n44\n3\n",
    "a list with a header": "id\n44\n41\n",
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_of_items(tmp_path, case):
    audited = audited_table(TABLES[case], tmp_path, labels=Y)
    assert found(audited) == EXPECTED
    checked = "which lists only doubtful items." if "list" in case else "of 10 queries; the others were not checked."
    assert sentence_about(audited).endswith(checked)


def test_items_may_be_named_by_id(tmp_path):
    by_id = {part: IDS[rows] for part, rows in LISTS.items()}
    text = "image,given,suggested\ni41.png,a,b\ni44.png,b,a\ni59.png,b,a\n"
    assert found(audited_table(text, tmp_path, **by_id)) == [("warning", 2, ("i41.png", "i44.png"))]
    assert found(audited_table(text, tmp_path, ids=IDS)) == [("warning", 2, ("i41.png", "i44.png"))]
    assert found(audit(**by_id, label_issues=["i41.png", "i59.png"])) == [("warning", 1, ("i41.png",))]
    assert found(audit(**LISTS, label_issues=[41, 44, 3])) == EXPECTED


def test_several_labels_are_compared_as_sets(tmp_path):
    flags = np.eye(5, dtype=int)[Y] | np.eye(5, dtype=int)[(Y + 1) % 5]
    text = "id,suggested\n41,1;2\n42,2;4\n43,4;3\n"
    assert found(audited_table(text, tmp_path, labels=flags)) == [("warning", 1, ("42",))]


BAD_TABLES = {
    "empty": ("", "expected a table of doubtful labels, got an empty file."),
    "no id": ("given,suggested\n1,2\n", "expected a header with id and given, suggested or agreement, got 'given, sug"),
    "twice": ("id,given,label\n1,2,3\n", "expected one column for given, got 2."),
    "fields": ("id,given\n1\n", "entry 1: expected 2 fields, got 1."),
    "share": ("id,agreement\n41,90%\n", "41: agreement: expected a share from 0 to 1, got '90%'."),
    "percent": ("id,agreement\n41,90\n", "41: agreement: expected a share from 0 to 1, got '90'."),
    "no given": ("id,suggested\n41,3\n", "expected a column `given`, or the dataset's labels (labels), got neither."),
    "quote": ('id,given\n41,"3\n', "expected a table of doubtful labels, got a file that can't be read (unexpected"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_invalid_tables_are_refused(tmp_path, case):
    text, message = BAD_TABLES[case]
    with pytest.raises(ProtocolError) as error:
        audited_table(text, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'issues.csv'}: {message}")


# The answers of cleanlab/label-errors


def answer(row, *, of=0, given=5, guessed=0, neither=0, both=0):
    """Return an entry about an item; ids count from the item `of`."""
    answers = {"given": given, "guessed": guessed, "neither": neither, "both": both}
    label = int(Y[row])
    return {"id": row - of, "given_original_label": label, "our_guessed_label": (label + 1) % 5, "mturk": answers}


def answers(of=0):
    doubted = [answer(41, of=of, given=1, guessed=4), answer(44, of=of, given=2, neither=2, both=1)]
    return [*doubted, answer(42, of=of), answer(45, of=of, given=3, both=2), answer(51, of=of, given=0, both=5)]


def test_answers_of_workers_name_the_doubtful_test_images(tmp_path):
    file = tmp_path / "mturk.json"
    file.write_text(json.dumps(answers(), indent=2))
    audited = audit(**LISTS, labels=Y, label_issues=file)
    assert found(audited) == EXPECTED
    assert sentence_about(audited).endswith("which covers 4 of 10 queries; the others were not checked.")
    file.write_text(json.dumps(answers(of=40)))
    official = Dataset(n_items=N, ids=IDS, y=Y, official={"test": np.arange(40, 60)})
    issues = label_issues_from(file, official, N)
    assert np.flatnonzero(issues.doubtful).tolist() == [41, 44, 51]
    assert issues.source.endswith("(its ids are assumed to be positions in the part 'test')")


BAD_ANSWERS = {
    "no JSON": ("hello", "expected a list of objects with id and mturk, got text that is not JSON (Expecting value"),
    "deep": ("[" * 100_000, "expected a list of objects with id and mturk, got text that is not JSON (maximum"),
    "object": ("{}", "expected a list of objects with id and mturk, got dict."),
    "empty": ("[]", "expected a list of objects with id and mturk, got an empty list."),
    "keys": ('[{"id": 1}]', "entry 1: expected id and, in mturk, the counts given, guessed, neither and both, got "),
    "counts": (json.dumps([answer(41, given=-1)]), "entry 1: expected id and, in mturk, the counts given, guessed,"),
    "ids": (json.dumps([answer(41) | {"id": "x"}]), "expected row numbers >= 0, as in the lists, got 'x'."),
    "labels": (json.dumps([answer(41) | {"id": 42}]), "expected given_original_label to agree with the dataset's"),
    "items": (json.dumps([answer(41) | {"id": 99}]), "expected given_original_label to agree with the dataset's"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_mismatched_answers_are_refused(tmp_path, case):
    text, message = BAD_ANSWERS[case]
    file = tmp_path / "mturk.json"
    file.write_text(text)
    with pytest.raises(ProtocolError) as error:
        audit(**LISTS, labels=Y, label_issues=file)
    assert str(error.value).startswith(f"{file}: {message}")
    file.write_text(json.dumps(answers()))
    with pytest.raises(ProtocolError, match=r"expected the dataset's labels \(labels\), one for each item"):
        audit(**LISTS, label_issues=file)


# The command


def test_the_command_warns_and_writes_all_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = annotators(range(N), doubted=range(40, 48))
    np.save("probs.npy", table / table.sum(axis=1, keepdims=True))
    np.save("labels.npy", Y)
    for part, rows in LISTS.items():
        np.save(f"{part}.npy", rows)
    arguments = ["audit", "--query=query.npy", "--database=database.npy", "--labels=labels.npy"]
    arguments += ["--label-issues=probs.npy", "--json=found.json"]
    assert main(arguments) == 0
    assert "doubtful-label: 8\n           40, 41, 42, 43, 44, ...\n" in capsys.readouterr().out
    (one,) = (one for one in json.loads(Path("found.json").read_text()) if one["finding"] == "doubtful-label")
    assert one["items"] == [str(row) for row in range(40, 48)]
    assert main([*arguments, "--label-agreement", "0.2", "--fail-on", "warning"]) == 1
    with pytest.raises(SystemExit):
        main([*arguments, "--label-agreement", "2"])
    assert "argument --label-agreement: label agreement: expected a share from 0 to 1" in capsys.readouterr().err


def test_the_positions_of_doubtful_queries_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("issues.csv").write_text("41\n44\n3\n")
    np.savez("split.npz", query=[44, 40, 41], database=np.arange(40))
    np.savez("other.npz", query=[42], database=np.arange(40))
    arguments = ["audit", "split.npz", "--label-issues", "issues.csv", "--write-affected", "doubtful.txt"]
    assert main(arguments) == 0
    assert Path("doubtful.txt").read_text() == "0\n2\n"  # in the original order of the queries
    assert audit("split.npz", label_issues="issues.csv").affected["split.npz"].tolist() == [0, 2]
    assert audit("split.npz").affected == {}
    capsys.readouterr()
    one = "expected one split, since splits have different queries, got 2."
    known = "expected judged pairs of the dataset (--known-pairs), or label issues (--label-issues), got none."
    for refused, message in {
        ("split.npz", "other.npz", *arguments[2:]): one,
        ("split.npz", *arguments[4:]): known,
    }.items():
        assert main(["audit", *refused]) == 2
        assert capsys.readouterr().err == f"protocol: --write-affected: {message}\n"
    assert main([*arguments[:-1], "issues.csv"]) == 2
    assert Path("issues.csv").read_text() == "41\n44\n3\n"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_findings_match_a_loop_over_the_queries(data):
    shape = {"min_size": 5, "max_size": 5}
    drawn = st.lists(st.lists(st.integers(0, 9), **shape), min_size=10, max_size=10)
    counts = annotators(range(N)).tolist()
    counts[40:50] = data.draw(drawn)
    agreement = data.draw(st.sampled_from((0, 0.3, 0.5, 1)))
    expected = []
    for row in LISTS["query"]:
        given_, total = counts[row][Y[row]], sum(counts[row])
        if total and (given_ < max(counts[row]) or given_ / total < agreement):
            expected.append(str(row))
    audited = audit(**LISTS, labels=Y, label_issues=np.array(counts), label_agreement=agreement)
    assert [item for *_, items in found(audited) for item in items] == expected
