"""Paired differences, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

import protocol
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare
from protocol.comparison.differences import differences, outcome
from protocol.comparison.reading import Score, Values
from protocol.scores.statistics import CORRECTED, ONE_DATASET, mean_of, shared_variance

RNG = np.random.default_rng(5)
A = RNG.normal(0.5, 0.05, 10)
B = A + RNG.normal(-0.02, 0.01, 10)
C = A + RNG.normal(-0.001, 0.002, 10)
SHARED = shared_variance(100, 1697)  # the sizes of the fixture `experiment`


def resampled(one, other, margin=0.0):
    """Return the corrected resampled t-test, written with scipy's distribution of the mean difference."""
    difference = np.subtract(one, other)
    n = difference.size
    return stats.t(n - 1, difference.mean() - margin, difference.std(ddof=1) * (1 / n + SHARED) ** 0.5)


def p_value(one, other):
    distribution = resampled(one, other)
    return 2 * min(distribution.cdf(0), distribution.sf(0))


def table_of(comparison, name="differences"):
    return [table for part in comparison.sections for table in part.tables if table.name.endswith(name)]


def three(experiment):
    """Return two experiments on the same items with three methods."""
    return (
        experiment("first", {"values": A}, {"hasher": "lsh", "values": B}),
        experiment("second", {"hasher": "sh", "values": C}),
    )


def test_runs_are_paired_across_files_and_tested_as_resamples_of_one_dataset(experiment):
    found = compare(*three(experiment), margin=0.005, against="itq, gist")
    frame = found.differences_to_frame().set_index("method")
    assert set(frame["reference"]) == {"itq, gist"}
    assert (frame["unit"] == "run").all()
    assert (frame["n_pairs"] == 10).all()
    methods = {"lsh, gist": B, "sh, gist": C}
    p = sorted(p_value(values, A) for values in methods.values())
    holm = {p[0]: 2 * p[0], p[1]: max(2 * p[0], p[1])}
    for method, values in methods.items():
        row = frame.loc[method]
        assert [row["low"], row["high"]] == pytest.approx(resampled(values, A).interval(1 - 0.05 / 2), rel=1e-9)
        assert row["p"] == pytest.approx(holm[p_value(values, A)], rel=1e-9)
        assert row["p"] > stats.ttest_rel(values, A).pvalue
    lower, upper = resampled(C, A, -0.005).cdf(0), resampled(C, A, 0.005).sf(0)
    assert frame.loc["sh, gist", "p_no_worse"] == pytest.approx(2 * lower, rel=1e-9)
    assert frame.loc["sh, gist", "p_equal"] == pytest.approx(2 * max(lower, upper), rel=1e-9)
    (table,) = table_of(found)
    assert set(frame["test"]) == {"corrected resampled t-test after Nadeau and Bengio (2003)"}
    assert table.caption.endswith(
        "Over runs: corrected resampled t-test after Nadeau and Bengio (2003). The runs are resamples of one dataset: "
        "they share items, for which this test is corrected."
    )
    verdicts = {row[0]: row[-2:] for row in table.rows}
    assert verdicts == {"sh, gist": ["shown", "shown"], "lsh, gist": ["not shown", "not shown"]}
    assert table.header[-2:] == ["no worse", "equal"]


def test_without_the_sizes_the_caption_says_that_the_test_is_not_corrected(experiment):
    files = experiment("a", {"values": A}, old=True), experiment("b", {"hasher": "lsh", "values": B}, old=True)
    found = compare(*files, assume=["relevance", "n_queries", "n_database", "empty", "ties"])
    (row,) = found.differences_to_frame().to_dict("records")
    assert (row["test"], row["p"]) == ("paired t-test, not corrected", pytest.approx(stats.ttest_rel(B, A).pvalue))
    assert "not corrected for the items that the runs share, because no file records" in table_of(found)[0].caption


def test_values_per_query_whose_differences_are_equal_but_for_rounding(codes):
    values = {"a.json": [0.3, 0.2, 0.6], "b.json": [0.4, 0.3, 0.7]}
    found = compare(*(codes(name, per_query={"mAP": of_file}) for name, of_file in values.items()))
    (row,) = found.differences_to_frame().to_dict("records")
    assert (row["p"], row["test"]) == (0.25, "sign test")
    assert table_of(found)[0].rows[0][3:5] == ["-inf to +inf", "0.2500"]


