"""The files of figures and tables for a paper."""

import shutil
import subprocess

import pytest

from protocol.checks import ProtocolError
from protocol.report import table_files, write_tables
from protocol.scores.tables import Table

HEAD = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
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


def test_a_table_with_headings_above_its_header_compiles(tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    groups = [[("", 1), ("CIFAR-10", 2)], [("", 1), ("12 bits", 1), ("24 bits", 1)]]
    table = Table("t", "Made.", ["method", "mAP", "mAP"], [["ITQ", "0.1", "0.2"]], groups=groups)
    (tmp_path / "t.tex").write_bytes(table_files([table])["t.tex"])
    document = HEAD + "\\input{t}\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(document)
    done = subprocess.run(["pdflatex", "-interaction=batchmode", "all.tex"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, (tmp_path / "all.log").read_text()[-2000:]
