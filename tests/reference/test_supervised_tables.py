"""The stored comparison of supervised hashers: intervals by hand, and a run that is recomputed."""

import pandas as pd
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import supervised_tables as made


@pytest.fixture(scope="module")
def tables():
    names = ("runs", "summary", "selection")
    return dict(zip(names, made.pages.read("supervised", *names), strict=True))


def test_the_summary_is_that_of_the_runs_and_has_the_columns_of_an_experiments(tables):
    expected = made.summary(tables["runs"])
    pd.testing.assert_frame_equal(tables["summary"], expected, rtol=1e-7, atol=1e-9)
    assert list(expected) == [*made.CELL, "mean", "std", "n_runs", "n_queries", "n_database"]


def test_every_hasher_was_tuned_with_five_points_of_which_s2_has_the_most_selected(tables):
    first, second = (made.experiment(made.EXPERIMENTS[name]).hashers for name in ("S1", "S2"))
    assert {len(made.points(variant.grid)) for variant in first.values()} == {5}
    searched = tables["selection"].dropna(subset="score")
    for hasher, own in searched[searched["hasher"].isin(second)].groupby("hasher"):
        times = own.groupby("options")["chosen"].sum()
        fixed = {name: second[hasher].options[name] for name in first[hasher].grid}
        (point,) = (point for point in made.points(first[hasher].grid) if point == fixed)
        assert times[made.described(point)] == times.max(), hasher


def test_intervals_and_differences_by_hand():
    values = pd.DataFrame(
        [
            {"metric": "mAP", "hasher": hasher, "n_bits": 8, "run": run, "value": value, "error": 0.03}
            for hasher, of_runs in {"a": (0.5, 0.7, 0.6), "b": (0.4, 0.4, 0.4)}.items()
            for run, value in enumerate(of_runs)
        ]
    ).assign(dataset="cifar10", split="standard")
    (difference,) = made.compared(values, "mAP", [("a", "b")])[["mean", "half"]].to_numpy().tolist()
    # t of two degrees of freedom; 1,000 queries and 59,000 database items in each of three runs
    shared = 4 * 1000 * 59000 / (59000 - 1000) ** 2
    assert difference == pytest.approx([0.2, 4.30265 * 0.1 * (1 / 3 + shared) ** 0.5], rel=1e-4)
    single = made.compared(values[values["run"] == 0], "mAP", [("a", "c"), ("a", "b")])
    assert single[["mean", "half"]].to_numpy().tolist() == [pytest.approx([0.1, 1.96 * 0.03 * 2**0.5])]


@pytest.mark.nightly
def test_a_run_on_the_digits_is_made_again(tables):
    run = made.Run(made.EXPERIMENTS["digits"], 0)
    runs = tables["runs"].query("dataset == 'digits' and run == 0 and hasher == 'classifier'")
    stored = runs.set_index(["n_bits", "metric"])["value"]
    for n_bits in (16, 32):
        (point,) = made.grid_row(run, "classifier", n_bits)
        for metric, value in point["values"].items():
            assert value == pytest.approx(stored[n_bits, metric], abs=0.002)
