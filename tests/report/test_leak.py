"""The leak study's tables, text and figure, from artificial scores with known leaks."""

import itertools

import numpy as np
import pandas as pd
import pytest

from protocol.auditing.leak_study import COLUMNS, write_scores
from protocol.provenance.storage import replacing
from protocol.report.leak import leak_figure, leak_text, leaks, summarise_leaks
from protocol.scores.statistics import TWO_RUNS

RUNS, LEAK = 12, 0.003
STUDY = {"query_per_class": 5, "outside_per_class": 5, "train_per_class": [20, "all"], "controls": ["lsh"]}
PROVENANCE = {"versions": {"numpy": "2.0"}, "notes": ["made by hand"]}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return scores in which ITQ leaks with 20 items per class only, LSH never; database b is easier by 0.1."""
    folder, rng = tmp_path_factory.mktemp("leak"), np.random.default_rng(1)
    for run in range(RUNS):
        rows = []
        cells = itertools.product(("lsh", "itq"), (20, "all"), (8, 16), ("class_label", "epsilon_ball"))
        for hasher, size, n_bits, truth in cells:
            gain = LEAK if hasher == "itq" and size == 20 else 0
            noise = rng.normal(0, 0.0005, 4)
            scores = np.array([0.2 + gain, 0.3, 0.2, 0.3 + gain]) + noise
            rows.append(("d", "gist", run, hasher, n_bits, size, 200, truth, *scores))
        write_scores(folder / f"{run}.csv", rows)
    return leaks(folder.glob("*.csv"))


@pytest.fixture(scope="module")
def summary(table):
    return summarise_leaks(table, ["lsh"])


def test_the_leak_is_half_the_sum_of_the_gains_in_both_directions(table):
    row = table.iloc[5]
    assert row["leak"] == ((row["a_on_a"] - row["a_on_b"]) + (row["b_on_b"] - row["b_on_a"])) / 2
    assert list(table) == [*COLUMNS, "leak"]


def test_the_known_leak_is_significant_and_controls_are_not_part_of_the_family(table, summary):
    significant = summary[summary["p_holm"] < 0.05][["hasher", "train_per_class"]]
    assert set(significant.itertuples(index=False, name=None)) == {("itq", "20")}
    assert ((summary["leak"] - LEAK).abs() < 0.001).sum() == 4
    assert (summary["p_holm"].isna() == (summary["hasher"] == "lsh")).all()
    alone = summarise_leaks(table[table["hasher"] == "itq"], ["lsh"])
    assert alone["p_holm"].tolist() == summary.loc[~summary["control"], "p_holm"].tolist()


def test_an_interval_over_two_runs_that_leaves_the_range_is_not_shown(table):
    """ITQ with 8 bits has leaks of 0 and 0.4: an interval of 0.2 ± 2.54."""
    two = table[table["run"] < 2].copy()
    own = (two["hasher"] == "itq") & (two["n_bits"] == 8)
    two.loc[own, "leak"] = two.loc[own, "run"] * 0.4
    summary = summarise_leaks(two, ["lsh"])
    wide = summary[(summary["hasher"] == "itq") & (summary["n_bits"] == 8)]
    assert wide[["low", "high"]].isna().all(axis=None)
    assert summary["low"].notna().any()
    text = leak_text(two, summary, provenance=PROVENANCE, experiment="made", study=STUDY)
    assert f"(Student's t). {TWO_RUNS} The runs" in text
    assert "| +200.00 |" in text
    assert "nan" not in text
    assert "NaN" not in leak_figure(summary)


def test_the_figure_is_the_same_each_time_and_names_every_hasher(summary):
    figure = leak_figure(summary)
    assert figure == leak_figure(summary)
    for name in ("lsh (control)", "itq", "gist, epsilon_ball: by training set", "20 per class", "the whole database"):
        assert f">{name}</text>" in figure


def test_the_published_summary_and_text_follow_from_the_published_scores(root, tmp_path):
    """The scores have the checksum that a stage would have written."""
    published, controls = root / "results" / "reference" / "leak", ["lsh", "sklsh"]
    with replacing(tmp_path / "leak.csv", checksum=True) as temporary:
        temporary.write_bytes((published / "leak.csv").read_bytes())
    scores = leaks([tmp_path / "leak.csv"])
    summary = summarise_leaks(scores, controls)
    stored = pd.read_csv(published / "leak_summary.csv", dtype={"train_per_class": str})
    pd.testing.assert_frame_equal(summary, stored, check_dtype=False, rtol=1e-4, atol=1e-8)
    study = {"query_per_class": 100, "outside_per_class": 200, "controls": controls}
    record = {"versions": {}, "notes": []}
    text = leak_text(scores, summary, provenance=record, experiment="cifar10_leak", study=study)
    assert text.partition("Versions: ")[0] == (published / "leak.md").read_text().partition("Versions: ")[0]
