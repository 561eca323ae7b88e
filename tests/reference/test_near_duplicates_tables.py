"""The table on near-duplicates agrees with the other stored results."""

import near_duplicates_tables as tables
import numpy as np
import pandas as pd
import pytest

CELL = ["ground_truth", "split", "hasher", "n_bits", "metric"]


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(tables.FOLDER / "duplicates.csv")


def test_with_all_queries_the_means_are_those_of_the_full_reproduction(table):
    full = tables.pages.read("cifar10", "summary")[0].set_index(CELL)["mean"]
    own = table[(table["split"] != "cifar10_s2") & table["metric"].isin(["mAP", "nDCG"])].set_index(CELL)["all_queries"]
    assert len(own) == 2 * 2 * 8 * 3 * 2
    np.testing.assert_allclose(own, full[own.index], rtol=2e-5)


def test_differences_and_ranks_are_those_of_the_means(table):
    np.testing.assert_allclose(table["without"] - table["all_queries"], table["difference"], atol=3e-6)
    own = table[table["metric"] == "mAP"]
    place = [own[name] for name in ("ground_truth", "split", "n_bits")]
    for column, rank in (("all_queries", "rank_all"), ("without", "rank_without")):
        assert (own.groupby(place)[column].rank(ascending=False) == own[rank]).all()


def test_the_official_test_set_has_the_pairs_of_cifair(table):
    own = table[table["split"] == "cifar10_s2"]
    assert set(own["n_affected"]) == {249}
    assert set(own["n_queries"]) == {10_000}
