"""Comparisons: what may stand beside what."""

import json

import pandas as pd
import pytest
from browser import DRAWN, opened
from protocol.report.comparison import compare, read_scores, text_of

from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.report.page import render


@pytest.fixture
def write(tmp_path):
    def written(name, **changes):
        cell = {"dataset": "digits", "feature": "gist", "ground_truth": "class_label", "split": "standard"}
        cell |= {"hasher": "itq", "n_bits": 16, "extension": "none", "extension_bits": 0, "metric": "mAP"}
        rows = pd.DataFrame([cell | {"mean": 0.5, "std": 0.01, "n_runs": 3} | changes])
        (tmp_path / name).mkdir()
        rows.to_csv(tmp_path / name / "summary.csv", index=False)
        return tmp_path / name / "summary.csv"

    return written


@pytest.fixture
def codes(tmp_path):
    def written(name, **changes):
        content = {"n_queries": 100, "n_database": 1697, "n_bits": 16, "convention": "protocol"}
        content |= {"metrics": {"mAP": 0.7, "precision@r2": None}}
        (tmp_path / name).write_text(json.dumps(content | changes))
        return tmp_path / name

    return written


def test_numbers_of_one_protocol_stand_in_one_table(write):
    parts = compare([write("a"), write("b", hasher="lsh", mean=0.25, n_runs=10)])
    (table,) = parts[1].tables
    assert table.header == ["file", "method", "runs", "16 bits"]
    assert table.rows == [["a", "itq, gist", "3", "0.5000 ± 0.0100"], ["b", "lsh, gist", "10", "0.2500 ± 0.0100"]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dataset": "cifar10"}, "dataset differs"),
        ({"ground_truth": "epsilon_ball"}, "ground truth differs"),
        ({"split": "improved"}, "split differs"),
        ({"metric": "mAP@100[all]"}, "metric differs"),
        ({"n_bits": 32}, "n bits differs"),
    ],
)
def test_another_protocol_is_refused(write, capsys, change, reason):
    paths = [str(write("a")), str(write("b", **change))]
    assert main(["compare", *paths]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("protocol: a and b can't be compared: ")
    assert reason in said.err
    assert said.err.count("\n") == 1


def test_another_convention_is_refused(codes):
    with pytest.raises(ProtocolError, match="undefined differs"):
        compare([codes("a.json"), codes("b.json", convention="hashnet", metrics={"mAP": 0.7})], ["mAP"])


def test_another_size_is_refused(codes):
    with pytest.raises(ProtocolError, match="n database differs"):
        compare([codes("a.json"), codes("b.json", n_database=5000)])


def test_what_a_file_does_not_say_is_named(write, codes):
    text = text_of(compare([write("a"), codes("mine.json")]))
    assert "On your word: mine does not say its dataset, ground truth and split." in text
    assert "On your word: a does not say its n queries, n database and undefined." in text
    assert "Left out of mine, as no other file has the like: precision@r2." in text
    assert "codes, protocol" in text


def test_two_sizes_are_not_mixed_through_a_file_that_says_none(write, codes):
    parts = compare([write("a"), codes("b.json"), codes("c.json", n_database=9)])
    rows = [[row[0] for row in table.rows] for part in parts for table in part.tables]
    assert sorted(rows) == [["a", "b"], ["a", "c"]]


def test_codes_of_ones_own_say_no_runs(write, codes):
    (table,) = compare([write("a"), codes("mine.json")])[1].tables
    assert [row[2] for row in table.rows] == ["3", "\N{EN DASH}"]


def test_without_the_column_of_extensions_all_codes_are_plain(write, tmp_path):
    whole, kept = write("a"), tmp_path / "kept.csv"
    pd.read_csv(whole).drop(columns=["extension", "extension_bits"]).to_csv(kept, index=False)
    pd.testing.assert_frame_equal(read_scores(kept), read_scores(whole).assign(source="kept"))


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [
        ("mean", "high", "numbers"),
        ("std", "0.1 or so", "numbers"),
        ("n_bits", "sixteen", "whole numbers"),
        ("n_bits", 16.5, "whole numbers"),
        ("n_runs", None, "whole numbers"),
    ],
)
def test_what_is_no_number_is_refused_by_file_and_column(write, capsys, column, value, wanted):
    wrong = write("b", **{column: value})
    assert main(["compare", str(write("a")), str(wrong)]) == 2
    came = "nan" if value is None else value
    assert capsys.readouterr().err == f"protocol: {wrong}: column {column}: wanted {wanted}, came {came}\n"


def test_an_undefined_mean_is_a_number(write):
    assert read_scores(write("a", mean=None, std=None))["mean"].isna().all()


def test_files_of_one_name_are_numbered(write, tmp_path):
    first = write("a")
    parts = compare([first, first])
    assert [row[0] for row in parts[1].tables[0].rows] == ["a (1)", "a (2)"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.csv", "a,b\n1,2\n", "wanted the columns of a summary.csv"),
        ("x.csv", "", "not a table of scores"),
        ("x.json", "[]", "not what `protocol evaluate --json` writes"),
        ("x.json", "{", "not what `protocol evaluate --json` writes"),
        ("x.json", '{"convention": "new", "metrics": {}}', "convention: expected"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content)
    with pytest.raises(ProtocolError, match=reason) as error:
        read_scores(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


def test_a_missing_file_and_a_single_one_are_refused(write, tmp_path):
    with pytest.raises(ProtocolError, match="no such file"):
        compare([write("a"), tmp_path / "none.csv"])
    with pytest.raises(ProtocolError, match="at least two files"):
        compare([tmp_path / "a.csv"])


def test_the_page_of_a_comparison_is_drawn(browser, write, codes, tmp_path):
    made = tmp_path / "c.html"
    assert main(["compare", str(write("a")), str(codes("mine.json")), "--html", str(made)]) == 0
    with opened(browser, made, width=400) as (tab, wrong):
        assert all(marks > 1 for marks in tab.evaluate(DRAWN).values())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []
    assert "Comparison" in render("Comparison", [])
