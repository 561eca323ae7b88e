"""The files of figures and tables for a paper."""

import pytest

from protocol.checks import ProtocolError
from protocol.report import write_tables
from protocol.scores.tables import Table

TABLE = Table("t", "Made.", ["method", "mAP"], [["ITQ", "0.1"]])


def test_a_folder_that_is_not_whole_does_not_appear(tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "old.tex").write_text("old")
    monkeypatch.setattr(Table, "latex", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_tables(tmp_path / "tables", [TABLE])
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "old.tex"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ProtocolError, match="can't be written"):
        write_tables(tmp_path / "file" / "tables", [])
