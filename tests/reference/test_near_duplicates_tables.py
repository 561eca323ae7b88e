"""The page on near-duplicates is made from its table, and the table agrees with the other stored results."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SPEC = importlib.util.spec_from_file_location(
    "near_duplicates_tables", Path(__file__).with_name("near_duplicates_tables.py")
)
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)
CELL = ["ground_truth", "split", "hasher", "n_bits", "metric"]


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(tables.FOLDER / "duplicates.csv")


def test_the_page_is_made_from_the_table(table):
    assert (tables.FOLDER / "README.md").read_text() == tables.page(table)


def test_with_all_queries_the_means_are_those_of_the_full_reproduction(table):
    full = pd.read_csv(tables.ROOT / "results" / "reference" / "cifar10" / "summary.csv").set_index(CELL)["mean"]
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
