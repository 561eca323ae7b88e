"""The stored tables of the quantisation of vectors and their page are consistent."""

import numpy as np
import pandas as pd
import pytest
import quantisation_tables as tables

from protocol.report.sections import loss

PLACE = ["dataset", "feature", "split", "n_bits", "hasher"]


@pytest.fixture(scope="module")
def page():
    return (tables.FOLDER / "README.md").read_text()


@pytest.fixture(scope="module")
def runs():
    return pd.read_csv(tables.FOLDER / "runs.csv")


def test_the_curves_begin_at_the_means_of_the_runs(runs):
    curves = pd.read_csv(tables.FOLDER / "rescoring.csv").set_index(PLACE)
    first = curves[curves["c"] == 1].sort_index()
    by_run = runs.groupby(PLACE)[f"neighbours@{tables.K}"]
    np.testing.assert_allclose(first["mean"], by_run.mean(), atol=1e-5)
    np.testing.assert_array_equal(first["n_runs"], by_run.size())
    wide = curves.reset_index().pivot_table(index=PLACE, columns="c", values="mean")
    assert (np.diff(wide.to_numpy(), axis=1) >= 0).all()  # more items rescored, no fewer neighbours


def test_the_answers_of_the_page_are_those_of_the_runs(page, runs):
    for feature, own in runs.groupby("feature", sort=False):
        at = {"feature": feature, "ground_truth": tables.TRUTH, "split": tables.SPLIT}
        rows = own[own["split"] == tables.SPLIT].assign(ground_truth=tables.TRUTH, k=tables.K, c=1)
        best = loss.equal_bytes(rows.rename(columns={f"neighbours@{tables.K}": "value"}))
        assert f"- {loss.answer(best, at)}\n" in page


def test_statements_of_the_page_about_all_datasets_agree_with_the_runs(runs):
    rows = runs[runs["split"] == tables.SPLIT].assign(ground_truth="nearest", c=1)
    best = {
        k: loss.equal_bytes(rows.assign(k=k, value=rows[f"neighbours@{k}"])).set_index(["feature", "n_bits"])
        for k in (10, 100)
    }
    few = best[10].index.get_level_values("feature").str.startswith("text")
    assert set(best[10][~few]["best"]) == {"pca_rr", "itq"}
    longest = best[10][~few].reset_index().groupby("feature")["n_bits"].idxmax()
    assert set(best[10][~few].iloc[longest]["best"]) == {"pca_rr"}
    clear = best[10][best[10]["low"] > 0]
    assert dict(zip(clear.index, clear["second"], strict=True)) == {("gist", 512): "itq"}
    sift = best[100].loc[["sift", "dense_sift"]]
    assert set(sift["best"]) == {"itq"}
    assert set(sift[sift["low"] <= 0].index) == {("dense_sift", 512)}
    means = rows.pivot_table(index=["feature", "n_bits"], columns="hasher", values="neighbours@10")
    many = ~means.index.get_level_values("feature").str.startswith("text")
    assert (means[many][["sign", "median"]].max(axis=1) < means[many]["lsh"]).all()
    by_length = means[many]["pcah"].groupby("feature")
    assert (by_length.last() < by_length.first()).all()


def test_the_page_has_the_published_figures_as_they_are_stored(page):
    assert tables.published() in page
