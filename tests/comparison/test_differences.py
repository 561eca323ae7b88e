"""Paired differences, against scipy and by hand."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from protocol.comparison import compare
from protocol.comparison.differences import compared_table, pair
from protocol.comparison.places import leaderboard
from protocol.comparison.reading import Score, Values, read_scores
from protocol.comparison.rendering import with_figures
from protocol.evaluation import Labels, evaluate
from protocol.scores.metadata import PROTOCOL
from protocol.scores.statistics import (
    CORRECTED,
    FIXED_SPLIT,
    NO_TEST,
    ONE_DATASET,
    REPEATED,
    TWO_RUNS,
    paired_differences,
    shared_variance,
)

RNG = np.random.default_rng(5)
A = RNG.normal(0.5, 0.05, 10)
B = A + RNG.normal(-0.02, 0.01, 10)
C = A + RNG.normal(-0.001, 0.002, 10)
LSH, SH = {"hasher": "lsh", "values": B}, {"hasher": "sh", "values": C}
SHARED = shared_variance(100, 1697)  # the sizes of the fixture `experiment`
UNPAIRED = yaml.safe_load(Path(__file__).with_name("matching.yaml").read_text())["unpaired"]
OVER_RUNS = f"Over runs: {CORRECTED}. {ONE_DATASET}"


def resampled(one, other):
    """Return the corrected resampled t-test, written with scipy's distribution of the mean difference."""
    difference = np.subtract(one, other)
    n = difference.size
    return stats.t(n - 1, difference.mean(), difference.std(ddof=1) * (1 / n + SHARED) ** 0.5)


def p_value(one, other):
    distribution = resampled(one, other)
    return 2 * min(distribution.cdf(0), distribution.sf(0))


def rows_of(comparison):
    return [
        {"reference": table.reference, "unit": one.pairs.unit, "n_pairs": one.pairs.one.size, "method": one.method}
        | one.of._asdict()
        for table in comparison.tables
        for one in table.comparisons
    ]


def tables_of(comparison):
    return [table for part in comparison.sections for table in part.tables if table.name.endswith("differences")]


@pytest.fixture
def three(experiment):
    """Return two experiments on the same items with three methods."""
    return experiment("first", {"values": A}, LSH), experiment("second", SH)


def test_runs_are_paired_across_files_and_tested_as_resamples_of_one_dataset(three):
    comparison = compare(*three, against="itq, gist")
    frame = pd.DataFrame(rows_of(comparison)).set_index("method")
    assert frame[["reference", "unit", "n_pairs"]].drop_duplicates().to_numpy().tolist() == [["itq, gist", "run", 10]]
    methods = {"lsh, gist": B, "sh, gist": C}
    p = sorted(p_value(values, A) for values in methods.values())
    holm = {p[0]: 2 * p[0], p[1]: max(2 * p[0], p[1])}
    for method, values in methods.items():
        row, level = frame.loc[method], 0.05 / (2 if p_value(values, A) == p[0] else 1)
        assert [row["low"], row["high"]] == pytest.approx(resampled(values, A).interval(1 - level), rel=1e-9)
        assert row["p"] == pytest.approx(holm[p_value(values, A)], rel=1e-9)
    (table,) = tables_of(comparison)
    assert table.caption == f"mAP: differences from itq, gist; corrected for 2 tests by Holm's method. {OVER_RUNS}"


def test_a_reference_chosen_by_its_score_counts_every_pair_as_a_test_like_a_report(three):
    best, named = compare(*three), compare(*three, against="itq")
    start = "mAP: differences from itq, gist, the method with the best mean in this table"
    assert tables_of(best)[0].caption == f"{start}; corrected for 3 tests by Holm's method. {OVER_RUNS}"
    p = [min(row["p"] for row in rows_of(comparison)) for comparison in (best, named)]
    assert p[0] == pytest.approx(3 / 2 * p[1], rel=1e-9)  # three pairs of three methods, two with the best
    of_report = paired_differences(pd.DataFrame({"itq, gist": A, "lsh, gist": B, "sh, gist": C}), shared=SHARED)
    for row in rows_of(best):
        mean, low, high, p = of_report["itq, gist", row["method"]]
        assert [row[name] for name in ("mean", "high", "low", "p")] == pytest.approx([-mean, -low, -high, p], rel=1e-9)