def test_the_verdict_depends_on_the_margin(experiment):
    files = three(experiment)
    verdicts = [[row[-2:] for row in table_of(compare(*files, margin=m))[0].rows] for m in (0.0001, 0.1)]
    assert verdicts == [[["not shown"] * 2] * 2, [["shown"] * 2] * 2]
    assert len(table_of(compare(*files))[0].header) == 6
    for wrong in (0, -0.1, float("nan")):
        with pytest.raises(ProtocolError, match="margin: expected a finite number > 0, got"):
            compare(*files, margin=wrong)


def test_the_reference_is_the_best_or_the_one_that_is_named(experiment, capsys):
    files = three(experiment)
    (best,), (named,) = table_of(compare(*files)), table_of(compare(*files, against="lsh, gist"))
    over_runs = f"Over runs: {CORRECTED}. {ONE_DATASET}"
    assert best.caption == (
        "mAP: differences from itq, gist, the method with the best mean of this table; 2 comparisons, corrected for "
        f"all 3 pairs of methods. {over_runs}"
    )
    assert named.caption == f"mAP: differences from lsh, gist; 2 comparisons. {over_runs}"
    assert [row[2][0] for row in named.rows] == ["+", "+"]
    assert main(["compare", *map(str, files), "--against", "itq"]) == 2
    assert "against: expected itq, gist, lsh, gist or sh, gist, got 'itq'" in capsys.readouterr().err


def test_a_reference_chosen_by_its_score_counts_every_pair_as_a_comparison(experiment):
    files = three(experiment)
    best, named = compare(*files), compare(*files, against="itq, gist")
    p = [table.differences_to_frame().sort_values("p")["p"].to_numpy() for table in (best, named)]
    assert p[0][0] == pytest.approx(3 / 2 * p[1][0], rel=1e-9)  # three pairs of three methods, two with the best
    low, high = resampled(B, A).interval(1 - 0.05 / 3)
    row = best.differences_to_frame().set_index("method").loc["lsh, gist"]
    assert [row["low"], row["high"]] == pytest.approx([low, high], rel=1e-9)


def test_false_positives_among_equal_methods_are_as_rare_as_the_level():
    rng, false = np.random.default_rng(0), 0
    for _ in range(60):
        values = rng.normal(size=(12, 40))
        scores = {str(at): {16: score_of(of_method)} for at, of_method in enumerate(values)}
        found = differences(scores, "mAP")
        false += min(one.outcome.p for one in found.comparisons) < 0.05
    assert false <= 6  # 3 of 60 on average; with the correction for eleven comparisons there are 11


def score_of(values):
    items = np.array(["digest"])
    return Score(
        *("file", "method", "hamming", (None,) * 9, 16, "mAP", values.mean(), np.nan, None, None, None, None),
        values=lambda: Values("query", items, values),
    )


def test_methods_of_other_code_lengths_than_the_reference_are_named(experiment):
    found = compare(
        experiment("a", {"values": A - 0.3}, {"hasher": "lsh", "n_bits": 32, "values": A}),
        experiment("b", {"hasher": "sh", "values": B - 0.3}, {"hasher": "agh", "n_bits": 32, "values": B}),
    )
    assert found.differences_to_frame()["method"].tolist() == ["agh, gist"]
    assert found.sections[1].text == [
        "No paired differences for itq, gist and sh, gist (mAP): lsh, gist, the reference, has other code lengths."
    ]


def test_tiny_values_have_a_nonzero_spread():
    small = np.array([1e-18, -1e-18, 2e-18])
    found, scaled = (outcome(mean_of(of_scale, abs(of_scale)), level=0.95) for of_scale in (small, small * 1e18))
    assert found.p == pytest.approx(scaled.p)
    assert found.low == pytest.approx(scaled.low * 1e-18)


def test_lower_is_better_for_metrics_declared_so(experiment):
    change = {"metric": "empty@r2"}
    files = (
        experiment("a", change | {"values": A}),
        experiment("b", change | {"hasher": "lsh", "values": B}),
    )
    found = compare(*files, margin=0.005)
    (row,) = found.differences_to_frame().to_dict("records")
    assert (row["reference"], row["method"]) == ("lsh, gist", "itq, gist")  # the values of B are smaller
    assert row["p_no_worse"] == pytest.approx(resampled(A, B, 0.005).sf(0))
    assert table_of(found)[0].rows[0][-2:] == ["not shown", "not shown"]


def test_runs_on_other_items_are_not_paired(experiment):
    files = (
        experiment("a", {"values": A}, {"hasher": "lsh", "values": B}),
        experiment("b", {"hasher": "sh", "values": C}, items=[f"other {run}" for run in range(10)]),
    )
    found = compare(*files)
    assert found.differences_to_frame()["method"].tolist() == ["lsh, gist"]
    assert found.sections[1].text == [
        "No paired differences for sh, gist (mAP): no run has the same queries, database and ground truth in both."
    ]


def test_only_the_shared_runs_are_paired(experiment):
    shared = [f"digest {run}" if run < 4 else f"other {run}" for run in range(10)]
    files = (experiment("a", {"values": A}), experiment("b", {"hasher": "lsh", "values": B}, items=shared))
    (row,) = compare(*files).differences_to_frame().to_dict("records")
    assert row["difference"] == pytest.approx((B - A)[:4].mean())
    assert row["n_pairs"] == 4
    assert table_of(compare(*files))[0].rows[0][5] == "4 of 10 runs"


def test_without_the_runs_there_are_no_differences(experiment):
    files = experiment("a"), experiment("b", {"hasher": "lsh", "values": B})
    found = compare(*files)
    assert not table_of(found)
    assert "a/summary.csv has no metrics.csv and no runs.csv next to it" in found.sections[1].text[0]


def test_queries_are_paired_where_the_ground_truth_is_the_same(codes):
    files = codes("a.json", per_query={"mAP": A}), codes("b.json", per_query={"mAP": B})
    (row,) = compare(*files).differences_to_frame().to_dict("records")
    assert row["p"] == pytest.approx(stats.ttest_rel(B, A).pvalue)
    assert (row["unit"], row["n_pairs"]) == ("query", 10)
    other = codes("c.json", per_query={"mAP": B}, ground_truth_sha256="b" * 64)
    with pytest.raises(ProtocolError, match=r"differ in ground_truth \(class_label \(a{8}\); class_label \(b{8}\)\)"):
        compare(files[0], other)
    unknown = codes("d.json", per_query={"mAP": B}, ground_truth_sha256=None)
    assert not table_of(compare(files[0], unknown))


def test_undefined_queries_are_left_out_of_the_pairs(codes):
    x, y = A.copy(), B.copy()
    x[0], y[1] = np.nan, np.nan
    files = codes("a.json", per_query={"mAP": x}), codes("b.json", per_query={"mAP": y})
    found = compare(*files)
    (row,) = found.differences_to_frame().to_dict("records")
    assert row["difference"] == pytest.approx((B - A)[2:].mean())
    assert table_of(found)[0].rows[0][5] == "8 of 10 queries"


def test_runs_and_queries_are_not_paired(experiment, codes):
    files = experiment("a", {"values": A, "n_queries": 10}), codes("b.json", per_query={"mAP": B})
    found = compare(*files)
    assert found.sections[1].text == [
        "No paired differences for b (mAP): one has a value per query, the other a value per run."
    ]


def test_evaluations_are_paired_by_query():
    codes = np.random.default_rng(1).integers(0, 2, (60, 12))
    labels = {"query_labels": np.arange(20) % 4, "database_labels": np.arange(40) % 4}
    names = {"dataset": "toy", "split": "own", "ground_truth": "labels"}
    one, other = (
        protocol.evaluate(c[:20], c[20:], metrics=["mAP"], **labels).named(name, **names)
        for name, c in (("all", codes), ("half", codes & (np.arange(12) < 6)))
    )
    found = protocol.compare(one, other)
    (row,) = found.differences_to_frame().to_dict("records")
    values = {"all": one.per_query["mAP"], "half": other.per_query["mAP"]}
    test = stats.ttest_rel(values[row["method"]], values[row["reference"]])
    assert (row["p"], row["n_pairs"]) == (pytest.approx(test.pvalue), 20)


@pytest.mark.parametrize(
    ("difference", "better", "expected"),
    [
        (0.0, "higher", (1.0, 1 / 64, 1 / 64)),
        (-0.003, "higher", (1 / 32, 1 / 64, 1 / 64)),
        (-0.007, "higher", (1 / 32, 1.0, 1.0)),
        (-0.007, "lower", (1 / 32, 1 / 64, 1.0)),
        (0.007, "higher", (1 / 32, 1 / 64, 1.0)),
    ],
)
def test_equal_differences_are_tested_by_a_sign_test(difference, better, expected):
    values = 0.3 + difference * np.ones(6) - 0.3
    found = outcome(mean_of(values, 0.6), level=0.95, margin=0.005, better=better)
    assert found[:3] == pytest.approx((difference,) * 3)
    assert found[3:] == expected
    few = outcome(mean_of(values[:2], 0.6), level=0.95)
    assert (few.low, few.high) == ((-np.inf, np.inf) if difference else (0, 0))
