"""Figures and tables for a paper."""

import shutil
import subprocess

import pytest

from protocol.checks import ProtocolError
from protocol.report import write_figures, write_tables
from protocol.report.sections import sections


def test_tables_are_written_and_compile(results, tmp_path):
    write_tables(tmp_path / "tables", results)
    names = {path.stem for path in (tmp_path / "tables").iterdir()}
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


def test_every_figure_is_written_in_three_formats_black_on_white(results, tmp_path):
    write_figures(tmp_path / "figures", results)
    names = {figure.name for section in sections(results) for figure in section.figures}
    for suffix, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        files = {path.stem: path for path in (tmp_path / "figures").glob(f"*.{suffix}")}
        assert set(files) == names
        assert all(path.read_bytes().startswith(start) for path in files.values())
    assert all("currentColor" not in path.read_text() for path in (tmp_path / "figures").glob("*.svg"))


def test_a_folder_that_is_not_whole_does_not_appear(results, tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "old.tex").write_text("old")
    monkeypatch.setattr("protocol.report.paper.latex", lambda *table, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_tables(tmp_path / "tables", results)
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "old.tex"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ProtocolError, match="can't be written"):
        write_tables(tmp_path / "file" / "tables", results)
