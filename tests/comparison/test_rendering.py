"""A comparison as text, as a page and in a notebook."""

import re

import numpy as np
import pytest
from browser import DRAWN, opened

from protocol import evaluate
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare


@pytest.fixture
def files(experiment):
    rows = ({"values": [0.5, 0.6, 0.55]}, {"metric": "nDCG", "values": [0.5, 0.6, 0.55]})
    others = [row | {"hasher": "<lsh>", "values": [0.4, 0.45, 0.47]} for row in rows]
    return experiment("a", *rows), experiment("b", *(row | {"relevance": ""} for row in others))


def test_the_command_prints_the_result_of_the_function(files, capsys):
    options = {"margin": "0.01", "metric": "mAP", "assume": "relevance", "against": "<lsh>, gist"}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    assert main(["compare", *map(str, files), *words]) == 0
    text = repr(compare(*files, margin=0.01, metrics="mAP", assume="relevance", against="<lsh>, gist"))
    assert capsys.readouterr().out == f"{text}\n"
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("method ") and "difference" in line)
    assert re.split("  +", lines[at]) == [
        *("method", "bits", "difference", "interval", "p", "pairs", "non-inferior", "equivalent")
    ]
    cells = re.split("  +", lines[at + 1])
    assert cells[:3] == ["itq, gist", "16", "+0.1100"]
    assert cells[5:] == ["3 runs", "yes", "no"]


def test_the_verdict_stands_first_and_the_method_last(files, experiment):
    lines = repr(compare(*files, metrics="mAP", assume="relevance")).splitlines()
    assert lines[2].startswith("No difference between itq, gist and <lsh>, gist is shown: 0.110 [-")
    assert [line for line in lines if line.startswith("== ")][-1] == "== What was compared, and how"
    clear = [
        experiment(name, {"values": values}) for name, values in (("c", [0.5, 0.52, 0.51]), ("d", [0.9, 0.92, 0.92]))
    ]
    text = repr(compare(*clear, against="itq, gist (c/summary.csv)"))
    assert "itq, gist (d/summary.csv) beats itq, gist (c/summary.csv) by 0.403 [" in " ".join(text.split())


def test_of_many_tables_only_that_of_the_headline_is_printed(experiment):
    metrics = ["nDCG", "mAP", "precision@r2", "recall@r2"]
    rows = [{"metric": metric, "split": split} for split in ("improved", "standard") for metric in metrics]
    files = experiment("a", *rows), experiment("b", *rows)
    frames = {metrics: compare(*files, metrics=metrics).to_frame() for metrics in ((), "nDCG", "all")}
    shown = {metrics: (set(frame["metric"]), set(frame["split"])) for metrics, frame in frames.items()}
    assert shown[()] == ({"mAP"}, {"improved"})
    assert shown["nDCG"] == ({"nDCG"}, {"improved", "standard"})
    assert shown["all"] == (set(metrics), {"improved", "standard"})
    assert "7 further tables: --metric NAME" in repr(compare(*files))
    few = compare(*(experiment(name, *rows[:4]) for name in "cd"))
    assert set(few.to_frame()["metric"]) == set(metrics)
    assert "further" not in repr(few)


@pytest.mark.parametrize("kind", ["precision-recall", "precision@N", "recall@N"])
def test_the_curves_of_several_methods_are_lines_of_one_figure(files, kind):
    query = np.eye(6, 8, dtype=bool)
    options = {"query_labels": [0, 1] * 3, "database_labels": [0, 1] * 3, "metrics": ["mAP"]}
    names = {"dataset": "d", "split": "s", "ground_truth": "g"}
    one, other = (evaluate(query, database, **options) for database in (query, ~query))
    chart = compare(one.named("a", **names), other.named("a", **names)).plot(kind).to_dict()
    assert chart["encoding"]["color"]["field"] == "method"
    drawn = {name: [p for p in chart["data"]["values"] if p["method"] == name] for name in ("a", "a (2)")}
    alone = [evaluation.plot(kind).to_dict()["data"]["values"] for evaluation in (one, other)]
    assert [[point | {"method": "codes"} for point in points] for points in drawn.values()] == alone
    with pytest.raises(
        ProtocolError, match=r"^plot: expected results of `evaluate`, got files, which contain no curves"
    ):
        compare(*files, assume="relevance").plot(kind)


def test_a_notebook_shows_the_same_tables_with_escaped_names(files):
    html = compare(*files, metrics="mAP", assume="relevance")._repr_html_()
    assert html.count("<table>") == 2
    assert "&lt;lsh&gt;, gist" in html
    assert "<lsh>" not in html


def test_the_page_of_a_comparison_is_drawn(browser, files, tmp_path):
    path = tmp_path / "c.html"
    assert main(["compare", *map(str, files), "--assume", "relevance", "--html", str(path)]) == 0
    with opened(browser, path, width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert len(drawn) == 1
        assert all(marks > 1 for marks in drawn.values())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []
