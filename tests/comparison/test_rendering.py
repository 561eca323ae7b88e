"""A comparison as text, as a page and in a notebook."""

import re

import pytest
from browser import DRAWN, opened

from protocol.cli import main
from protocol.comparison import compare

A, B = [0.5, 0.6, 0.55], [0.4, 0.45, 0.47]


@pytest.fixture
def files(experiment):
    return experiment("a", {"values": A}), experiment("b", {"hasher": "<lsh>", "values": B})


def test_the_command_prints_the_result_of_the_function(files, capsys):
    assert main(["compare", *map(str, files), "--margin", "0.01"]) == 0
    assert capsys.readouterr().out == f"{compare(*files, margin=0.01)!r}\n"


def test_a_table_of_differences_is_aligned_and_complete(files):
    lines = repr(compare(*files, margin=0.01)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("method ") and "difference" in line)
    assert re.split("  +", lines[at]) == [
        *("method", "bits", "difference", "interval", "p", "pairs", "no worse", "equal")
    ]
    cells = re.split("  +", lines[at + 1])
    assert cells[:3] == ["<lsh>, gist", "16", "-0.1100"]
    assert cells[5:] == ["3 runs", "not shown", "not shown"]


def test_a_notebook_shows_the_same_tables_with_escaped_names(files):
    html = compare(*files)._repr_html_()
    assert html.count("<table>") == 2
    assert "&lt;lsh&gt;, gist" in html
    assert "<lsh>" not in html


def test_the_page_of_a_comparison_is_drawn(browser, files, tmp_path):
    made = tmp_path / "c.html"
    assert main(["compare", *map(str, files), "--margin", "0.01", "--html", str(made)]) == 0
    with opened(browser, made, width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert len(drawn) == 1
        assert all(marks > 1 for marks in drawn.values())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []
