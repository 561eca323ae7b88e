"""The kept counts of data sets are what loading them gives."""

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("claims_tables", Path(__file__).with_name("claims_tables.py"))
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


def test_the_counts_are_made_again(shared, tmp_path, monkeypatch):
    kept = (tables.FOLDER / "datasets.csv").read_text()
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "SETTINGS", ())
    tables.main(shared / "data")
    assert (tmp_path / "datasets.csv").read_text() == kept
