"""The numbers of single sections of the report, and the tables that they are made of."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from protocol.hashers import selection
from protocol.provenance.storage import replacing
from protocol.report.results import read_examples
from protocol.report.sections import at_edges, choices
from protocol.report.sections.curves import binarisation_section, shares
from protocol.report.sections.data import duplicates_section
from protocol.scores.summary import COLUMNS, ITEMS, at, with_and_without

CELL = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric"]


def test_the_shares_are_those_of_the_metrics_with_the_intervals_of_means_over_runs(results):
    rows, names = shares(results), {1: "P@5", 2: "R@10", 4: "R@20"}
    assert set(rows["c"]) == set(names)
    both = rows.assign(metric=rows["c"].map(names)).merge(results.summary, on=CELL, suffixes=("", "_scored"))
    plain = at(both, extension="none")
    assert len(plain) == len(rows)
    assert (plain["mean"] == plain["mean_scored"]).all()
    three = dataclasses.replace(results, summary=results.summary.assign(mean=0.5, std=0.01, n_runs=3))
    half = stats.t.ppf(0.975, 2) * 0.01 * (1 / 3 + three.shared["standard"]) ** 0.5
    (itq,) = at(shares(three), hasher="itq", split="standard", n_bits=8, c=2).itertuples()
    assert (itq.low, itq.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_without_nearest_neighbours_or_their_metrics_there_is_no_section(results, bare):
    assert binarisation_section(results).figures[0].choices["ground_truth"] == "nearest_neighbours"
    assert binarisation_section(bare) is None
    options = results.config["ground_truth_options"] | {"nearest_neighbours": {"n_neighbours": 7}}
    other = dataclasses.replace(results, config=results.config | {"ground_truth_options": options})
    assert binarisation_section(other) is None  # P@5 and R@10 are of no use where 7 are nearest


SETTING = ("cifar10", "gist", "class_label", "standard")


def scores(values, n_queries=100):
    """Rows of (run, hasher, metric): value."""
    rows = [
        (*SETTING, run, hasher, 16, "none", 0, metric, "class labels", n_queries, 900, "x", value)
        for (run, hasher, metric), value in values.items()
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS[:-1], *ITEMS, "value"])


def table():
    every = {(0, "itq", "mAP"): 0.5, (1, "itq", "mAP"): 0.7, (0, "lsh", "mAP"): 0.55, (1, "lsh", "mAP"): 0.6}
    left = {(0, "itq", "mAP"): 0.4, (1, "itq", "mAP"): 0.5, (0, "lsh", "mAP"): 0.55, (1, "lsh", "mAP"): 0.6}
    every |= {(run, hasher, "empty@r2"): value for run in (0, 1) for hasher, value in (("itq", 0.1), ("lsh", 0.3))}
    left |= {key: value for key, value in every.items() if key[2] == "empty@r2"}
    extended = scores({(0, "itq", "mAP"): 0.9}).assign(extension="same", extension_bits=1)
    return with_and_without(pd.concat([scores(every), extended]), scores(left, n_queries=92))


def test_both_means_their_difference_and_the_ranks():
    found = table().set_index(["hasher", "metric"])
    itq, lsh = found.loc["itq", "mAP"], found.loc["lsh", "mAP"]
    assert (itq["all_queries"], itq["without"], itq["n_runs"]) == pytest.approx((0.6, 0.45, 2))
    assert (itq["difference"], itq["difference_std"]) == pytest.approx((-0.15, np.std([-0.1, -0.2], ddof=1)))
    assert (itq["n_queries"], itq["n_affected"]) == (100, 8)
    assert [(one["rank_all"], one["rank_without"]) for one in (itq, lsh)] == [(1, 2), (2, 1)]
    assert found.loc["itq", "empty@r2"]["rank_all"] == 1  # lower is better
    assert found.loc["lsh", "empty@r2"]["rank_all"] == 2


def section(results, own):
    config = results.config | {"metrics": ["mAP", "empty@r2"]}
    return duplicates_section(dataclasses.replace(results, duplicates=own, config=config))


def test_the_page_says_whether_a_score_or_a_rank_moves(results):
    assert duplicates_section(results) is None
    moved = table()
    still = moved.assign(difference=0.0, rank_without=moved["rank_all"])
    largest = "0.1500 (itq, 16 bits; gist, class_label, standard split: from 0.6000 to 0.4500)"
    cases = [(moved, largest, "2 of 2 ranks change."), (still, "0.0000", "no hasher changes its rank.")]
    for duplicates, change, ranks in cases:
        (answer,) = section(results, duplicates).text
        assert f"mAP changes by at most {change}" in answer
        assert answer.endswith(f"and {ranks} The file duplicates.csv contains all values.")


def test_choices_are_counted_over_runs_and_scores_averaged():
    rows = [
        *((0, 8, "n_iter=5", False, True, 0.4), (0, 8, "n_iter=50", True, False, 0.3)),
        *((1, 8, "n_iter=5", False, False, 0.1), (1, 8, "n_iter=50", True, True, 0.2)),
        *((2, 8, "n_iter=5", False, False, 0.5), (2, 8, "n_iter=50", True, True, 0.6)),
        (0, 4, "n_iter=7", False, True, 0.2),  # without the default
    ]
    place = {"feature": "gist", "sample": "random", "hasher": "itq", "ground_truth": "class_label", "metric": "mAP"}
    table = [("digits", "gist", "class_label", "random", run, "itq", n_bits, "mAP", *own) for run, n_bits, *own in rows]
    of_short = (4, [("n_iter=7", 1)], 0.2, pytest.approx(float("nan"), nan_ok=True))
    of_long = (8, [("n_iter=50", 2), ("n_iter=5", 1)], pytest.approx(1.2 / 3), pytest.approx(1.1 / 3))
    keys = ("n_bits", "chosen", "best", "default")
    expected = [place | dict(zip(keys, values, strict=True)) for values in (of_short, of_long)]
    assert [*choices(scores := pd.DataFrame(table, columns=selection.COLUMNS))] == expected
    assert list(at_edges(scores)) == ["itq (n_iter)"]
    assert list(at_edges(scores.assign(chosen=scores["options"] == "n_iter=7"))) == []
    assert list(at_edges(scores[scores["n_bits"] == 8])) == []  # both of two values are ends


NAMED = {"names": {"features": {"gist": "GIST", "bow": "BoW"}, "splits": {}, "hashers": {"lsh": "LSH"}}}
HEADER = "hasher,n_bits,code,items\n"


def test_tables_carry_their_feature_and_split_and_numbers_stay_numbers_beside_a_table_without_rows(tmp_path):
    paths = []
    for feature, split, rows in (("bow", "standard", ""), ("gist", "improved", "lsh,8,3,5\n")):
        folder = tmp_path / feature / "examples" / split
        folder.mkdir(parents=True)
        with replacing(folder / "histogram.csv", checksum=True) as path:
            path.write_text(HEADER + rows)
        paths.append(folder / "histogram.csv")
    table = read_examples(paths, NAMED)["histogram"]
    assert table.to_numpy().tolist() == [["LSH", 8, 3, 5, "GIST", "improved"]]
    assert list(table.select_dtypes("number")) == ["n_bits", "code", "items"]
    assert read_examples(paths[:1], NAMED)["histogram"].empty
