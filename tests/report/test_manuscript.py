"""The figures and tables of a manuscript: charts of the report in print, and what is bold, underlined and marked."""

import dataclasses
import itertools
import re

import cv2
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from protocol.report import figure_files, table_files, write_folder
from protocol.report.figure import COLUMN_WIDTH
from protocol.report.manuscript import paper_figures, paper_tables
from protocol.report.results import Scores
from protocol.scores.statistics import FIXED_SPLIT, ONE_DATASET, shared_variance
from protocol.scores.summary import at

SETTING = {"feature": "GIST", "ground_truth": "class labels", "split": "standard"}
HASHERS = {"lsh": "LSH", "pca_rr": "PCA-RR", "mine": "[Ours] & co_1"}
METRICS = {"mAP@100[all]": "mAP@100", "precision@r2": "Precision within radius 2"}
LENGTHS, RUNS = (8, 16), 5
TRUTHS = {"class_label": "class labels", "epsilon_ball": "epsilon ball"}
NAMES = {"dataset": "CIFAR-10", "features": {"gist": "GIST"}, "splits": {"standard": "standard"}}
NAMES |= {"ground_truths": TRUTHS, "hashers": HASHERS, "metrics": METRICS}
CONFIG = {"undefined": "zero", "metrics": [*METRICS], "codes": {}, "hasher_bases": {"mine": "lsh"}, "affinities": None}
CONFIG |= {"names": NAMES, "unhashed": "cosine"}


def value(hasher, n_bits, run):
    """Return a score: lsh has the worst, and "mine" leads by little with 8 bits, and by more with 16 bits."""
    lead = {"lsh": 0.0, "pca_rr": 0.2, "mine": 0.2}[hasher] + 0.05 * (hasher == "mine" and n_bits == 16)
    return 0.3 + lead + 0.01 * (run % 3) + 0.001 * run * (hasher == "mine")


SCORES = pd.DataFrame(
    [
        SETTING | {"metric": metric, "hasher": shown, "n_bits": n_bits, "run": run, "value": value(name, n_bits, run)}
        for metric, (name, shown), n_bits, run in itertools.product(METRICS, HASHERS.items(), LENGTHS, range(RUNS))
    ]
)


def tables_of(scores=SCORES, unhashed=SCORES[:0], **config):
    """Return the tables of scores, of 100,000 items of which each run takes 100 as queries."""
    columns = [*SETTING, "hasher", "n_bits", "metric"]
    means = scores.groupby(columns, sort=False)["value"].agg(mean="mean", std="std", n_runs="size").reset_index()
    means = means.assign(extension="none", n_queries=100, n_database=99_900)
    return list(paper_tables(Scores(CONFIG | config, means, scores, unhashed, {})))


def test_the_vectors_themselves_are_the_last_row_and_never_the_best_value():
    vectors = at(SCORES, hasher="LSH", n_bits=8, metric="mAP@100[all]").assign(hasher="unhashed", value=0.9)
    table, other = tables_of(unhashed=vectors)
    assert table.rows[-1] == ["unhashed (cosine)", "0.900", "0.900"]
    assert {row for row, _ in table.strong | table.second} == {row for row, _ in other.strong | other.second}
    assert [len(one.rows) for one in (table, other)] == [4, 3]
    assert "unhashed: the vectors themselves" in table.caption


def test_the_best_value_is_bold_and_the_second_underlined():
    table, other = tables_of()
    assert (table.name, other.name) == ("mAP-100-all-gist-standard", "precision-r2-gist-standard")
    assert list(table.header) == ["Method", "8 bits", "16 bits"]
    assert [row[0] for row in table.rows] == [*HASHERS.values()]
    assert [row[2] for row in table.rows] == ["0.308", "0.508", "0.560†"]
    assert (table.strong, table.second) == ({(2, 1), (2, 2)}, {(1, 1), (1, 2)})
    same, _ = tables_of(SCORES.assign(value=SCORES["value"].where(SCORES["hasher"] == "LSH", 0.5)))
    assert (same.strong, same.second) == ({(1, 1), (2, 1), (1, 2), (2, 2)}, {(0, 1), (0, 2)})
    assert "†" not in str(same.rows)
    (lower,) = tables_of(SCORES.replace({"metric": {"mAP@100[all]": "empty@r2"}}), metrics=["empty@r2"])
    assert lower.strong == {(0, 1), (0, 2)}  # of which less is better
    assert "†" not in str(lower.rows)  # all differences are 0.2, and a sign test of five runs can't be significant


