"""The stored tables of the ledger equal those that their script makes."""

import claims_tables as tables
import numpy as np
import pytest


def stored(name):
    return tables.pages.read("claims", name)[0].set_index(["dataset", "statistic"])["value"].to_dict()


@pytest.mark.parametrize("name", ["datasets", "growth", "variants"])
def test_a_stored_table_is_that_of_the_datasets_or_of_other_tables(shared, tmp_path, monkeypatch, name):
    before = (tables.FOLDER / f"{name}.csv").read_text()
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    tables.main(shared / "data", name)
    assert (tmp_path / f"{name}.csv").read_text() == before


def test_constant_codes_on_nuswide(shared):
    before = stored("nuswide")
    assert len(before) == 2 * tables.N_DRAWS
    labels = tables.top_21(shared / "data")
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
