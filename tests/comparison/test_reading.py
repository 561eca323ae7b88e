"""Reading scores from a summary, from JSON and from an `Evaluation`."""

import hashlib
import json
import os
import shlex

import numpy as np
import pandas as pd
import pytest

import protocol
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare
from protocol.comparison.reading import read_scores
from protocol.provenance.storage import replacing
from protocol.report.figure import ABSENT
from protocol.scores.identity import PROTOCOL

CODES = np.random.default_rng(0).integers(0, 2, (40, 8))
LABELS = {"query_labels": np.arange(10) % 3, "database_labels": np.arange(30) % 3}
NAMES = {"dataset": "toy", "split": "own", "ground_truth": "labels"}


def evaluated(name="mine", codes=CODES, **more):
    names = NAMES | {field: more.pop(field) for field in NAMES if field in more}
    given = {"metrics": ["mAP", "precision@r1", "precision_micro@r1"]} | LABELS | more
    return protocol.evaluate(codes[:10], codes[10:], **given).named(name, **names)


def described(score):
    return score.method, score.protocol, score.n_bits, score.metric, score.convention, score.version


def test_a_json_and_its_evaluation_give_the_same_scores(tmp_path):
    found = evaluated()
    found.write_per_query(tmp_path / "values.csv")
    found.write_json(tmp_path / "mine.json", per_query=tmp_path / "values.csv")
    (direct, written) = read_scores(found), read_scores(tmp_path / "mine.json")
    assert list(map(described, direct)) == list(map(described, written))
    assert all(None not in score.protocol for score in direct)
    for one, other in zip(direct[:2], written[:2], strict=True):
        assert one.mean == other.mean
        np.testing.assert_allclose(one.values().numbers, other.values().numbers, atol=1e-9)
        assert one.values().items == other.values().items == found.ground_truth_sha256
    reason = "has one value for all queries together, not one per query"
    assert direct[2].values() == f"mine {reason}"
    assert written[2].values() == f"mine.json {reason}"


def test_a_summary_records_every_field_and_an_old_one_only_some(experiment):
    (score,) = read_scores(experiment("a"))
    assert dict(zip(PROTOCOL, score.protocol, strict=True))["n_queries"] == "100"
    assert None not in score.protocol
    (old,) = read_scores(experiment("b", old=True))
    assert [field for field, value in zip(PROTOCOL, old.protocol, strict=True) if value is None] == [
        *("relevance", "n_queries", "n_database", "empty", "ties")
    ]


def test_only_codes_without_extension_are_read(experiment):
    path = experiment("a", {}, {"extension": "same", "extension_bits": 1})
    assert len(read_scores(path)) == 1
    table = pd.read_csv(path)
    table[:1].drop(columns=["extension", "extension_bits"]).to_csv(path.with_name("plain.csv"), index=False)
    assert len(read_scores(path.with_name("plain.csv"))) == 1


def test_files_of_one_method_share_a_row(codes):
    files = [codes(f"{name}{bits}.json", name=name, n_bits=bits) for name in "ab" for bits in (16, 32)]
    (table,) = compare(*files).sections[1].tables
    assert table.header == ["method", "file", "runs", "16 bits", "32 bits"]
    assert table.rows == [
        ["a", "a16.json, a32.json", ABSENT, "0.7000", "0.7000"],
        ["b", "b16.json, b32.json", ABSENT, "0.7000", "0.7000"],
    ]


def test_without_a_name_the_file_is_the_method(codes):
    (table,) = compare(codes("one.json"), codes("two.json")).sections[1].tables
    assert [row[0] for row in table.rows] == ["one", "two"]


def test_one_method_with_two_values_is_two_rows(codes, experiment):
    (table,) = compare(codes("a.json", name="mine"), codes("b.json", name="mine")).sections[1].tables
    assert [row[0] for row in table.rows] == ["mine (a.json)", "mine (b.json)"]
    path = experiment("x")
    (table,) = compare(path, path).sections[1].tables
    assert [row[:2] for row in table.rows] == [
        [f"itq, gist (x/summary.csv ({k}))", f"x/summary.csv ({k})"] for k in (1, 2)
    ]


def test_an_undefined_mean_is_read(experiment, codes):
    (score,) = read_scores(experiment("a", {"mean": None, "std": None}))
    assert np.isnan(score.mean)
    (score,) = read_scores(codes("a.json", metrics={"mAP": None}))
    assert np.isnan(score.mean)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.csv", "a,b\n1,2\n", "expected the columns of a summary.csv, got a table without dataset, feature"),
        ("x.csv", "", "expected a table, got an empty file"),
        ("x.json", "[]", "expected the JSON of `protocol evaluate --json`, got no JSON object\\."),
        (
            "x.json",
            "{",
            "expected the JSON of `protocol evaluate --json`, got other content \\(Expecting property name",
        ),
        (
            "x.json",
            '{"metrics": {"mAP": 1}}',
            "expected the JSON of `protocol evaluate --json`, but the key 'n_bits' is missing",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content)
    with pytest.raises(ProtocolError, match=reason) as error:
        read_scores(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path / name))


