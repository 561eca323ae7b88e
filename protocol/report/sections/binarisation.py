"""Recall lost to binarisation, with the nearest neighbours by the original vectors as the ground truth."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol.checks import counted
from protocol.report.description import PAGE, series_scales
from protocol.report.figure import Figure, Section
from protocol.report.results import Results, nearest_truths
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import PLACE, at

if TYPE_CHECKING:
    import pandas as pd

TARGET = 0.95
"""The share of the true nearest neighbours that rescoring should reach."""
_GROUP = [*PLACE, "n_bits", "hasher", "k", "c"]


def binarisation_section(results: Results) -> Section | None:
    """Return the recall by hasher and size, and after rescoring; None without such a ground truth and metrics."""
    runs = results.once(shares)
    if runs.empty:
        return None
    means = with_intervals(runs)
    place = _place(results, means)
    why = why_not_shown(means["n_runs"], runs["shared"].max())
    text = [_answer(means, place), PAGE.text("binarisation-meaning", why=why)]
    return PAGE.section("binarisation", text, [_figure(results, means, place)])


def _answer(means: "pd.DataFrame", place: Mapping[str, Any]) -> str:
    """Return in words which hasher finds the largest share at each size, for one feature, ground truth and split."""
    here = at(means, **{column: place[column] for column in PLACE}, c=1).sort_values("mean", kind="stable")
    best = here.drop_duplicates("n_bits", keep="last").sort_values("n_bits", ascending=False)
    sizes = [f"{counted(-(-row.n_bits // 8), 'byte')} ({row.n_bits} bits)" for row in best.itertuples()]
    shares = [f"{row.mean:.1%} with {size} by {row.hasher}" for size, row in zip(sizes, best.itertuples(), strict=True)]
    k, n_runs = int(best["k"].iloc[0]), int(best["n_runs"].max())
    return PAGE.text("binarisation", k=k, shares=shares, place=place, n_runs=n_runs)


def shares(results: Results) -> "pd.DataFrame":
    """Return the share of the K true nearest neighbours that is found, by place, hasher, run, K and c.

    A row is P@K or neighbours@K (c = 1), or R@N, with N a multiple of K (c = N / K), or 1-recall@K where K is 1; the
    relevant items are the K nearest neighbours. ``shared`` is `protocol.scores.statistics.shared_variance` of the runs.
    """
    scores = results.run_scores
    nearest = {results.shown("ground_truth", name): k for name, k in nearest_truths(results.config).items()}
    k = scores["ground_truth"].map(nearest)
    c = [_factor(*own) for own in zip(scores["metric"], k, strict=True)]
    rows = scores.assign(k=k, c=c).dropna(subset="c").astype({"k": int, "c": int})
    rows = rows.assign(shared=rows["split"].map(results.shared).astype(float))
    columns = [*_GROUP, "run"]
    return results.ordered(rows)[[*columns, "value", "shared"]].drop_duplicates(columns, ignore_index=True)


def _factor(metric: str, k: int) -> float:
    """Return the factor of rescoring to which a metric corresponds; NaN for other metrics.

    Examples
    --------
    >>> [_factor(name, 10) for name in ("P@10", "neighbours@10", "R@40", "R@10", "R@15", "P@20", "mAP")]
    [1, 1, 4, nan, nan, nan, nan]
    >>> _factor("1-recall@4", 1)
    4
    """
    match = re.fullmatch("(P|neighbours|R|1-recall)@([0-9]+)", metric)
    if match is None:
        return math.nan
    kind, n = match[1], int(match[2])
    if kind in ("P", "neighbours"):
        return 1 if n == k else math.nan
    is_rescored = n % k == 0 and n > k and (kind == "R" or k == 1)
    return n // k if is_rescored else math.nan


def with_intervals(runs: "pd.DataFrame") -> "pd.DataFrame":
    """Return the mean, interval and number of runs of each share; the interval is NaN for a single run."""
    groups = runs.groupby([*_GROUP, "shared"], sort=False)["value"]
    means = groups.agg(mean="mean", std="std", n_runs="size").reset_index()
    half = half_width(means["std"], means["n_runs"], shared=means.pop("shared"))
    low, high = shown_interval(means["mean"] - half, means["mean"] + half, means["n_runs"], "neighbours@1")
    return means.assign(low=low, high=high)


def _place(results: Results, means: "pd.DataFrame") -> dict[str, Any]:
    """Return the selection; a value without these shares is replaced by the first that has them, as on the page."""
    place = {}
    for column, value in (results.combination).items():
        place[column] = value if (means[column] == value).any() else means[column].iloc[0]
        means = means[means[column] == place[column]]
    return place


def _figure(results: Results, means: "pd.DataFrame", place: Mapping[str, Any]) -> Figure:
    """Return the figure of rescoring; its sentence has the factor with which each hasher reaches the target."""
    here = at(means, **place)
    most = int(here["c"].max())
    factors: dict[int, list[str]] = {}
    for hasher, own in here.groupby("hasher", sort=False):
        reached = own[own["mean"] >= TARGET]["c"]
        factors.setdefault(most + 1 if reached.empty else int(reached.min()), []).append(hasher)
    return PAGE.figure(
        "rescoring",
        means.drop(columns=["k", "std"]),
        place,
        chart=series_scales(results.hashers),
        most=most,
        k=int(here["k"].iloc[0]),
        target=TARGET,
        factors={f"more than {most}" if c > most else c: factors[c] for c in sorted(factors)},
        place=place,
    )