def test_the_vectors_themselves_change_no_test_of_codes_and_have_no_place(three, experiment):
    """They are the best here, and each method is tested against them, as in the report."""
    vectors = {"hasher": "unhashed", "values": A + 0.1, "ranking": "cosine", "n_bits": 512}
    alone, both = compare(*three), compare(*three, experiment("third", vectors))
    before, after = ({row["method"]: row for row in rows_of(one)} for one in (alone, both))
    unhashed = after.pop("unhashed, gist (cosine)")
    assert before == after
    assert unhashed["reference"] == "itq, gist"
    named = compare(*three, experiment("4", vectors), against="unhashed")
    assert unhashed["p"] == {row["method"]: row["p"] for row in rows_of(named)}["itq, gist"]
    (caption,) = (table.caption for table in tables_of(both))
    assert "itq, gist, the codes with the best mean in this table; corrected for 3 tests by Holm's method; " in caption
    assert "the tests against the vectors themselves are apart. " in caption
    scores = next(table for table in both.sections[0].tables if "file" in table.header)
    assert [scores.rows[row][0] for row, _ in scores.strong] == ["itq, gist"]  # though the vectors are better
    hint = 'What each method loses against the vectors themselves: --against "unhashed, gist (cosine)".'
    assert (hint in str(both).replace("\n", " "), hint in str(named).replace("\n", " ")) == (True, False)
    board = leaderboard(*three, experiment("5", vectors))
    assert [row["place"] for row in board.rows if row["method"] == "unhashed"] == [None]
    assert [row["place"] for row in board.rows[:3]] == [row["place"] for row in leaderboard(*three).rows]
    assert "vectors themselves, which are no codes." in str(board)


def test_an_interval_over_two_runs_that_leaves_the_range_is_not_shown(experiment):
    """The differences 0.2 and 0.6: the interval reaches 0.4 ± 12.7 x 0.28 x (1/2 + 0.266)^0.5, far beyond 1."""
    files = {"a": {"values": np.array([0.7, 0.8])}, "b": LSH | {"values": np.array([0.5, 0.2])}}
    comparison = compare(*itertools.starmap(experiment, files.items()))
    (table,) = tables_of(comparison)
    assert table.rows[0][2:4] == ["-0.4000", "\N{EN DASH}"]
    assert table.caption.endswith(f"{OVER_RUNS} {TWO_RUNS}")
    assert "lsh, gist does not differ significantly from itq, gist: -0.400 (mAP, " in comparison.sections[0].text[0]
    (figure,) = with_figures(comparison.sections, comparison.tables)[0].figures
    assert figure.data[["low", "high"]].isna().all(axis=None)
    assert "Lines" not in figure.shows


def test_runs_of_a_fixed_split_are_named_and_two_methods_without_randomness_are_not_tested(experiment):
    values = [{"values": np.full(10, 0.6)}, LSH | {"values": np.full(10, 0.5)}, SH]
    comparison = compare(experiment("a", *values, items=["same"] * 10), against="itq")
    (table,) = tables_of(comparison)
    assert table.caption.endswith(f"Over runs: {CORRECTED}. {FIXED_SPLIT.format('standard')}")
    assert REPEATED in table.caption
    assert [row[4] == "\N{EN DASH}" for row in table.rows] == [True, False]


def test_nothing_is_tested_with_as_many_queries_as_database_items(experiment):
    sizes = {"n_queries": 100, "n_database": 100}
    comparison = compare(experiment("a", {"values": A, **sizes}), experiment("b", LSH | sizes))
    (row,) = rows_of(comparison)
    assert np.isnan([row[name] for name in ("low", "high", "p")]).all()
    (table,) = tables_of(comparison)
    assert table.rows[0][3:5] == ["\N{EN DASH}"] * 2
    assert table.caption.endswith(NO_TEST)
    (text, *_) = comparison.sections[0].text
    assert text.startswith("lsh, gist is not tested against itq, gist: -0.0")


def test_lower_is_better_for_metrics_declared_so(experiment):
    metric = {"metric": "empty@r2"}
    (row,) = rows_of(compare(experiment("a", metric | {"values": A}), experiment("b", metric | LSH)))
    assert (row["reference"], row["method"]) == ("lsh, gist", "itq, gist")  # the values of B are smaller


