"""The scores of one table have known and equal protocols, or printed assumptions."""

import pandas as pd
import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare
from protocol.comparison.matching import assumptions
from protocol.scores.identity import PROTOCOL

OLD = ["relevance", "n_queries", "n_database", "empty", "ties"]


def refused(capsys, *arguments):
    """Return the one line with which the command refuses."""
    assert main(["compare", *map(str, arguments)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err.removeprefix("protocol: ").removesuffix("\n")


def rows_of(comparison):
    return [table.rows for part in comparison.sections for table in part.tables if "differences" not in table.name]


def test_scores_of_one_protocol_are_in_one_table(experiment):
    found = compare(experiment("a"), experiment("b", {"hasher": "lsh", "mean": 0.25, "n_runs": 10}))
    (table,) = found.sections[1].tables
    assert table.header == ["method", "file", "runs", "16 bits"]
    assert table.rows == [
        ["itq, gist", "a/summary.csv", "3", "0.5000 ± 0.0100"],
        ["lsh, gist", "b/summary.csv", "10", "0.2500 ± 0.0100"],
    ]
    assert "Assumed" not in repr(found)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dataset": "cifar10"}, "differ in dataset (digits; cifar10)."),
        ({"ground_truth": "other_labels"}, "differ in ground_truth (class_label; other_labels)."),
        ({"relevance": "neighbours"}, "differ in relevance (class labels; neighbours)."),
        ({"split": "improved"}, "differ in split (standard; improved)."),
        ({"options": "dataset=1a2b3c4d"}, "differ in dataset (digits; digits (1a2b3c4d))."),
        ({"options": "split=1a split=2b"}, "differ in split (standard; standard (2b))."),
        ({"n_queries": 1000}, "differ in n_queries (100; 1000)."),
        ({"n_database": 59000}, "differ in n_database (1697; 59000)."),
        ({"empty": "drop"}, "differ in empty (zero; drop)."),
        ({"ties": "In index order."}, "differ in ties ("),
        ({"metric": "mAP@100[all]"}, "a/summary.csv shares no metric with another file."),
        ({"n_bits": 32}, "a/summary.csv shares no metric and code length with another file."),
    ],
)
@pytest.mark.parametrize("assume", [[], ["--assume", *PROTOCOL]], ids=["nothing assumed", "all assumed"])
def test_a_recorded_difference_is_refused_under_any_assumption(experiment, capsys, change, reason, assume):
    line = refused(capsys, experiment("a"), experiment("b", change), *assume)
    assert line.startswith("nothing to compare: ")
    assert reason in line


def test_neighbours_by_another_feature_are_another_ground_truth(experiment, capsys):
    near = {"ground_truth": "epsilon_ball", "relevance": "neighbours"}
    line = refused(capsys, experiment("a", near), experiment("b", near | {"feature": "sift"}))
    assert "differ in ground_truth (epsilon_ball of gist; epsilon_ball of sift)." in line
    found = compare(experiment("c", near), experiment("d", near | {"hasher": "lsh"}))
    assert ", ground truth epsilon_ball of gist, " in found.sections[1].title


# The three cases in which numbers of different protocols were once in one table.


def test_codes_of_another_dataset_are_refused(experiment, codes, capsys):
    digits, mnist = experiment("digits"), codes("mnist.json", names=False, n_queries=1000, n_database=62000)
    assert refused(capsys, digits, mnist) == (
        "nothing to compare: digits/summary.csv and mnist.json differ in n_queries (100; 1000) and n_database (1697; "
        "62000); mnist.json does not record dataset, ground_truth and split. See docs/how-to/compare-results.md."
    )
    refused(capsys, digits, mnist, "--assume", "dataset", "ground_truth", "split")


def test_scores_by_labels_are_not_compared_with_scores_by_neighbours(experiment, codes, capsys):
    near = {"ground_truth": "epsilon_ball", "relevance": "neighbours"}
    both, mine = experiment("digits", {}, near), codes("mine.json", names=False)
    found = compare(both, mine, assume=["dataset", "ground_truth", "split"])
    assert [row[1] for rows in rows_of(found) for row in rows] == ["digits/summary.csv", "mine.json"]
    assert found.sections[1].title.startswith("dataset digits, ground truth class_label, relevance class labels,")
    line = refused(capsys, experiment("near", near), mine, "--assume", "dataset", "split", "ground_truth")
    assert line.endswith("differ in relevance (neighbours; class labels). See docs/how-to/compare-results.md.")


def test_other_sizes_and_undefined_values_are_refused(experiment, capsys):
    zero, drop = experiment("large", {"n_queries": 1000}), experiment("small", {"empty": "drop"})
    line = refused(capsys, zero, drop)
    assert line.endswith("differ in n_queries (1000; 100) and empty (zero; drop). See docs/how-to/compare-results.md.")


