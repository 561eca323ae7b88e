"""The stored tables of the ledger equal those that their script makes."""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

SPEC = importlib.util.spec_from_file_location("claims_tables", Path(__file__).with_name("claims_tables.py"))
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


def stored(name):
    with open(tables.FOLDER / f"{name}.csv", newline="") as file:
        return {(row["dataset"], row["statistic"]): float(row["value"]) for row in csv.DictReader(file)}


def test_the_counts_of_datasets(shared, tmp_path, monkeypatch):
    before = (tables.FOLDER / "datasets.csv").read_text()
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    tables.main(shared / "data", "datasets")
    assert (tmp_path / "datasets.csv").read_text() == before


@pytest.mark.parametrize("name", ["growth", "variants"])
def test_what_is_taken_from_other_tables(tmp_path, monkeypatch, name):
    before = (tables.FOLDER / f"{name}.csv").read_text()
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    tables.main(tmp_path, name)
    assert (tmp_path / f"{name}.csv").read_text() == before


def test_constant_codes_on_nuswide(shared):
    before = stored("nuswide")
    assert len(before) == 2 * tables.N_DRAWS
    labels = tables.top_21(shared / "data" / "nuswide_lists" / "hashnet_81")
    for dataset, statistic, value in tables.constant_codes(labels, 0):
        assert before[dataset, statistic] == value


def test_the_score_of_constant_codes_is_that_of_one_large_tie():
    """With one label for each image, AP is close to the share of relevant items."""
    found = {statistic: value for _, statistic, value in tables.constant_codes(np.eye(21, dtype=bool), 0)}
    assert found["mAP of constant codes, draw 0"] == pytest.approx(1 / 21, abs=1e-3)


def test_bucket_searches_of_one_hasher(monkeypatch):
    before = stored("buckets")
    assert len(before) == 4 * len(tables.SEARCHED) * len(tables.SEARCH_BITS)
    monkeypatch.setattr(tables, "SEARCHED", ("itq",))
    for dataset, statistic, value in tables.searched(16):
        assert before[dataset, statistic] == pytest.approx(value, abs=1e-6)
