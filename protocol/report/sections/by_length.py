"""Every metric by code length, with its spread over the runs."""

from typing import Any

import altair as alt

from protocol import registry
from protocol.report.figure import Figure, Section, hasher_colour, hasher_shape, rows_chart, spread, tooltips
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return the section: the reader chooses metric, feature, ground truth and split."""
    order = {metric: i for i, metric in enumerate(results.setting["metrics"])}
    columns = ["metric", "feature", "ground_truth", "split", "hasher", "n_bits", "mean", "std"]
    rows = results.plain[columns]
    rows = rows.loc[rows["metric"].map(order).sort_values(kind="stable").index]
    figure = Figure(
        "by-length",
        "Score by code length",
        _shows(results),
        _chart(results),
        rows,
        choices={"metric": results.metric} | results.place,
    )
    return Section("by-length", "Every metric by code length", figures=[figure], template="by_length.html.j2")


def _chart(results: Results) -> Any:
    x = alt.X("n_bits:O", title="code length (bits)", axis=alt.Axis(labelAngle=0))
    y = alt.Y("mean:Q", title="{metric}", scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    colour = hasher_colour(results.hashers)
    base = rows_chart().encode(x=x, color=colour)
    ends = base.transform_calculate(low="datum.mean - datum.std", high="datum.mean + datum.std")
    bars = ends.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", title="{metric}"), y2="high:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=y,
        shape=hasher_shape(results.hashers),
        tooltip=tooltips("hasher:N", "n_bits:O", "mean:Q", "std:Q"),
    )
    return alt.layer(bars, base.mark_line().encode(y=y), points).properties(width="container", height=300)


def _shows(results: Results) -> str:
    rows = results.at(results.plain, **results.place, metric=results.metric, n_bits=results.n_bits)
    rows = rows.dropna(subset="mean")
    if rows.empty:
        return f"{results.metric} is undefined everywhere here."
    lower_is_better = registry.entry("metric", results.metric).better == "lower"
    ranked = rows.sort_values("mean", ascending=lower_is_better, kind="stable")
    best, worst = ranked.iloc[0], ranked.iloc[-1]
    says = f"{best['hasher']} has the best {results.metric}, {spread(best['mean'], best['std'])}"
    if len(ranked) > 1:
        says += f", and {worst['hasher']} the worst, {spread(worst['mean'], worst['std'])}"
    bars = "bars are one standard deviation over the runs" if results.n_runs > 1 else "of one run, so without spread"
    return f"{says} ({results.where()}; {bars})."
