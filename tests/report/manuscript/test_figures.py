"""The figures of a manuscript: charts of the report in print."""

import re

import cv2
import numpy as np
import pytest

from protocol.report import figure_files
from protocol.report.figure import COLUMN_WIDTH
from protocol.report.manuscript import paper_figures

SETTING = "gist-class-label-standard"
NAMES = ["scores-mAP-100-all", "scores-precision-r2", "precision-at-n-16", "recall-at-n-16", "pr-curves-16"]
NAMES += ["conventions"]


@pytest.fixture(scope="module")
def figures(content):
    return {figure.name.removesuffix(f"-{SETTING}"): figure for figure in paper_figures(content)}


@pytest.fixture(scope="module")
def files(figures):
    return figure_files(list(figures.values()))


def of_kind(files, suffix):
    return {name.split(f"-{SETTING}")[0]: content for name, content in files.items() if name.endswith(f".{suffix}")}


def test_each_figure_has_its_pictures_data_and_latex_with_a_caption(figures, files):
    assert list(figures) == NAMES
    assert sorted(files) == sorted(f"{n}-{SETTING}.{end}" for n in NAMES for end in ("csv", "pdf", "png", "svg", "tex"))
    text = of_kind(files, "tex")[NAMES[0]].decode()
    assert rf"\includegraphics[width=\columnwidth]{{{NAMES[0]}-{SETTING}}}" in text
    assert "mAP@100 by code length on CIFAR-10, GIST; relevance: class labels; standard split" in text
    assert of_kind(files, "csv")[NAMES[0]].decode().splitlines()[0] == "metric,hasher,n_bits,mean,std,n_runs"


def test_figures_are_as_wide_as_a_column_and_no_label_is_cut_off(files):
    """Whatever reaches the edge of a picture is cut there, so a narrow frame stays white."""
    for svg in of_kind(files, "svg").values():
        width = re.search(rb'<svg[^>]* width="([0-9.]+)pt" height="([0-9.]+)pt"', svg)
        assert COLUMN_WIDTH - 0.05 <= float(width[1]) / 72 <= COLUMN_WIDTH
        assert float(width[2]) / 72 < COLUMN_WIDTH
    for name, content in of_kind(files, "png").items():
        picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
        frame = [picture[:2], picture[-2:], picture[:, :2], picture[:, -2:]]
        assert min(int(edge.min()) for edge in frame) > 200, name
        assert picture.min() < 50


def test_the_conventions_are_those_of_the_best_hasher(figures, files):
    assert figures["conventions"].data["label"].tolist() == ["mAP", "mAP@1000[retrieved]"]
    assert set(re.findall(r">(0\.7[0-9]{3})</text>", of_kind(files, "svg")["conventions"].decode())) == {
        "0.7712",
        "0.7636",
    }
