"""Scores without the queries that have a near-duplicate: the table, the section of the page, and the script."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from protocol.report.sections.data import duplicates_section
from protocol.scores.summary import COLUMNS, ITEMS, with_and_without

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
    every |= {
        (run, hasher, "empty@r2"): {"itq": 0.1, "lsh": 0.3}[hasher] for run in (0, 1) for hasher in ("itq", "lsh")
    }
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
    for duplicates, change, ranks in (
        (moved, largest, "2 of 2 ranks change."),
        (still, "0.0000", "no hasher changes its rank."),
    ):
        (answer,) = section(results, duplicates).text
        assert f"mAP changes by at most {change}" in answer
        assert answer.endswith(f"and {ranks} The file duplicates.csv contains all values.")
