"""A comparison as text, as a page and in a notebook."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from browser import DRAWN, opened

from protocol import evaluate
from protocol.cli import main
from protocol.comparison import compare
from protocol.evaluation.plots import TITLES
from protocol.styles import styles


@pytest.fixture
def files(experiment):
    rows = ({"values": [0.5, 0.6, 0.55]}, {"metric": "nDCG", "values": [0.5, 0.6, 0.55]})
    others = [row | {"hasher": "<lsh>", "values": [0.4, 0.45, 0.47]} for row in rows]
    return experiment("a", *rows), experiment("b", *(row | {"relevance": ""} for row in others))


def test_the_command_prints_the_result_of_the_function(files, capsys):
    options = {"metric": "mAP", "assume": "relevance=class labels", "against": "<lsh>, gist"}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    assert main(["compare", *map(str, files), *words]) == 0
    text = repr(compare(*files, metrics="mAP", assume="relevance=class labels", against="<lsh>, gist"))
    assert capsys.readouterr().out == f"{text}\n"
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("method ") and "difference" in line)
    assert re.split("  +", lines[at]) == ["method", "bits", "difference", "interval", "p", "pairs"]
    cells = re.split("  +", lines[at + 1])
    assert cells[:3] == ["itq, gist", "16", "+0.1100"]
    assert cells[5:] == ["3 runs"]


def test_the_verdict_stands_first_and_the_method_last(files, experiment):
    lines = repr(compare(*files, metrics="mAP", assume="relevance=class labels")).splitlines()
    assert lines[2].startswith("The difference between itq, gist and <lsh>, gist is not significant: 0.110 [-")
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
    assert "7 further tables not shown: use --metrics NAME" in repr(compare(*files))
    few = compare(*(experiment(name, *rows[:4]) for name in "cd"))
    assert set(few.to_frame()["metric"]) == set(metrics)
    assert "further" not in repr(few)


NAMES = {"dataset": "d", "split": "s", "ground_truth": "g"}
KINDS = ("precision-recall", "precision@K", "recall@K")


def two_evaluations():
    query = np.eye(6, 8, dtype=bool)
    options = {"query_labels": [0, 1] * 3, "database_labels": [0, 1] * 3, "metrics": ["mAP"]}
    one, other = (evaluate(query, database, **options) for database in (query, ~query))
    return one.named("a", **NAMES), other.named("b", **NAMES)


def rows_of(comparison, kind):
    """Return the points of the figure of a kind, without the code length."""
    figures = {figure.title: figure for part in comparison.with_figures() for figure in part.figures}
    return figures[TITLES[kind]].data.drop(columns="n_bits").to_dict("records")


@pytest.mark.parametrize("kind", KINDS)
def test_the_curves_of_several_methods_are_lines_of_one_figure(kind):
    evaluations = two_evaluations()
    own = [point for one in evaluations for point in one.plot(kind).to_dict()["data"]["values"]]
    assert rows_of(compare(*evaluations), kind) == own != []


def test_the_dots_of_evaluations_have_intervals_over_the_queries():
    names = [(1, 0.2), (0, 0.6)]
    labels = {"query_labels": [0, 1] * 4, "database_labels": [0, 1] * 4, "metrics": ["mAP"]}
    rng = np.random.default_rng(0)
    query, database = rng.integers(0, 2, (2, 8, 8))
    evaluations = [evaluate(query, database ^ flipped, **labels).named(f"{share}", **NAMES) for flipped, share in names]
    (figure,) = compare(*evaluations).with_figures()[0].figures
    for evaluation, (_, row) in zip(evaluations, figure.data.iterrows(), strict=True):
        values = evaluation.per_query["mAP"]
        half = 2.3646 * values.std(ddof=1) / 8**0.5  # Student's t with 7 degrees of freedom
        assert (row["low"], row["high"]) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-4)
    assert figure.shows.endswith("Lines: 95 % intervals of the means over the queries.")


def test_a_method_has_one_style_in_all_figures_of_a_page_and_that_of_its_hasher_in_reports():
    one, other = two_evaluations()
    page = compare(one.named("itq", **NAMES), other.named("mine", **NAMES)).to_html()
    scales = re.findall(r'"scale": ?{"domain": ?(\[[^]]*\]), ?"range": ?(\[[^]]*\])', page)
    colours = [dict(zip(*map(json.loads, scale), strict=True)) for scale in scales if "#" in scale[1]]
    assert len(colours) >= 1 + len(KINDS)  # the figures have one or more layers
    assert all(one == {name: style.colour for name, style in styles(["itq", "mine"]).items()} for one in colours)


def test_files_refer_to_their_curves(tmp_path):
    evaluations, paths = two_evaluations(), []
    for one in evaluations:
        folder = tmp_path / one.name
        folder.mkdir()
        one.write_pr_curves(folder / "pr.csv")
        one.write_top_k_curves(folder / "top.csv")
        one.write_json(folder / f"{one.name}.json", pr_curves=folder / "pr.csv", top_k_curves=folder / "top.csv")
        paths.append(folder / f"{one.name}.json")
    for kind in KINDS:
        for stored, point in zip(rows_of(compare(*paths), kind), rows_of(compare(*evaluations), kind), strict=True):
            assert stored == pytest.approx(point, abs=1e-8)
    (tmp_path / "a" / "top.csv").write_text("n,ranking,precision,recall\n")
    assert (
        "No curves: top.csv is not the file to which a.json refers: its SHA-256 differs." in compare(*paths).to_html()
    )
    (tmp_path / "b" / "top.csv").unlink()
    assert "Curves" not in [section.title for section in compare(*paths).with_figures()]


def with_curves(summary):
    """Write the tables of curves of the pipeline next to a summary."""
    row, folder = pd.read_csv(summary).iloc[0], summary.parent / "gist" / "examples" / "standard"
    folder.mkdir(parents=True)
    place = {"ground_truth": row["ground_truth"], "hasher": row["hasher"], "n_bits": row["n_bits"]}
    radii = [
        place | {"extension": "none", "extension_bits": 0, "metric": f"{side}[micro]", "radius": r, "value": value}
        for side, values in (("precision", [0.9, 0.5, 0.1]), ("recall", [0.0001, 0.5, 1.0]))
        for r, value in enumerate(values)
    ]
    curves = [
        place | {"metric": side, "at": n, "value": value}
        for side, values in (("precision", [0.9, 0.5]), ("recall", [0.1, 0.2]))
        for n, value in zip((1, 10), values, strict=True)
    ]
    pd.DataFrame(radii).to_csv(folder / "radii.csv", index=False)
    pd.DataFrame(curves).to_csv(folder / "curves.csv", index=False)


def test_the_page_has_the_curves_next_to_a_summary(browser, files, tmp_path):
    compared = compare(*files, assume="relevance=class labels")
    assert "Precision of the top N" not in compared.to_html()
    for file in files:
        with_curves(file)
    for kind in KINDS:  # a recall too small for the figure is left out
        assert [row["method"] for row in rows_of(compared, kind)] == ["itq, gist"] * 2 + ["<lsh>, gist"] * 2
    (tmp_path / "c.html").write_text(compared.to_html())
    with opened(browser, tmp_path / "c.html", width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert len(drawn) == 4
        assert all(marks > 1 for marks in drawn.values())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        (link,) = [link for link in tab.evaluate("[...document.links].map((a) => a.href)") if "radius" in link]
        assert "0.0001" not in link  # a recall too small for the figure
        assert wrong == []


def test_long_names_are_complete_in_the_figure(browser, experiment, tmp_path):
    name = "a_long_name_of_a_supervised_hasher_with_options"
    files = experiment("a", {"hasher": name}), experiment("b", {"hasher": "itq"})
    (tmp_path / "c.html").write_text(compare(*files).to_html())
    with opened(browser, tmp_path / "c.html", width=1280) as (tab, _):
        texts = tab.locator("figure svg text").all_text_contents()
    assert name in "".join(texts)