def test_the_mark_is_a_paired_test_over_the_runs_corrected_for_all_pairs():
    """With 8 bits the lead is significant by itself, but not for the best of three pairs; with 16 bits it is."""
    table, _ = tables_of()
    for n_bits, alone, corrected in ((8, True, False), (16, True, True)):
        runs = at(SCORES, metric="mAP@100[all]", n_bits=n_bits)
        wide = runs.pivot_table(index="run", columns="hasher", values="value")
        difference, error = wide[HASHERS["mine"]] - wide["PCA-RR"], (1 / 5 + shared_variance(100, 99_900)) ** 0.5
        p = 2 * stats.t.sf(difference.mean() / (difference.std() * error), 4)
        assert (p < 0.05, 3 * p < 0.05) == (alone, corrected)
    assert [cell.endswith("†") for cell in table.rows[2]] == [False, False, True]
    assert f"p corrected by Holm's method for all 3 pairs of methods at a code length). {ONE_DATASET}" in table.caption
    fixed, _ = tables_of(names=CONFIG["names"] | {"splits": {"from_lists": "standard"}})
    assert f"at a code length). {FIXED_SPLIT.format('standard')} Ties" in fixed.caption


@pytest.mark.parametrize(
    ("column", "chosen", "sentence"),
    [
        ("n_bits", 8, "No lead over the second best is significant (corrected resampled t-test"),
        ("run", 0, "There are too few runs to test the lead of the best value."),
    ],
)
def test_without_a_significant_lead_the_caption_states_it(column, chosen, sentence):
    table, _ = tables_of(at(SCORES, **{column: chosen}))
    assert "†" not in str(table.rows)
    assert sentence in table.caption


def test_a_table_that_compares_nothing_is_left_out():
    assert tables_of(at(SCORES, hasher="PCA-RR")) == []
    assert tables_of(SCORES.assign(value=np.nan)) == []
    (table,) = tables_of(at(SCORES, metric="mAP@100[all]"))
    assert table.name == "mAP-100-all-gist-standard"


def test_the_first_ground_truth_is_shown():
    both = pd.concat([SCORES.assign(ground_truth="epsilon ball", value=0.1), SCORES])
    assert [table.rows for table in tables_of(both)] == [table.rows for table in tables_of()]
    assert "on CIFAR-10, GIST; relevance: class labels; standard split:" in tables_of(both)[0].caption


def test_the_files_are_latex_and_markdown():
    files = table_files(tables_of())
    text = files["mAP-100-all-gist-standard.tex"].decode()
    assert r"{[}Ours] \& co\_1 & \textbf{0.510" in text
    assert r"\underline{0.508}" in text
    assert r"\textbf{0.560\rlap{$^{\dagger}$}} \\" in text
    assert "**0.560†**" in files["mAP-100-all-gist-standard.md"].decode()
    assert "<u>0.508</u>" in files["mAP-100-all-gist-standard.md"].decode()


FIGURES = ["scores-mAP", "precision-at-n-8", "recall-at-n-8", "pr-curves-8", "conventions"]


@pytest.fixture(scope="module")
def figures(results):
    names = results.config["names"] | {"dataset": "CIFAR-10", "metrics": {"mAP": "mAP"}}
    made = dataclasses.replace(results, config=results.config | {"names": names, "metrics": ["mAP"]})
    return {figure.name.removesuffix("-gist-class-label-standard"): figure for figure in paper_figures(made)}


@pytest.fixture(scope="module")
def files(figures):
    return figure_files(list(figures.values()))


def test_each_figure_has_its_pictures_data_and_latex_with_a_caption(figures, files):
    assert list(figures) == FIGURES
    place = "gist-class-label-standard"
    assert sorted(files) == sorted(f"{n}-{place}.{end}" for n in FIGURES for end in ("csv", "pdf", "png", "svg", "tex"))
    text = files[f"scores-mAP-{place}.tex"].decode()
    assert rf"\includegraphics[width=\columnwidth]{{scores-mAP-{place}}}" in text
    assert r"mAP by code length on CIFAR-10, gist; relevance: class\_label; standard split" in text
    assert files[f"scores-mAP-{place}.csv"].startswith(b"metric,hasher,n_bits,mean,std,n_runs\n")


def test_figures_are_as_wide_as_a_column_and_no_label_is_cut_off(files):
    """Whatever reaches the edge of a picture is cut there, so a narrow frame stays white."""
    for name, content in files.items():
        if name.endswith(".svg"):
            width = re.search(rb'<svg[^>]* width="([0-9.]+)pt" height="([0-9.]+)pt"', content)
            assert COLUMN_WIDTH - 0.05 <= float(width[1]) / 72 <= COLUMN_WIDTH
            assert float(width[2]) / 72 < COLUMN_WIDTH
        if name.endswith(".png"):
            picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
            frame = [picture[:2], picture[-2:], picture[:, :2], picture[:, -2:]]
            assert min(int(edge.min()) for edge in frame) > 200, name
            assert picture.min() < 50


def test_the_conventions_are_those_of_the_best_hasher(figures, results):
    rows = at(results.examples["conventions"], feature="gist", split="standard", ground_truth="class_label")
    of_best = rows[(rows["reported_as_map_by"] != "") & (rows["hasher"] == "itq")]
    assert sorted(figures["conventions"].data["value"]) == sorted(of_best["value"].dropna())
    assert (figures["conventions"].data["hasher"] == "itq").all()


def test_a_folder_that_is_not_whole_does_not_appear(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "old.tex").write_text("old")
    with pytest.raises(TypeError):
        write_folder(tmp_path / "tables", {"a.tex": b"new", "b.tex": None})
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "old.tex"]
