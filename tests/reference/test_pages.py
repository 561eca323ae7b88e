"""Stored pages are those that their scripts make from the stored tables, and stored summaries are those of the runs."""

import importlib

import numpy as np
import pages
import pandas as pd
import pytest

CELL = ["feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]
PAGES = ["talr_table", *(f"{folder}_tables" for folder in ("cifar10", "learned", "near_duplicates", "resampling"))]
PAGES += ["supervised_tables", "thesis_tables"]
SUMMARIES = [("cifar10", "runs", "summary"), ("cifar10", "runs", "extensions"), ("learned", "metrics", "summary")]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_made_from_the_stored_tables(name):
    folder = name.rpartition("_")[0]
    assert (pages.REFERENCE / folder / "README.md").read_text() == importlib.import_module(name).page()


@pytest.mark.parametrize(("folder", "runs", "summary"), SUMMARIES)
def test_the_summary_is_that_of_the_runs(folder, runs, summary):
    per_run, stored = pages.read(folder, runs, summary)
    cell = [name for name in CELL if name in per_run]
    by_cell = per_run.groupby(cell)["value"].agg(["mean", "std", "size"])
    stored = stored[(stored["metric"] == "mAP") | (folder == "learned")]
    if "extension" in stored and folder == "cifar10":
        stored = stored[stored["extension"] == "none"]
    expected = by_cell.loc[pd.MultiIndex.from_frame(stored[cell])]
    assert len(stored)
    np.testing.assert_allclose(stored["mean"], expected["mean"], atol=2e-6)
    np.testing.assert_allclose(stored["std"], expected["std"], atol=2e-6)
    np.testing.assert_array_equal(stored["n_runs"], expected["size"])
    assert summary == "extensions" or len(by_cell) == len(stored)


def test_a_grid_has_the_rows_and_columns_in_order_and_empty_cells():
    table = pd.DataFrame({"hasher": ["b", "a", "c", "a"], "n_bits": [16, 16, 16, 8], "x": [0.1, 0.25, 0.5, 1.0]})
    shown = pages.grid(table, "hasher", "n_bits", "{x:.1f}", order=["a", "b"], head="{} bits")
    assert shown == "| hasher | 8 bits | 16 bits |\n|---|---|---|\n| a | 1.0 | 0.2 |\n| b |  | 0.1 |"
