"""The committed tables of TALR: what they are kept to show, and a cell made again."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "results" / "reference" / "talr"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("talr_table", HERE / "talr_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(FOLDER / "talr.csv").set_index(["dataset", "metric", "n_bits", "hasher"])


def test_talr_ap_is_far_above_itq_on_average_precision(table):
    for dataset, margin in (("cifar10", 0.12), ("digits", 0.25)):
        own = table.loc[dataset, "mAP"].pivot_table("mean", "n_bits", "hasher")
        assert (own["talr_ap"] > own["itq"] + margin).all()
        assert (own["itq"] > own["lsh"]).all()


def test_talr_ndcg_is_above_itq_at_middle_lengths_and_not_everywhere(table):
    ndcg = table["mean"].xs("nDCG", level="metric")
    gained = (ndcg.xs("talr_ndcg", level="hasher") - ndcg.xs("itq", level="hasher")).reset_index()
    gained = gained.pivot_table("mean", "dataset", "n_bits")
    assert (gained[[32, 48]] > 0.002).all(axis=None)
    assert gained.loc["cifar10", 64] > 0.005
    assert abs(gained.loc["cifar10", 16]) < 0.001  # no gain
    assert -0.01 < gained.loc["digits", 64] < 0  # a loss: 500 rows, and objectives at their ceiling


def test_a_cell_is_made_again(made, table):
    runs = [made.scored(made.drawn("digits", run), "digits", "talr_ap", 16, run)["mAP"] for run in range(3)]
    wanted = table.loc["digits", "mAP", 16, "talr_ap"]
    assert sum(runs) / 3 == pytest.approx(wanted["mean"], abs=0.02)  # another machine's rounding leads elsewhere


def test_the_objective_rises(table):
    curves = pd.read_csv(FOLDER / "curves.csv").sort_values("part")
    for _, own in curves.groupby(["dataset", "hasher", "n_bits"]):
        assert own["objective"].iloc[-1] > own["objective"].iloc[0]
