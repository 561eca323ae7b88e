import itertools

import pandas as pd
import pytest

from protocol import __version__, registry
from protocol.metrics import COLUMNS, ITEMS, write_rows
from protocol.report import collect, runs_of, summarise, write_table
from protocol.report.identities import check_identities

CELL = ("digits", "gist", "class_label", "standard")


def rows(run, value, *, metric="mAP", extension=("none", 0), n_database=1697):
    return [(*CELL, run, "itq", 16, *extension, metric, "class labels", 100, n_database, f"digest{run}", value)]


def test_rows_are_written_with_nine_digits_and_in_order(tmp_path):
    write_rows(tmp_path / "a.csv", rows(0, 1 / 3) + rows(1, 1.0))
    assert (tmp_path / "a.csv").read_text() == (
        ",".join([*COLUMNS[:-1], *ITEMS, "value"]) + "\n"
        "digits,gist,class_label,standard,0,itq,16,none,0,mAP,class labels,100,1697,digest0,0.333333333\n"
        "digits,gist,class_label,standard,1,itq,16,none,0,mAP,class labels,100,1697,digest1,1\n"
    )


def test_the_order_of_the_files_does_not_matter(tmp_path):
    for name, made in (("a", rows(10, 0.1) + rows(2, 0.2)), ("b", rows(1, 0.3, metric="nDCG")), ("c", rows(0, 0.4))):
        write_rows(tmp_path / f"{name}.csv", made)
    tables = [collect(tmp_path / f"{name}.csv" for name in order) for order in itertools.permutations("abc")]
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0]["run"].tolist() == [0, 1, 2, 10]
    written = []
    for i, table in enumerate(tables):
        write_table(tmp_path / f"{i}.out", table)
        written.append((tmp_path / f"{i}.out").read_bytes())
    assert len(set(written)) == 1


def test_summary_has_the_sample_standard_deviation_and_the_number_of_runs(tmp_path):
    write_rows(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3) + rows(0, 0.5, metric="nDCG"))
    summary = summarise(collect([tmp_path / "a.csv"])).set_index("metric")
    assert summary.loc["mAP", "mean"] == pytest.approx(0.2)
    assert summary.loc["mAP", "std"] == pytest.approx(0.02**0.5)
    assert summary.loc["mAP", "n_runs"] == 2
    assert pd.isna(summary.loc["nDCG", "std"])


def test_summary_says_what_identifies_its_numbers(tmp_path):
    write_rows(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3) + rows(0, 0.5, metric="precision@r2"))
    scores = collect([tmp_path / "a.csv"])
    for empty, convention in (("zero", "protocol"), ("drop", "protocol, undefined left out")):
        for row in summarise(scores, empty=empty).itertuples():
            assert (row.relevance, row.n_queries, row.n_database) == ("class labels", 100, 1697)
            assert (row.empty, row.convention, row.version) == (empty, convention, __version__)
            assert row.ties == registry.entry("metric", row.metric).ties


def test_a_size_that_changes_from_run_to_run_is_a_range(tmp_path):
    write_rows(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3, n_database=1690))
    (row,) = summarise(collect([tmp_path / "a.csv"])).itertuples()
    assert (row.n_queries, row.n_database, row.n_runs) == (100, "1690 to 1697", 2)


def test_each_run_is_listed_once_with_its_items(tmp_path):
    write_rows(tmp_path / "a.csv", rows(1, 0.3) + rows(0, 0.1) + rows(0, 0.5, metric="nDCG"))
    runs = runs_of(collect([tmp_path / "a.csv"]))
    assert list(runs) == ["feature", "ground_truth", "split", "run", *ITEMS]
    assert runs[["run", "items"]].to_numpy().tolist() == [[0, "digest0"], [1, "digest1"]]


def summary_of(**means):
    """A summary of one cell with plain, same- and different-extension codes of one bit."""
    extensions = {"none": 0, "same": 1, "different": 1}
    table = [
        (*CELL, "itq", 16, extension, s, metric, means[f"{extension}_{metric}"], 0.0, 2)
        for metric in ("mAP", "RAMAP@r2", "precision@r2")
        for extension, s in extensions.items()
    ]
    return pd.DataFrame(table, columns=[*(c for c in COLUMNS[:-1] if c != "run"), "mean", "std", "n_runs"])


GOOD = {
    **{f"{extension}_mAP": 0.5 for extension in ("none", "same", "different")},
    "none_RAMAP@r2": 0.3,
    "same_RAMAP@r2": 0.2,
    "different_RAMAP@r2": 0.1,
    "none_precision@r2": 0.4,
    "same_precision@r2": 0.4,
    "different_precision@r2": 0.1,
}


def test_identities_hold_on_a_good_summary():
    checks = check_identities(summary_of(**GOOD))
    assert [check.n_violations for check in checks] == [0] * 6
    assert [check.n_pairs for check in checks] == [1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({"same_mAP": 0.5001}, "mAP: none = same"),
        ({"different_mAP": 0.4}, "mAP: none = different"),
        ({"same_precision@r2": 0.39}, "precision at a radius: none = same"),
        ({"same_RAMAP@r2": 0.31}, "RAMAP: none >= same"),
        ({"different_RAMAP@r2": 0.21}, "RAMAP: same >= different"),
    ],
)
def test_a_violated_identity_is_counted(change, violated):
    assert [check.statement for check in check_identities(summary_of(**GOOD | change)) if check.n_violations] == [
        violated
    ]


def test_a_summary_states_what_each_method_learned_from(tmp_path):
    write_rows(tmp_path / "a.csv", rows(0, 0.1) + rows(1, 0.3))
    scores = collect([tmp_path / "a.csv"])
    assert summarise(scores, supervision={"gist itq": "labels"})["supervision"].tolist() == ["labels"]
    assert summarise(scores)["supervision"].tolist() == ["unknown"]
