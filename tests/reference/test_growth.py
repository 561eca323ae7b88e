"""The page on growth agrees with its table."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "growth.py"
SPEC = importlib.util.spec_from_file_location("growth", FILE)
growth = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(growth)


def test_the_page_is_made_from_the_table():
    table, *others = growth.stored()
    assert (growth.FOLDER / "README.md").read_text() == growth.page(table, *others)
    assert set(table["stage"]) == set(growth.STAGES)
    assert all(set(part["n"]) == set(growth.SIZES) for _, part in table.groupby("stage"))


def test_the_page_names_the_machine_and_has_the_shards():
    table, *_ = growth.stored()
    row = {"n": 20_000_000, "n_shards": 8, "threads": 1, "wall_s": 9.0, "cpu_s": 8.9, "peak_mb": 500}
    shards = pd.DataFrame(
        [row | {"what": "count_shard, 8 jobs"}, row | {"what": "evaluate", "threads": 2, "without_mapped_mb": 180}]
    )
    machine = growth.machine()
    text = growth.page(table, machine, shards, None)
    assert all(machine[name] in text for name in ("cpu", "cores", "date", "versions"))
    assert "| count_shard, 8 jobs | 1 | 9.0 | 8.9 | 500 |  |" in text
    assert "| evaluate | 2 | 9.0 | 8.9 | 500 | 180 |" in text


def test_a_busy_machine_is_refused():
    growth.check_idle([{"wall_s": 1.25, "cpu_s": 1.0}], busy=False)
    busy = [{"wall_s": 1.35, "cpu_s": 1.0}]
    growth.check_idle(busy, busy=True)
    with pytest.raises(SystemExit, match=r"the machine is busy: .*'wall_s': 1\.35"):
        growth.check_idle(busy, busy=False)


def test_the_time_for_many_items_is_extrapolated_from_the_largest_size():
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
