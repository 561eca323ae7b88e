"""What the kept tables of the learned objectives say of themselves."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SPEC = importlib.util.spec_from_file_location("learned_tables", Path(__file__).with_name("learned_tables.py"))
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)
CELL = ["dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]


@pytest.fixture(scope="module")
def kept():
    return [pd.read_csv(tables.FOLDER / f"{name}.csv") for name in ("metrics", "summary")]


def test_the_summary_is_that_of_the_runs(kept):
    metrics, summary = (table.set_index(CELL).sort_index() for table in kept)
    assert list(kept[0]) == [*CELL[:4], "run", *CELL[4:], "value"]
    grouped = metrics.groupby(level=CELL)["value"]
    np.testing.assert_allclose(summary["mean"], grouped.mean(), rtol=1e-8)
    np.testing.assert_allclose(summary["std"], grouped.std(), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(summary["n_runs"], grouped.count())


def test_what_the_page_says_of_the_orderings_is_what_the_runs_give(kept):
    page = (tables.FOLDER / "README.md").read_text()
    for feature in tables.SQUARED:
        verdicts = tables._verdicts(tables._by_run(kept[0], feature))
        assert verdicts
        assert verdicts in page
    for part in tables._mlgap(kept[1]):
        assert part in page


def test_an_ordering_is_counted_run_by_run():
    scores = pd.DataFrame([[4, 3, 2, 1], [4, 3, 3, 1], [1, 2, 3, 4]], columns=list(tables.M))
    assert (tables._ordered(scores, -1), tables._ordered(scores, 1)) == (1, 1)
