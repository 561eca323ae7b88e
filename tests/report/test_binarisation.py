"""Recall lost to binarisation: shares by hand, and when the section appears."""

import dataclasses

import pandas as pd
import pytest
from scipy import stats

from protocol.report.sections import curves as binarisation
from protocol.scores.statistics import TWO_RUNS
from protocol.scores.summary import at

SETTING = {"feature": "gist", "ground_truth": "nearest_neighbours", "split": "standard"}


def scored(results, values, *, n_bits=8, metric="P@5", hashers=("lsh", "itq"), **place):
    """Return results with these values: a row of each run, a column of each hasher."""
    rows = [
        SETTING | {"run": run, "hasher": hasher, "n_bits": n_bits, "metric": metric, "value": value} | place
        for run, own in enumerate(values)
        for hasher, value in zip(hashers, own, strict=True)
    ]
    return dataclasses.replace(results, run_scores=pd.DataFrame(rows))


def section_of(results):
    return binarisation.binarisation_section(results, results.selections[0])


def test_the_shares_are_those_of_the_metrics(results):
    shares, names = binarisation.shares(results), {1: "P@5", 2: "R@10", 4: "R@20"}
    assert (set(shares["c"]), set(shares["k"])) == (set(names), {5})
    on = [*SETTING, "n_bits", "hasher", "run", "metric"]
    both = shares.assign(metric=shares["c"].map(names)).merge(results.run_scores, on=on, suffixes=("", "_scored"))
    assert len(both) == len(shares)
    assert (both["value"] == both["value_scored"]).all()


def test_the_first_sentence_has_the_best_hasher_at_each_size(results):
    section = section_of(scored(results, [[0.50, 0.61], [0.52, 0.62], [0.51, 0.61]]))
    assert section.text[0] == (
        "Of the 5 nearest neighbours by the vectors, the best codes find 61.3% with 1 byte (8 bits) by itq (gist, "
        "standard split, mean over 3 runs)."
    )
    two = section_of(scored(results, [[0.4, 0.6], [0.5, 0.8]], n_bits=12))
    assert two.text[1].endswith(TWO_RUNS)
    runs = binarisation.shares(scored(results, [[0.4, 0.6], [0.5, 0.8], [0.5, 0.7]]))
    (itq,) = at(binarisation.with_intervals(runs), hasher="itq").itertuples()
    half = stats.t.ppf(0.975, 2) * 0.1 * (1 / 3 + results.shared("standard")) ** 0.5
    assert (itq.low, itq.high) == pytest.approx((0.7 - half, 0.7 + half))


def test_the_smallest_factor_that_reaches_the_target(results):
    parts = [
        scored(results, [values], metric=metric).run_scores
        for metric, values in (("P@5", (0.3, 0.4)), ("R@10", (0.8, 0.94)), ("R@20", (0.9, 0.96)))
    ]
    made = section_of(dataclasses.replace(results, run_scores=pd.concat(parts, ignore_index=True)))
    assert made.figures[0].shows == (
        "To find 95% of the 5 nearest neighbours, rescoring needs c = 4 with itq; more than 4 with lsh (gist, standard "
        "split, 8 bits)."
    )


def test_without_nearest_neighbours_or_their_metrics_there_is_no_section(results, bare):
    assert section_of(bare) is None
    options = results.config["ground_truth_options"] | {"nearest_neighbours": {"n_neighbours": 7}}
    other = dataclasses.replace(results, config=results.config | {"ground_truth_options": options})
    assert section_of(other) is None  # P@5 and R@10 are of no use where 7 are nearest
