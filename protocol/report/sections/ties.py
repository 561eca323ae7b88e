"""What the order of ties alone can do to mAP, as figure 3 of TALR shows it."""

from typing import Any

import altair as alt

from protocol.report.figure import Figure, Section, hasher_colour, number, rows_chart, tooltips
from protocol.report.results import Results

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_CELL = ["feature", "ground_truth", "split", "n_bits", "hasher"]


def section(results: Results) -> Section:
    """Return the range of mAP from the worst to the best order of ties, with the expected value."""
    title = "What the order of ties does to mAP"
    if not set(_NAMES) <= set(results.setting["metrics"]):
        return Section(
            "ties", title, ["Not here: the experiment's metrics lack one of mAP, mAP[best] and mAP[worst], its bounds."]
        )
    named = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = named.assign(metric=named["metric"].map(_NAMES)).pivot_table(index=_CELL, columns="metric", values="mean")
    rows = results.ordered(wide.reset_index()[[*_CELL, *_NAMES.values()]])
    figure = Figure(
        "ties",
        "Worst, expected and best mAP over all orders of tied items",
        _shows(results, rows),
        _chart(results),
        rows,
        choices=results.place | {"n_bits": results.n_bits},
    )
    text = (
        "Items at one Hamming distance are tied, and a sort must put them in some order. The bar runs from the mAP "
        "with every tie broken against the relevant items to that with every tie broken for them; the point is the "
        "expected value over all orders. Denominator: all relevant items."
    )
    return Section("ties", title, [text], [figure])


def _chart(results: Results) -> Any:
    y = alt.Y("hasher:N", title=None, sort=results.hashers)
    x = alt.X("worst:Q", title="mAP: worst, expected, best order of ties", scale=alt.Scale(zero=False))
    colour = hasher_colour(results.hashers, legend=False)
    base = rows_chart().encode(y=y, color=colour, tooltip=tooltips("hasher:N", "worst:Q", "expected:Q", "best:Q"))
    bars = base.mark_bar(height=8, opacity=0.45, cornerRadius=4).encode(x=x, x2="best:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(x="expected:Q")
    return alt.layer(bars, dots).properties(width="container", height=alt.Step(26))


def _shows(results: Results, rows: Any) -> str:
    here = results.at(rows, **results.place, n_bits=results.n_bits).reset_index(drop=True)
    width = here["best"] - here["worst"]
    widest = here.loc[width.idxmax()]
    pairs = [(a, b) for i, a in here.iterrows() for j, b in here.iterrows() if i < j]
    overlap = sum(a["worst"] < b["best"] and b["worst"] < a["best"] for a, b in pairs)
    says = (
        f"The order of ties alone moves the mAP of {widest['hasher']} from {number(widest['worst'])} to "
        f"{number(widest['best'])}"
    )
    if pairs:
        says += f"; the ranges of {overlap} of {len(pairs)} pairs of hashers overlap"
        says += ", so a sort could turn their order" if overlap else ", so no sort turns their order"
    return f"{says} ({results.where()})."
