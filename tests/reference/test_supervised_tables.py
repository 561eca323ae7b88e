"""The stored comparison of supervised hashers: its tables agree with each other, and a run is computed again."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import supervised_tables as made

TABLES = ("runs", "summary", "selection")


@pytest.fixture(scope="module")
def tables():
    return dict(zip(TABLES, made.pages.read("supervised", *TABLES), strict=True))


def test_the_summary_is_that_of_the_runs_and_has_the_columns_of_an_experiments(tables):
    assert list(tables["summary"]) == [*made.CELL, "mean", "std", "n_runs"]
    expected = made.summary(tables["runs"])
    pd.testing.assert_frame_equal(tables["summary"], expected, rtol=1e-7, atol=1e-9)


def test_every_hasher_was_tuned_with_the_same_number_of_points():
    of = made.experiment(made.EXPERIMENTS["S1"])
    assert {len(made.points(use.grid)) for use in of.hashers.values()} == {5}
    for name in ("S2", "digits"):
        assert not any(use.grid for use in made.experiment(made.EXPERIMENTS[name]).hashers.values())


def test_the_chosen_point_has_the_best_validation_score(tables):
    searched = tables["selection"].dropna(subset="score")
    place = [*made.PLACE, "run", "hasher", "n_bits"]
    assert (searched.groupby(place)["chosen"].sum() == 1).all()
    best = searched.groupby(place)["score"].transform("max")
    np.testing.assert_allclose(searched.loc[searched["chosen"], "score"], best[searched["chosen"]], rtol=1e-6)


def test_s2_has_the_options_that_were_selected_most_often(tables):
    searched = tables["selection"].dropna(subset="score")
    second = made.experiment(made.EXPERIMENTS["S2"])
    grids = made.experiment(made.EXPERIMENTS["S1"]).hashers
    for hasher, own in searched[searched["hasher"].isin(second.hashers)].groupby("hasher"):
        times = own.groupby("options")["chosen"].sum()
        fixed = {name: second.hashers[hasher].options[name] for name in grids[hasher].grid}
        (point,) = (point for point in made.points(grids[hasher].grid) if point == fixed)
        assert times[made.described(point)] == times.max(), hasher


def test_intervals_and_differences_by_hand():
    values = pd.DataFrame(
        [
            {"metric": "mAP", "hasher": hasher, "n_bits": 8, "run": run, "value": value, "error": 0.03}
            for hasher, of_runs in {"a": (0.5, 0.7, 0.6), "b": (0.4, 0.4, 0.4)}.items()
            for run, value in enumerate(of_runs)
        ]
    ).assign(dataset="cifar10", split="standard")
    (difference,) = made.compared(values, "mAP", "a", "b").differences.values()
    # t of two degrees of freedom; 1,000 queries and 59,000 database items in each of three runs
    assert difference == pytest.approx((0.2, 4.30265 * 0.1 * (1 / 3 + 4 * 1000 / 59000) ** 0.5), rel=1e-4)
    (single,) = made.compared(values[values["run"] == 0], "mAP", "a", "b").differences.values()
    assert single == pytest.approx((0.1, 1.96 * 0.03 * 2**0.5))
    assert made.compared(values, "mAP", "a", "c") is None


@pytest.mark.nightly
def test_a_run_on_the_digits_is_made_again(tables):
    run = made.Run(made.EXPERIMENTS["digits"], 0)
    runs = tables["runs"].query("dataset == 'digits' and run == 0 and hasher == 'classifier'")
    stored = runs.set_index(["n_bits", "metric"])["value"]
    for n_bits in (16, 32):
        (point,) = made.grid_row(run, "classifier", n_bits, [])
        for metric, value in point["values"].items():
            assert value == pytest.approx(stored[n_bits, metric], abs=0.002)
