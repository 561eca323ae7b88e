"""The papers' figures and tables on small tables: what the results allow is drawn, and what is missing is named."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from evidence import rows_of, write_summary

from protocol.cli import main
from protocol.papers.figures import DRAWINGS, data_in, data_of

USUAL = {"experiment": "made", "dataset": "cifar10", "feature": "gist", "ground_truth": "class_label", "split": "s"}
USUAL |= {"n_runs": 2, "std": 0.01, "metric": "mAP", "extension": "none", "extension_bits": 0}
CASES, STORED = (yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text()) for name in ("figures", "stored"))


def of_case(case):
    """Return data with the rows of a case."""
    kinds = ("summary", "radii", "histogram", "alpha")
    return data_of((kind, pd.DataFrame(rows_of(case[kind], USUAL))) for kind in kinds if kind in case)


@pytest.mark.parametrize("name", DRAWINGS)
def test_without_results_nothing_is_drawn_and_what_is_missing_is_said(name):
    drawn = DRAWINGS[name](of_case({}))
    assert not drawn.figures
    assert not drawn.tables
    assert drawn.missing


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["figure"])
def test_a_figure_of_rows(case):
    drawn = DRAWINGS[case["figure"]](of_case(case))
    assert [words for words in case.get("missing", ()) if words not in drawn.missing] == []
    assert case.get("missing") != [] or drawn.missing == ""
    if "rows" in case:
        (table,) = drawn.tables
        rows = [row[: len(case["rows"][0])] for row in table.rows]
        assert [row for row in rows if row in case["rows"]] == case["rows"]
        assert table.flat_header[: len(case.get("header", ()))] == case.get("header", [])
        strong = [[*table.rows[down][:2], across] for down, across in sorted(table.strong)]
        assert sorted(case.get("strong", strong)) == sorted(strong)
        text = table.caption
    elif case["data"] is None:
        assert not drawn.figures
        return
    else:
        (table,) = drawn.figures
        assert {name: table.data[name].tolist() for name in case["data"]} == case["data"]
        text = table.shows
    assert case.get("name", table.name) == table.name
    assert [words for words in case.get("shows", ()) if words not in text] == []


@pytest.fixture
def folder(tmp_path):
    """Return a folder of results: an experiment, and three stored tables."""
    experiment = tmp_path / "results" / "mine"
    write_summary(experiment / "summary.csv", [{}])
    (stored := tmp_path / "results" / "reference" / "stored").mkdir(parents=True)
    for name, rows in STORED.items():
        pd.DataFrame(rows).to_csv(stored / f"{name}.csv", index=False)
    return tmp_path


def test_the_command_draws_the_available_figures_and_names_the_missing_ones(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["papers", "figures", "ramap_figure_7", "talr_alpha", "mlgap_figure_8", "--output", "paper"]) == 0
    lines = capsys.readouterr().out.splitlines()
    times = "ramap-figure-7-reference-stored-cifar10-gist-s-48"
    alpha = "talr-alpha-reference-stored-cifar10-gist-class-label-s-32"
    assert lines[0:2] == ["ramap_figure_7", f"  {times}"]
    assert lines[2].startswith("  missing: deep_squared and m_dsh on cifar10, alexnet: the stored times of lookups")
    assert lines[3:5] == ["talr_alpha", f"  {alpha}"]
    assert lines[5].startswith("mlgap_figure_8")
    assert lines[6].startswith("  missing: deep_supervised and buffer_zone on cifar10, pixels: codes of 12 bits")
    suffixes = {".svg", ".pdf", ".png", ".csv", ".tex"}
    expected = {name + end for name in (times, alpha) for end in suffixes}
    assert {path.name for path in Path("paper").iterdir()} == expected
    assert pd.read_csv(f"paper/{times}.csv").query("method == '8-DSH'")["mean"].tolist() == [0.01, 0.1, 1]
    assert data_in("results")["histogram"]["experiment"].unique().tolist() == ["reference/stored"]
