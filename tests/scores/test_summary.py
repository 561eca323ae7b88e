"""The tables of scores: writing, gathering, summarising and reading them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from encoded import message_of, refusals, yaml_of

from protocol import __version__, registry
from protocol.scores.summary import COLUMNS, ITEMS, collect, read_summary, runs_of, summarise, write_scores
from protocol.scores.tables import write_table

CELL = ("digits", "gist", "class_label", "standard")


def rows(run, value, *, metric="mAP", extension=("none", 0), n_database=1697):
    return [(*CELL, run, "itq", 16, *extension, metric, "class labels", 100, n_database, f"digest{run}", value)]


def test_rows_are_written_with_nine_digits_and_in_order(tmp_path):
    write_scores(tmp_path / "a.csv", rows(0, 1 / 3) + rows(1, 1.0))
    assert (tmp_path / "a.csv").read_text() == (
        ",".join([*COLUMNS[:-1], *ITEMS, "value"]) + "\n"
        "digits,gist,class_label,standard,0,itq,16,none,0,mAP,class labels,100,1697,digest0,0.333333333\n"
        "digits,gist,class_label,standard,1,itq,16,none,0,mAP,class labels,100,1697,digest1,1\n"
    )


def test_the_order_of_the_files_does_not_matter(tmp_path):
    for name, made in (("a", rows(10, 0.1) + rows(2, 0.2)), ("b", rows(1, 0.3, metric="nDCG")), ("c", rows(0, 0.4))):
        write_scores(tmp_path / f"{name}.csv", made)
    tables = [collect(tmp_path / f"{name}.csv" for name in order) for order in itertools.permutations("abc")]
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0]["run"].tolist() == [0, 1, 2, 10]


def test_a_summary_has_the_standard_deviation_and_what_identifies_its_numbers(tmp_path):
    write_scores(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3) + rows(0, 0.5, metric="precision@r2"))
    scores = collect([tmp_path / "a.csv"])
    summary = summarise(scores, supervision={"gist itq": "labels"}).set_index("metric")
    assert summary.loc["mAP", ["mean", "std", "n_runs"]].tolist() == pytest.approx([0.2, 0.02**0.5, 2])
    assert pd.isna(summary.loc["precision@r2", "std"])
    assert set(summary["supervision"]) == {"labels"}
    for undefined, convention in (("zero", "default"), ("drop", "default, undefined values left out")):
        for row in summarise(scores, undefined=undefined).itertuples():
            assert (row.relevance, row.n_queries, row.n_database) == ("class labels", 100, 1697)
            assert (row.undefined, row.convention, row.version) == (undefined, convention, __version__)
            assert (row.ties, row.supervision) == (registry.entry("metric", row.metric).ties, "unknown")


def test_a_size_that_changes_from_run_to_run_is_a_range(tmp_path):
    write_scores(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3, n_database=1690))
    (row,) = summarise(collect([tmp_path / "a.csv"])).itertuples()
    assert (row.n_queries, row.n_database, row.n_runs) == (100, "1690 to 1697", 2)


def test_each_run_is_listed_once_with_its_items(tmp_path):
    write_scores(tmp_path / "a.csv", rows(1, 0.3) + rows(0, 0.1) + rows(0, 0.5, metric="nDCG"))
    runs = runs_of(collect([tmp_path / "a.csv"]))
    assert list(runs) == ["feature", "ground_truth", "split", "run", *ITEMS]
    assert runs[["run", "items"]].to_numpy().tolist() == [[0, "digest0"], [1, "digest1"]]


ROW = dict(zip(["dataset", "feature", "ground_truth", "split"], CELL, strict=True)) | {"hasher": "itq", "n_bits": 16}
ROW |= {"extension": "none", "extension_bits": 0, "metric": "mAP", "mean": 0.5, "std": 0.1, "n_runs": 2}


def written(path, *changes):
    pd.DataFrame([ROW | change for change in changes]).to_csv(path, index=False)
    return path


def test_a_summary_is_read_as_it_was_written(tmp_path):
    write_scores(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3) + rows(0, 0.5, metric="nDCG"))
    summary = summarise(collect([tmp_path / "a.csv"]), supervision={"gist itq": "labels"})
    write_table(tmp_path / "summary.csv", summary)
    read = read_summary(tmp_path / "summary.csv")
    numbers = ["n_bits", "extension_bits", "mean", "std", "n_runs"]
    assert [[row[name] for name in numbers] for row in read] == [
        [16, 0, 0.2, 0.141421356, 2],
        [16, 0, 0.5, pytest.approx(np.nan, nan_ok=True), 1],
    ]
    assert [(row["line"], row["metric"], row["n_queries"], row["supervision"]) for row in read] == [
        (2, "mAP", "100", "labels"),
        (3, "nDCG", "100", "labels"),
    ]


def test_columns_that_a_stored_table_lacks_are_filled_in_and_an_undefined_mean_is_nan(tmp_path):
    written(tmp_path / "a.csv", {"mean": None})
    table = pd.read_csv(tmp_path / "a.csv").drop(columns=["extension", "extension_bits", "std"])
    table.to_csv(tmp_path / "a.csv", index=False)
    (row,) = read_summary(tmp_path / "a.csv")
    assert (row["extension"], row["extension_bits"]) == ("none", 0)
    assert np.isnan([row["mean"], row["std"]]).all()


def test_rounding_errors_do_not_count_as_out_of_range(tmp_path):
    (row,) = read_summary(written(tmp_path / "a.csv", {"mean": 1.0000000001}))
    assert row["mean"] == 1.0000000001


@pytest.mark.parametrize(("change", "message"), refusals("scores/refusals.yaml"))
def test_a_wrong_number_is_refused_with_file_line_and_metric(tmp_path, change, message):
    path = written(tmp_path / "a.csv", {"n_bits": 32}, change)
    assert message_of(read_summary, path) == f"{path}, line 3 ({change.get('metric', 'mAP')}): {message}"


@pytest.mark.parametrize(("content", "message"), yaml_of("scores/other_files.yaml"))
def test_other_files_are_refused(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content, encoding="latin-1")
    expected = f"{tmp_path / 'a.csv'}: {message}"
    assert message_of(read_summary, tmp_path / "a.csv").replace(", line", ": line").startswith(expected)
