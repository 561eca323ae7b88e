"""The tables of a paper: what is bold, underlined and marked, and which tables there are."""

import dataclasses
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from protocol.report import figure_files, table_files, write_folder
from protocol.report.manuscript import paper_figures, paper_tables
from protocol.scores.statistics import shared_variance
from protocol.scores.tables import Table


def without(content, **values):
    scores = content.scores
    for column, value in values.items():
        scores = scores[scores[column] != value]
    return dataclasses.replace(content, scores=scores)


def test_the_best_value_is_bold_and_the_second_underlined(content):
    table, other = paper_tables(content)
    assert (table.name, other.name) == ("mAP-100-all-gist-standard", "precision-r2-gist-standard")
    assert list(table.header) == ["Method", "8 bits", "16 bits"]
    assert [row[0] for row in table.rows] == ["LSH", "PCA-RR", "[Ours] & co_1"]
    assert [row[2] for row in table.rows] == ["0.308", "0.508", "0.560†"]
    assert (table.strong, table.second) == ({(2, 1), (2, 2)}, {(1, 1), (1, 2)})


def test_equal_printed_values_share_their_place(content):
    scores = content.scores.assign(value=lambda rows: rows["value"].where(rows["hasher"] == "lsh", 0.5))
    table, _ = paper_tables(dataclasses.replace(content, scores=scores))
    assert (table.strong, table.second) == ({(1, 1), (2, 1), (1, 2), (2, 2)}, {(0, 1), (0, 2)})
    assert "†" not in str(table.rows)


def test_the_mark_is_a_paired_test_over_the_runs_corrected_for_all_pairs(content):
    """With 8 bits the lead is significant by itself, but not for the best of three pairs; with 16 bits it is."""
    table, _ = paper_tables(content)
    rows = content.scores[content.scores["metric"] == "mAP@100[all]"]
    for n_bits, alone, corrected in ((8, True, False), (16, True, True)):
        wide = rows[rows["n_bits"] == n_bits].pivot_table(index="run", columns="hasher", values="value")
        difference, error = wide["mine"] - wide["pca_rr"], (1 / 5 + shared_variance(100, 99_900)) ** 0.5
        p = 2 * stats.t.sf(difference.mean() / (difference.std() * error), 4)
        assert (p < 0.05, 3 * p < 0.05) == (alone, corrected)
    assert [cell.endswith("†") for cell in table.rows[2]] == [False, False, True]
    assert "with Bonferroni's correction for the number of pairs of methods (3)" in table.caption


def test_a_metric_of_which_less_is_better_has_its_smallest_value_bold(content):
    config = content.config | {"paper": content.config["paper"] | {"metrics": ["empty@r2"]}}
    scores = content.scores.assign(metric="empty@r2").drop_duplicates(["hasher", "n_bits", "run"])
    (table,) = paper_tables(dataclasses.replace(content, config=config, scores=scores))
    assert table.strong == {(0, 1), (0, 2)}
    assert "†" not in str(table.rows)  # all differences are 0.2, and a sign test of five runs can't be significant


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("n_bits", 8, "No lead over the second best is significant (95% interval"),
        ("run", 0, "There are too few runs to test the lead of the best value."),
    ],
)
def test_without_a_significant_lead_the_caption_states_it(content, column, value, sentence):
    table, _ = paper_tables(dataclasses.replace(content, scores=content.scores[content.scores[column] == value]))
    assert "†" not in str(table.rows)
    assert sentence in table.caption


def test_a_table_that_compares_nothing_is_left_out(content):
    alone = without(without(content, hasher="lsh"), hasher="mine")
    assert paper_tables(alone) == []
    undefined = dataclasses.replace(content, scores=content.scores.assign(value=np.nan))
    assert paper_tables(undefined) == []
    (table,) = paper_tables(without(content, metric="precision@r2"))
    assert table.name == "mAP-100-all-gist-standard"


def test_ground_truths_stand_side_by_side(content):
    both = [content.scores, content.scores.assign(ground_truth="epsilon_ball")]
    config = content.config | {"paper": content.config["paper"] | {"ground_truths": ["epsilon_ball", "class_label"]}}
    table, _ = paper_tables(dataclasses.replace(content, config=config, scores=pd.concat(both)))
    assert table.groups == [[("", 1), ("epsilon ball", 2), ("class labels", 2)]]
    assert "on CIFAR-10, GIST; standard split:" in table.caption


def test_the_files_are_latex_and_markdown(content):
    files = table_files(paper_tables(content))
    text = files["mAP-100-all-gist-standard.tex"].decode()
    assert r"{[}Ours] \& co\_1 & \textbf{0.510" in text
    assert r"\underline{0.508}" in text
    assert r"\textbf{0.560\rlap{$^{\dagger}$}} \\" in text
    assert "**0.560†**" in files["mAP-100-all-gist-standard.md"].decode()
    assert "<u>0.508</u>" in files["mAP-100-all-gist-standard.md"].decode()


def test_figures_and_tables_compile(content, tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    groups = [[("", 1), ("CIFAR-10", 2)], [("", 1), ("12 bits", 1), ("24 bits", 1)]]
    grouped = Table("grouped", "Made.", ["method", "mAP", "mAP"], [["ITQ", "0.1", "0.2"]], groups=groups)
    write_folder(tmp_path / "tables", table_files([grouped, *paper_tables(content)]))
    write_folder(tmp_path / "figures", figure_files(paper_figures(content)[:2]))
    parts = sorted(path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.glob("*/*.tex"))
    inputs = "\n".join(rf"\input{{{part}}}" for part in parts)
    head = "\\documentclass[twocolumn]{article}\n\\usepackage{booktabs,graphicx}\n\\graphicspath{{figures/}}\n"
    (tmp_path / "all.tex").write_text(f"{head}\\begin{{document}}\n{inputs}\n\\end{{document}}\n")
    done = subprocess.run(["pdflatex", "-interaction=batchmode", "all.tex"], cwd=tmp_path, capture_output=True)
    log = (tmp_path / "all.log").read_text()
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log


def test_a_folder_that_is_not_whole_does_not_appear(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "old.tex").write_text("old")
    with pytest.raises(TypeError):
        write_folder(tmp_path / "tables", {"a.tex": b"new", "b.tex": None})
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "old.tex"]