def score_of(method, values):
    fields = dict.fromkeys(PROTOCOL)
    facts = ("file", method, "hamming", fields, 16, "mAP", values.mean(), np.nan, None, None, None, None)
    return Score(*facts, Values("query", np.array(["digest"]), values))


def test_false_positives_among_equal_methods_are_as_rare_as_the_level():
    rng, false = np.random.default_rng(0), 0
    for _ in range(60):
        values = rng.normal(size=(12, 40))
        scores = [score_of(str(number), of_method) for number, of_method in enumerate(values)]
        false += min(one.of.p for one in compared_table("", "mAP", scores).comparisons) < 0.05
    assert false <= 6  # 3 of 60 on average; with the correction for eleven comparisons there are 11


@pytest.mark.parametrize("case", UNPAIRED, ids=lambda case: case["reason"])
def test_methods_that_can_not_be_paired_are_named_with_the_reason(experiment, case):
    arrays = {"A": A, "B": B, "C": C, "A - 0.3": A - 0.3, "B - 0.3": B - 0.3}
    sides = [[row | {"values": arrays.get(row.get("values"))} for row in case[side]] for side in ("one", "other")]
    comparison = compare(experiment("a", *sides[0]), experiment("b", *sides[1], items=case.get("items")))
    assert [row["method"] for row in rows_of(comparison)] == case["paired"]
    assert len(tables_of(comparison)) == bool(case["paired"])
    assert comparison.sections[-1].text[-1 - bool(case["paired"])] == f"No paired differences for {case['reason']}"


def test_only_the_shared_runs_are_paired(experiment):
    shared = [f"digest {run}" if run < 4 else f"other {run}" for run in range(10)]
    files = experiment("a", {"values": A}), experiment("b", LSH, items=shared)
    (row,) = rows_of(compare(*files))
    assert (row["mean"], row["n_pairs"]) == (pytest.approx((B - A)[:4].mean()), 4)
    assert tables_of(compare(*files))[0].rows[0][5] == "4 of 10 runs"


def test_queries_are_paired_where_the_ground_truth_is_the_same(codes, experiment):
    one, other = codes("a.json", per_query={"mAP": A}), codes("b.json", per_query={"mAP": B})
    (row,) = rows_of(compare(one, other))
    assert row["p"] == pytest.approx(stats.ttest_rel(B, A).pvalue)
    assert (row["unit"], row["n_pairs"]) == ("query", 10)
    unknown = codes("c.json", per_query={"mAP": B}, ground_truth_sha256=None)
    for file, reason in (
        (unknown, "a file does not refer to values per query; "),
        (
            experiment("d", {"values": A, "n_queries": 10}),
            "one has a value per run, the other a value per query, so their queries may differ.",
        ),
    ):
        comparison = compare(one, file)
        assert not tables_of(comparison)
        assert reason in comparison.sections[-1].text[-1]


def test_queries_with_ids_are_paired_by_id(tmp_path):
    rng, files = np.random.default_rng(3), []
    bits, database = rng.integers(0, 2, (20, 8)), rng.integers(0, 2, (40, 8))
    for name, order in (("a", np.arange(20)), ("b", np.r_[np.arange(10)[::-1], np.arange(10, 20)]), ("c", None)):
        rows = np.arange(20) if order is None else order
        ids = [f"{'x' * (order is None)}q{row:02d}.jpg" for row in rows]
        (tmp_path / name).write_text("".join(f"{one},{row // 10}\n" for one, row in zip(ids, rows, strict=True)))
        truth = Labels(tmp_path / name, np.arange(40) % 2, ids)
        evaluation = evaluate(bits[rows], database, truth=truth, metrics=["mAP"]).named(name)
        evaluation.write_per_query(tmp_path / f"{name}.csv")
        evaluation.write_json(tmp_path / f"{name}.json", per_query=tmp_path / f"{name}.csv")
        files.append((tmp_path / f"{name}.json", evaluation))
    assert (tmp_path / "b.csv").read_text().splitlines()[1].startswith("q09.jpg,hamming,")
    assert files[0][1].without([0]).remaining.query_ids[0] == "q01.jpg"
    for one, other, unknown in zip(*files, strict=True):
        values = [read_scores(source)[0].values for source in (one, other, unknown)]
        pairs = pair(*values[:2])
        np.testing.assert_allclose(pairs.one, pairs.other, rtol=0, atol=1e-8)
        assert pair(values[0], values[2]) == "the ids of their queries differ"
