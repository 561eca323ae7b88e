"""The page on growth says what its table says."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "growth.py"
SPEC = importlib.util.spec_from_file_location("growth", FILE)
growth = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(growth)


def test_the_page_is_made_from_the_table():
    table = pd.read_csv(growth.FOLDER / "growth.csv")
    assert (growth.FOLDER / "README.md").read_text() == growth.page(table)
    assert set(table["stage"]) == set(growth.STAGES)
    assert all(set(part["n"]) == set(growth.SIZES) for _, part in table.groupby("stage"))


def test_what_many_items_take_is_worked_out_from_the_largest_size():
    """By hand: 10,000 queries x 10^8 items are 1,000 times 1,000 queries x 10^6; 10^8 items are 100 times 10^6."""
    rows = [(stage, n, 0, cpu, mb) for stage in growth.STAGES for n, cpu, mb in ((10**4, 9, 9), (10**6, 36, 500))]
    found = growth.projected(pd.DataFrame(rows, columns=["stage", "n", "wall_s", "cpu_s", "peak_mb"]))
    assert found["evaluate_h"] == found["truth_h"] == pytest.approx(36 * 1000 / 3600)
    assert found["encoding_h"] == pytest.approx(1)
    assert found["training_h"] == pytest.approx(0.01)
    assert found["divided_h"] == pytest.approx(21)
    assert found["shards"] == 100
    assert found["shard_mb"] == 500
    assert found["codes_gb"] == pytest.approx(0.8)