def test_a_field_that_is_not_recorded_matches_nothing(experiment, codes, capsys):
    line = refused(capsys, experiment("a"), codes("mine.json", names=False))
    assert line == (
        "nothing to compare: mine.json does not record dataset, ground_truth and split. Record these fields (`protocol "
        "evaluate --dataset NAME --split NAME --ground-truth NAME`; `snakemake metrics` makes a summary.csv again), or "
        "assume that they agree: --assume dataset ground_truth split. See docs/how-to/compare-results.md."
    )
    line = refused(capsys, experiment("b"), experiment("old", old=True))
    assert f"--assume {' '.join(OLD)}." in line
    assert "old/summary.csv does not record relevance, n_queries, n_database, empty and ties." in line


def test_two_files_that_record_nothing_do_not_match(experiment, capsys):
    line = refused(capsys, experiment("a", old=True), experiment("b", old=True))
    assert "a/summary.csv does not record relevance" in line
    assert "b/summary.csv does not record relevance" in line


def test_an_assumption_is_printed_in_its_table(experiment, codes):
    found = compare(experiment("a"), codes("mine.json", names=False), assume=["dataset", "ground_truth", "split"])
    (table,) = found.sections[1].tables
    assert table.caption.endswith(
        "Assumed, because mine.json does not record it: dataset = digits, ground_truth = class_label, split = standard."
    )
    assert table.caption in repr(found)
    assert found.to_frame()["assumed"].tolist() == ["", "dataset ground_truth split"]


def test_an_assumption_takes_the_only_value_that_agrees_otherwise(experiment, codes):
    other = {"split": "improved", "n_database": 797}
    found = compare(experiment("a", {}, other), codes("mine.json", split=None), assume="split")
    (section,) = found.sections[1:]
    assert "split standard" in section.title
    assert found.sections[0].text[-1] == (
        "Left out of a/summary.csv: 1 score (mAP): split is improved (mine.json: standard); n_database is 797 "
        "(mine.json: 1697)."
    )


def test_an_assumption_of_several_values_needs_one(experiment, codes, capsys):
    paths = experiment("a", {}, {"split": "improved"}), codes("mine.json", split=None)
    assert refused(capsys, *paths, "--assume", "split") == (
        "assume split: expected one value for mine.json (mAP, 16 bits), got improved and standard. "
        "Give --assume split=VALUE."
    )
    found = compare(*paths, assume=["split=improved"])
    (section,) = found.sections[1:]
    assert "split improved" in section.title
    assert "Assumed, because mine.json does not record it: split = improved." in section.tables[0].caption


def test_a_field_that_no_file_records_can_be_assumed_to_agree(experiment):
    found = compare(experiment("a", old=True), experiment("b", {"hasher": "lsh"}, old=True), assume=OLD)
    (section,) = found.sections[1:]
    assert section.title == "dataset digits, ground truth class_label, split standard"
    assert section.tables[0].caption.endswith(
        "Assumed to agree, because no file records it: relevance, n_queries, n_database, empty and ties."
    )


def test_a_heading_has_only_values_of_its_own_scores(experiment, codes):
    digits = experiment("digits")
    mine = codes("mine.json", dataset="cifar10", n_queries=1000, n_database=59000)
    other = experiment("cifar10", {"dataset": "cifar10", "n_queries": 1000, "n_database": 59000}, {"hasher": "lsh"})
    second, first = compare(digits, other, mine).sections[1:]
    assert "dataset cifar10" in first.title
    assert "1000 queries, 59000 database items" in first.title
    assert "dataset digits" in second.title
    assert "100 queries, 1697 database items" in second.title
    assert {row[1] for table in first.tables for row in table.rows} == {"cifar10/summary.csv", "mine.json"}
    assert {row[1] for table in second.tables for row in table.rows} == {"digits/summary.csv", "cifar10/summary.csv"}


def test_two_sizes_are_not_joined_by_a_file_that_records_none(experiment, codes):
    files = experiment("old", old=True), codes("b.json"), codes("c.json", n_database=9)
    with pytest.raises(ProtocolError, match=r"expected one value for old/summary.csv .* got 1697 and 9. Give --assume"):
        compare(*files, assume=OLD)
    found = compare(*files, assume=[*OLD, "n_database=9"])
    assert [[row[1] for row in rows] for rows in rows_of(found)] == [["old/summary.csv", "c.json"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"ground_truth": "class label"}, {"ground_truth": "class-label"}),
        ({"dataset": "a-b", "ground_truth": "c"}, {"dataset": "a", "ground_truth": "b-c"}),
    ],
    ids=["marks", "boundary"],
)
def test_names_that_look_alike_are_different_headings(codes, one, other):
    files = [codes(f"{at}.json", **change) for at, change in enumerate((one, other, one, other))]
    found = compare(*files)
    assert [[row[0] for row in table] for table in rows_of(found)] == [["0", "2"], ["1", "3"]]
    assert len({part.title for part in found.sections}) == len({part.name for part in found.sections}) == 3
    assert found.to_frame()["section"].nunique() == 2
    assert found.to_html().count("<table aria-labelledby") == 2


