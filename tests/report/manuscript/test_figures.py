"""The figures of a paper: which there are, how wide, with which names, and nothing cut off."""

import dataclasses
import re

import cv2
import numpy as np
import pytest

from protocol.report import figure_files
from protocol.report.figure import COLUMN_WIDTH, PAGE_WIDTH
from protocol.report.manuscript.figures import paper_figures
from protocol.styles import styles

NAMES = [
    "scores-mAP-100-all-gist-class-label-standard",
    "scores-precision-r2-gist-class-label-standard",
    "precision-at-n-16-gist-class-label-standard",
    "recall-at-n-16-gist-class-label-standard",
    "pr-curves-16-gist-class-label-standard",
    "pr-curves-gist-class-label-standard",
    "conventions-gist-class-label-standard",
]


@pytest.fixture(scope="module")
def figures(content):
    return {figure.name: figure for figure in paper_figures(content)}


@pytest.fixture(scope="module")
def files(figures):
    return figure_files(list(figures.values()))


def of_kind(files, suffix):
    return {name: content for name, content in files.items() if name.endswith(f".{suffix}")}


def inches(svg):
    width = re.search(rb'<svg[^>]* width="([0-9.]+)in" height="([0-9.]+)in"', svg)
    return float(width[1])


def test_there_is_a_figure_of_each_metric_the_curves_and_the_conventions(figures):
    assert list(figures) == NAMES


def test_figures_are_as_wide_as_a_column_or_a_page(figures, files):
    for figure in figures.values():
        expected = PAGE_WIDTH if figure.name == "pr-curves-gist-class-label-standard" else COLUMN_WIDTH
        assert figure.inches == expected
        assert expected - 0.05 <= inches(files[f"{figure.name}.svg"]) <= expected


def test_no_label_is_cut_off(files):
    """Whatever reaches the edge of a picture is cut there, so a narrow frame stays white."""
    for name, content in of_kind(files, "png").items():
        picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
        frame = [picture[:2], picture[-2:], picture[:, :2], picture[:, -2:]]
        assert min(int(edge.min()) for edge in frame) > 200, name
        assert picture.min() < 50


def test_the_greatest_value_is_whole(figures, files):
    assert figures[NAMES[-1]].data["convention"].tolist() == ["mAP@1000 / relevant among K", "mAP"]
    text = re.findall(r">(0\.7[0-9]{3})</text>", files[f"{NAMES[-1]}.svg"].decode())
    assert text == ["0.7712", "0.7636"]


def test_precision_of_the_top_items_has_the_line_of_a_random_ranking(figures):
    precision, recall, curves = (figures[name] for name in NAMES[2:5])
    (chance,) = set(precision.data["chance"])
    assert chance == pytest.approx(curves.data["chance"].mean())
    assert "dotted line is the precision of a random ranking" in precision.shows
    assert "chance" not in recall.data
    assert "dotted" not in recall.shows


def test_names_are_those_that_papers_print(files):
    svg = {name.removesuffix(".svg"): content.decode() for name, content in of_kind(files, "svg").items()}
    for words in ("PCA-RR", "[Ours] &amp; co_1", "Code length (bits)", "mAP@100"):
        assert f">{words}</text>" in svg[NAMES[0]]
    assert ">Precision within radius 2</text>" in svg[NAMES[1]]
    assert all("pca_rr" not in text for text in svg.values())


def test_text_stays_text_and_fonts_are_embedded(files):
    assert all(svg.count(b"</text>") > 5 for svg in of_kind(files, "svg").values())
    for pdf in of_kind(files, "pdf").values():
        assert b"/BaseFont" in pdf
        assert b"/FontFile" in pdf
        assert b"/Subtype /Image" not in pdf


def test_hashers_are_drawn_in_their_own_styles(files):
    svg = files[f"{NAMES[0]}.svg"].decode()
    for style in styles(["lsh", "pca_rr", "mine"]).values():
        assert style.colour in svg


def test_a_single_code_length_is_drawn_by_hasher(content):
    short = dataclasses.replace(
        content,
        scores=content.scores[content.scores["n_bits"] == 8],
        radii=content.radii[content.radii["n_bits"] == 8],
        curves=content.curves[:0],
        conventions=content.conventions[:0],
    )
    figures = paper_figures(short)
    assert [figure.name for figure in figures] == [*NAMES[:2], "pr-curves-8-gist-class-label-standard"]
    chart = figures[0].spec
    encodings = [chart["encoding"] | layer.get("encoding", {}) for layer in chart["layer"]]
    assert {own["y"]["field"] for own in encodings} == {"hasher"}


def test_bars_stay_within_the_range_of_the_metric(content):
    far = content.scores.assign(value=content.scores["run"].map({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0}))
    figure = paper_figures(dataclasses.replace(content, scores=far))[0]
    assert figure.data["high"].max() == 1.0
    assert (figure.data["low"] < figure.data["mean"]).all()


def test_the_smallest_balls_are_no_points_of_a_curve(figures):
    rows = figures["pr-curves-16-gist-class-label-standard"].data
    assert rows["recall"].min() >= 0.001
    assert set(rows["chance"].round(12)) == {0.1}


def test_every_figure_has_its_data_and_latex_with_a_caption(files):
    assert sorted(files) == sorted(
        f"{name}.{suffix}" for name in NAMES for suffix in ("csv", "pdf", "png", "svg", "tex")
    )
    text = files[f"{NAMES[0]}.tex"].decode()
    assert rf"\includegraphics[width=\columnwidth]{{{NAMES[0]}}}" in text
    assert "mAP@100 by code length on CIFAR-10, GIST; relevance: class labels; standard split" in text
    assert rf"\includegraphics[width=\textwidth]{{{NAMES[-2]}}}" in files[f"{NAMES[-2]}.tex"].decode()
    assert files[f"{NAMES[0]}.csv"].decode().splitlines()[0] == "hasher,n_bits,mean,std,n_runs,low,high"


def test_the_outlines_of_legend_symbols_have_no_dashes(files):
    for name, svg in of_kind(files, "svg").items():
        symbols = re.findall(rb'role-legend-symbol"[^>]*><path[^>]*>', svg)
        assert bool(symbols) != name.startswith("conventions"), name
        assert not any(b"stroke-dasharray" in symbol for symbol in symbols), name
