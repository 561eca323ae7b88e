"""Precision and recall by cutoff, radius and code length, redundant bits, and lookups (RAMAP, figures 5 and 7)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from protocol.evaluation.plots import LEAST_RECALL
from protocol.report.description import PAGE, series_scales
from protocol.report.examples import BALL, LOOKUP_ITEMS, LOOKUP_QUERIES
from protocol.report.figure import Figure, Section
from protocol.report.results import Results
from protocol.scores.summary import PLACE, at

if TYPE_CHECKING:
    import pandas as pd

_AT = 100
"""The N that the sentence about precision quotes, or the nearest one."""
_CELL = [*PLACE, "n_bits", "hasher"]
_EXTENSIONS = {"none": "plain", "same": "same", "different": "different"}


def curves_section(results: Results) -> Section:
    """Return the figures of precision and recall, all but recall with the level of chance, and of empty balls."""
    n_runs = at(results.table["curves"], **results.combination)["n_runs"]
    figures = [_top(results, "precision", _AT), _top(results, "recall", None), _pr_curve(results)]
    figures.append(_empty(results))
    return PAGE.section("curves", [PAGE.text("curves", n_runs=list(n_runs))], figures)


def _chance(results: Results) -> "pd.DataFrame":
    """Return the precision of a random order, which is that of the ball that contains the whole database."""
    radii = at(results.table["radii"], extension="none", metric="precision[micro]")
    return radii[radii["radius"] == radii["n_bits"]][[*_CELL, "value"]].rename(columns={"value": "chance"})


def _top_rows(results: Results, metric: str) -> "pd.DataFrame":
    """Return the values of the top N, those of precision with the level of chance."""
    rows = at(results.table["curves"], metric=metric)
    rows = rows[[*_CELL, "at", "value"]].rename(columns={"at": "N", "value": metric})
    return rows.merge(results.once(_chance), on=_CELL) if metric == "precision" else rows


def pr_points(radii: "pd.DataFrame", curve: Sequence[str]) -> "pd.DataFrame":
    """Return the points of precision-recall curves of plain codes, one for each Hamming radius.

    The smallest balls are left out: if the queries of a run find no item, precision is 0/0, and a few pairs are no
    reliable estimate.

    Parameters
    ----------
    radii : DataFrame
        The table ``radii`` of `protocol.report.examples`.
    curve : sequence of str
        The columns that identify a curve.

    Returns
    -------
    DataFrame
        The columns of `curve`, ``radius``, ``precision`` and ``recall`` of all pairs of a run, and ``chance``, the
        precision of a random order: that of the largest ball, which contains the whole database.
    """
    on = [*curve, "radius"]
    precision, recall = (
        at(radii, metric=f"{side}[micro]", extension="none")[[*on, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    )
    rows = precision.merge(recall, on=on).sort_values("radius", kind="stable")
    rows = rows.assign(chance=rows.groupby(list(curve))["precision"].transform("last"))
    return rows[rows["recall"] >= LEAST_RECALL]


def _pr_rows(results: Results) -> "pd.DataFrame":
    rows = results.ordered(pr_points(results.table["radii"], _CELL))
    return rows.drop_duplicates([*_CELL, "precision", "recall"])  # radii without a further item give the same point


def _figure(name: str, results: Results, rows: "pd.DataFrame", choices: dict[str, Any], **values: Any) -> Figure:
    return PAGE.figure(name, rows, choices, chart=series_scales(results.hashers), results=results, **values)


def _top(results: Results, metric: str, cutoff: int | None) -> Figure:
    """Return precision or recall of the top N; the sentence quotes the N nearest to `cutoff`, or else the largest."""
    rows = results.once(_top_rows, metric)
    here = at(rows, **results.combination)
    n = here["N"].max() if cutoff is None else min(here["N"].unique(), key=lambda own: abs(own - cutoff))
    best = at(here, N=n).sort_values(metric, ascending=False, kind="stable").iloc[0]
    return _figure(f"{metric}-at-n", results, rows, results.combination, n=n, best=best)


def _pr_curve(results: Results) -> Figure:
    rows = results.once(_pr_rows)
    here = at(rows, **results.combination)
    half = here[here["recall"] >= 0.5].sort_values("radius", kind="stable")
    first = half.drop_duplicates("hasher")
    best = None if first.empty else first.loc[first["precision"].idxmax()]
    return _figure("pr-curves", results, rows, results.combination, best=best, least=LEAST_RECALL)


def _without_truth(results: Results) -> dict[str, Any]:
    """Return the selection without its ground truth, on which neither balls nor buckets depend."""
    return {column: value for column, value in results.combination.items() if column != "ground_truth"}


def _empty(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "radius", "value"]
    truth, choices = results.place["ground_truth"], _without_truth(results)
    rows = at(results.table["radii"], metric="empty", extension="none", ground_truth=truth)[columns]
    here = at(rows, **choices, radius=BALL)
    most, fewest = here.loc[here["value"].idxmax()], here.loc[here["value"].idxmin()]
    return _figure("empty-balls", results, rows, choices, radius=BALL, most=most, fewest=fewest)


def _sizes(results: Results) -> Figure:
    rows = results.table["buckets"][["feature", "split", "n_bits", "hasher", "rank", "items", "n_buckets"]]
    choices = _without_truth(results)
    here = at(rows, **choices).drop_duplicates("hasher")
    fullest = here.loc[here["items"].idxmax()]
    return _figure("bucket-sizes", results, rows, choices, n_buckets=list(here["n_buckets"]), fullest=fullest)


def _times(results: Results) -> Figure:
    rows = results.table["lookups"][["feature", "split", "n_bits", "hasher", "radius", "codes", "milliseconds"]]
    choices = _without_truth(results)
    mean = at(rows, **choices).groupby("radius")[["codes", "milliseconds"]].mean()
    values = {"radius": mean.index.max(), "first": mean.iloc[0], "last": mean.iloc[-1]}
    return _figure("lookup-times", results, rows, choices, n_queries=LOOKUP_QUERIES, n_items=LOOKUP_ITEMS, **values)


def _seconds_by_stage(results: Results) -> list[Figure]:
    """Return the figure of the seconds of each stage, with the memory of its largest job; none without such files."""
    if results.times.empty:
        return []
    stages = results.times.groupby("stage", sort=True).agg(
        jobs=("seconds", "size"), seconds=("seconds", "sum"), longest=("seconds", "max"), megabytes=("megabytes", "max")
    )
    stages = stages.reset_index().sort_values("seconds", ascending=False, kind="stable")
    chart = {"stages": list(stages["stage"])}
    return [PAGE.figure("seconds-by-stage", stages, chart=chart, total=stages["seconds"].sum(), first=stages.iloc[0])]


def _extended(results: Results) -> "pd.DataFrame":
    """Return RAMAP by radius of the codes that have extensions at a place, with and without these."""
    rows, cell = at(results.table["radii"], metric="RAMAP"), [*PLACE, "hasher", "n_bits"]
    rows = rows.merge(rows[rows["extension"] != "none"][cell].drop_duplicates(), on=cell)
    added = rows["extension_bits"].map(lambda bits: f" +{bits}" if bits else "")
    rows = rows.assign(
        codes=rows["extension"].map(_EXTENSIONS) + added, rank=rows["extension"].map([*_EXTENSIONS].index)
    )
    rows = results.ordered(rows.sort_values(["rank", "extension_bits"], kind="stable"))
    return rows[[*cell, "codes", "radius", "value"]]


def extensions_section(results: Results) -> Section | None:
    """Return RAMAP by radius of codes with redundant bits; None without such codes."""
    rows = results.once(_extended)
    here = at(rows, **results.place)
    if here.empty:
        return None
    codes = {"hasher": here["hasher"].iloc[0], "n_bits": int(here["n_bits"].iloc[0])}
    radius = min(BALL, codes["n_bits"])
    means = at(results.summary, **results.place, **codes, metric="mAP")["mean"]
    figure = PAGE.figure(
        "extensions-by-radius",
        rows.drop(columns=["hasher", "n_bits"]),
        results.place,
        chart=series_scales(rows["codes"], columns=1, labelLimit=400),
        radius=radius,
        values=at(here, radius=radius).set_index("codes")["value"].to_dict(),
        differ=means.max() - means.min() if len(means) else None,
        place=PAGE.text("extended", results=results, **codes),
    )
    return PAGE.section("extensions", [PAGE.text("extensions")], [figure])


def appendix_section(results: Results) -> Section:
    """Return the bucket sizes, the time of an inverted index, and the run time of each stage if it was measured."""
    figures = [_sizes(results), _times(results), *results.once(_seconds_by_stage)]
    return PAGE.section("appendix", [PAGE.text("appendix")], figures)
