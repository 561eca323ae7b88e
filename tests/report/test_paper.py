"""Figures and tables for a paper."""

import shutil
import subprocess

import pytest

from protocol.checks import ProtocolError
from protocol.report import table_files, write_figures, write_tables
from protocol.report.figure import Table
from protocol.report.sections import sections


def tables_of(results):
    return [table for section in sections(results) for table in section.tables]


def test_tables_are_written_and_compile(results, tmp_path):
    write_tables(tmp_path / "tables", tables_of(results))
    names = {path.stem for path in (tmp_path / "tables").glob("*.tex")}
    assert names == {path.stem for path in (tmp_path / "tables").glob("*.md")}
    assert {"headline-class-label-standard", "ramap-table-2", "ramap-table-3", "partitions"} <= names
    assert "metrics" not in names  # sentences, to be read on the page
    assert "itq" in (tmp_path / "tables" / "headline-class-label-standard.tex").read_text()
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    inputs = "\n".join(rf"\input{{tables/{name}}}" for name in sorted(names))
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + inputs + "\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(document)
    done = subprocess.run(["pdflatex", "-interaction=batchmode", "all.tex"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, (tmp_path / "all.log").read_text()[-2000:]


def test_every_figure_is_written_with_its_data_in_three_formats_black_on_white(results, tmp_path):
    figures = [figure for section in sections(results) for figure in section.figures]
    write_figures(tmp_path / "figures", figures)
    names = {figure.name for figure in figures}
    for suffix, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("csv", b"")):
        files = {path.stem: path for path in (tmp_path / "figures").glob(f"*.{suffix}")}
        assert set(files) == names
        assert all(path.read_bytes().startswith(start) for path in files.values())
    assert all("currentColor" not in path.read_text() for path in (tmp_path / "figures").glob("*.svg"))


def test_a_folder_that_is_not_whole_does_not_appear(results, tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "old.tex").write_text("old")
    monkeypatch.setattr("protocol.report.paper.latex", lambda *table, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_tables(tmp_path / "tables", tables_of(results))
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
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n\\input{t}\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(document)
    done = subprocess.run(["pdflatex", "-interaction=batchmode", "all.tex"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, (tmp_path / "all.log").read_text()[-2000:]