def test_a_missing_file_and_a_single_one_are_refused(experiment, tmp_path):
    with pytest.raises(ProtocolError, match=r"none.csv: expected a summary.csv or .*, got no such file"):
        compare(experiment("a"), tmp_path / "none.csv")
    with pytest.raises(ProtocolError, match="compare: expected at least two files, got 1"):
        compare(tmp_path / "a.csv")


def test_values_per_query_of_another_file_are_not_used(codes, tmp_path):
    path = codes("a.json", per_query={"mAP": [0.1, 0.2]})
    assert read_scores(path)[0].values().numbers.tolist() == [0.1, 0.2]
    (tmp_path / "a.json.csv").write_text("query,ranking,mAP\n0,hamming,0.2\n1,hamming,0.1\n")
    assert read_scores(path)[0].values() == "a.json.csv is not the file to which a.json refers: its SHA-256 differs"
    (tmp_path / "a.json.csv").unlink()
    assert read_scores(path)[0].values() == "a.json refers to a.json.csv, which is missing"


def test_values_that_do_not_have_the_mean_are_not_used(codes, experiment, tmp_path):
    path = codes("a.json", per_query={"mAP": [0.1, 0.2]})
    (tmp_path / "a.json.csv").write_text("query,ranking,mAP\n0,hamming,0.9\n1,hamming,0.9\n")
    content = json.loads(path.read_text())
    content["per_query"]["sha256"] = hashlib.sha256((tmp_path / "a.json.csv").read_bytes()).hexdigest()
    path.write_text(json.dumps(content))
    assert read_scores(path)[0].values() == "a.json.csv does not have the values of the mean in a.json"
    path = experiment("x", {"values": [0.1, 0.3]})
    assert read_scores(path)[0].values().numbers.tolist() == [0.1, 0.3]
    table = pd.read_csv(path)
    table.assign(mean=0.5).to_csv(path, index=False)
    assert read_scores(path)[0].values() == "the metrics.csv next to x/summary.csv does not have the runs of this mean"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"per_query": "a.csv"}, "with an object as per_query, got 'a.csv'"),
        ({"per_query": {"path": "a.csv"}}, "with file and sha256 in per_query, got path"),
        ({"ties": "none"}, "with an object as ties, got 'none'"),
    ],
)
def test_a_field_of_another_kind_is_refused(codes, change, message):
    path = codes("a.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ProtocolError, match=rf"a.json: expected the JSON of `protocol evaluate --json`, {message}\."):
        read_scores(path)


@pytest.mark.parametrize("name", ["summary.csv", "metrics.csv", "runs.csv"])
def test_a_table_that_disagrees_with_its_checksum_is_refused(experiment, name):
    """Tables from other people may have no checksum; if there is one, it must agree."""
    path = experiment("a", {"values": [0.1, 0.3]})
    assert read_scores(path)[0].values().numbers.tolist() == [0.1, 0.3]
    table = path.with_name(name)
    content = table.read_bytes()
    with replacing(table, checksum=True) as temporary:
        temporary.write_bytes(content)
    assert read_scores(path)[0].values().numbers.tolist() == [0.1, 0.3]
    table.write_bytes(content.replace(b"1", b"2"))
    with pytest.raises(ProtocolError) as error:
        read_scores(path)[0].values()
    assert str(error.value).startswith(f"{table}: altered since it was written (expected sha256 ")
    command = f"snakemake --force {shlex.quote(os.path.relpath(table))}, with the --configfile of its experiment."
    assert str(error.value).endswith(f"). To write it again: {command}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"mAP": 7.5}}, "mAP: mean: expected a finite number from 0 to 1, got 7.5."),
        ({"metrics": {"mAP": float("inf")}}, "mAP: mean: expected a finite number from 0 to 1, got inf."),
        ({"metrics": {"mAP of mine": float("inf")}}, "mAP of mine: mean: expected a finite number, got inf."),
        ({"metrics": {"mAP": True}}, "mAP: mean: expected a number, got True."),
        ({"n_bits": -16}, "n_bits: expected an integer >= 1, got -16."),
        ({"n_bits": 16.5}, "n_bits: expected an integer >= 1, got 16.5."),
        ({"n_queries": -100}, "n_queries: expected an integer >= 1, got -100."),
    ],
)
def test_a_number_outside_its_range_in_a_json_is_refused(codes, changes, message):
    path = codes("a.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ProtocolError) as refused:
        read_scores(path)
    assert str(refused.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("change", [{"mean": 0.9}, {"std": 0.2}, {"n_runs": 5}], ids=["mean", "std", "n_runs"])
def test_two_rows_that_contradict_each_other_are_refused(experiment, capsys, change):
    wrong = experiment("b", {"n_bits": 32}, {}, change)
    assert main(["compare", str(experiment("a")), str(wrong)]) == 2
    means = f"0.5 and {change.get('mean', 0.5)}"
    assert capsys.readouterr().err == (
        f"protocol: {wrong}: lines 3 and 4 (itq, 16 bits, mAP): expected one value for each score, got two rows with "
        f"the means {means}.\n"
    )


def test_two_values_of_one_metric_in_a_json_are_refused(codes):
    path = codes("a.json")
    path.write_text(path.read_text().replace('"mAP": 0.7', '"mAP": 0.7, "mAP": 0.9'))
    with pytest.raises(ProtocolError, match=r"a.json: mAP: expected one value, got 0.7 and 0.9\.$"):
        read_scores(path)