@pytest.mark.parametrize("field", ["n_bits", "metric"])
def test_a_file_is_not_assumed_to_be_of_two_datasets(experiment, field):
    values = {"n_bits": [16, 32], "metric": ["mAP", "nDCG"]}[field]
    rows = [{field: value} for value in values]
    unknown = experiment("unknown", *(row | {"dataset": ""} for row in rows))
    files = [unknown, *(experiment(name, row | {"dataset": name}) for name, row in zip("ab", rows, strict=True))]
    with pytest.raises(ProtocolError, match=r"assume dataset: expected one value for unknown/summary.csv, got a and b"):
        compare(*files, assume="dataset")
    found = compare(*files, assume="dataset=a")
    assert [part.title.startswith("dataset a,") for part in found.sections[1:]] == [True]


def test_left_out_scores_are_listed_with_reasons(experiment, codes):
    mine = codes("mine.json", metrics={"mAP": 0.7, "nDCG": 0.5})
    found = compare(experiment("a", {}, {"n_bits": 32}, {"dataset": "x", "hasher": "lsh"}), mine)
    assert found.sections[0].text[1:] == [
        "Left out of a/summary.csv: 1 score (mAP): no other file has this code length.",
        "Left out of a/summary.csv: 1 score (mAP): dataset is x (mine.json: digits).",
        "Left out of mine.json: 1 score (nDCG): no other file has this metric.",
    ]


@pytest.mark.parametrize("names", [True, False], ids=["recorded", "assumed"])
def test_known_digests_of_the_ground_truth_that_differ_are_never_in_one_table(codes, experiment, capsys, names):
    """Equal names do not make two ground truths equal."""
    digests = {"a": "a" * 64, "b": "a" * 63 + "b"}
    one, other = (codes(f"{n}.json", names=names, ground_truth_sha256=digest) for n, digest in digests.items())
    assume = [] if names else ["--assume", "dataset", "ground_truth", "split"]
    assert "differ in ground_truth (" in refused(capsys, one, other, *assume)
    same = codes("same.json", names=names, ground_truth_sha256=digests["a"], n_bits=16)
    found = compare(one, other, same, experiment("runs"), assume=assume[1:])
    assert [[row[1] for row in rows] for rows in rows_of(found)] == [["a.json", "same.json"]]
    left = "\n".join(found.sections[0].text)
    assert "Left out of b.json: 1 score (mAP): ground_truth is " in left
    assert "Left out of runs/summary.csv: 1 score (mAP): ground_truth is class_label (" in left


def test_versions_and_conventions_are_shown_but_not_compared(experiment, codes):
    found = compare(experiment("a"), codes("mine.json", version="0.0.9", convention="thesis"))
    text = "\n".join(found.sections[1].text)
    assert "Different versions, which are not compared: a/summary.csv: 0.1.0; mine.json: 0.0.9." in text
    assert "Different conventions, which are not compared: a/summary.csv: protocol; mine.json: thesis." in text


def test_metrics_are_chosen_by_name(experiment, codes, capsys):
    ndcg = {"metric": "nDCG"}
    files = experiment("a", {}, ndcg), experiment("b", {"hasher": "lsh"}, ndcg | {"hasher": "lsh"})
    assert len(rows_of(compare(*files))) == 2
    assert len(rows_of(compare(*files, metrics="nDCG"))) == 1
    assert refused(capsys, *files, "--metric", "ndcg") == (
        "metric: expected mAP or nDCG, got 'ndcg'. Did you mean 'nDCG'?"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["data_set"], "assume: expected .*, got 'data_set'. Did you mean 'dataset'?"),
        (["n_bits"], "assume: expected .*, got 'n_bits'"),
        (["split="], "assume split: expected a value after '=', got none"),
        (["split=a", "split=b"], "assume split: expected one value, got a and b"),
    ],
)
def test_wrong_assumptions_are_refused(given, message):
    with pytest.raises(ProtocolError, match=message):
        assumptions(given)


def test_the_ties_of_a_metric_are_compared(experiment):
    """The same name could mean another rule in another version."""
    ties = registry.entry("metric", "mAP").ties
    assert pd.read_csv(experiment("a"))["ties"].tolist() == [ties]
