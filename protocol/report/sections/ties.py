"""The effect on mAP of the order of ties, as in figure 3 of TALR, and of the conventions that others use."""

import itertools
from typing import TYPE_CHECKING, Any

import altair as alt

from protocol.report.figure import Figure, Section, hasher_colour, number, rows_chart, tooltips
from protocol.report.results import Results

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_CELL = ["feature", "ground_truth", "split", "n_bits", "hasher"]
_TIES = (
    "Items at the same Hamming distance are tied, and sorting puts them in an arbitrary order. A bar extends from the "
    "mAP with the relevant items last in every tie to the mAP with them first. The point is the expected value over "
    "all orders."
)
_CONVENTIONS = (
    "Published programs compute mAP under different conventions: for the order of ties, the cutoff K, the denominator "
    "and queries without relevant items. The second figure scores the same codes under all of them."
)


def section(results: Results) -> Section:
    """Return the range of mAP over the orders of ties, if it was computed, and mAP under every convention."""
    figures, text = [_conventions(results)], [_CONVENTIONS]
    if set(_NAMES) <= set(results.config["metrics"]):
        figures, text = [_ties(results), *figures], [_TIES, *text]
    return Section("conventions", "Ties and conventions", text, figures)


def _ties(results: Results) -> Figure:
    named = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = named.assign(metric=named["metric"].map(_NAMES)).pivot_table(index=_CELL, columns="metric", values="mean")
    rows = results.ordered(wide.reset_index()[[*_CELL, *_NAMES.values()]])
    title = "Worst, expected and best mAP over all orders of tied items"
    choices = results.place | {"n_bits": results.n_bits}
    return Figure("ties", title, _ties_shows(results, rows), lambda: _ties_chart(results), rows, choices)


def _ties_chart(results: Results) -> Any:
    y = alt.Y("hasher:N", title=None, sort=list(results.hashers))
    x = alt.X("worst:Q", title="mAP: worst, expected, best order of ties", scale=alt.Scale(zero=False))
    colour = hasher_colour(results.hashers, legend=False)
    base = rows_chart().encode(y=y, color=colour, tooltip=tooltips("hasher:N", "worst:Q", "expected:Q", "best:Q"))
    bars = base.mark_bar(height=8, opacity=0.45, cornerRadius=4).encode(x=x, x2="best:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(x="expected:Q")
    return alt.layer(bars, dots).properties(width="container", height=alt.Step(26))


def _ties_shows(results: Results, rows: "pd.DataFrame") -> str:
    here = results.at(rows, **results.place, n_bits=results.n_bits).reset_index(drop=True)
    width = here["best"] - here["worst"]
    widest = here.loc[width.idxmax()]
    pairs = [(a, b) for i, a in here.iterrows() for j, b in here.iterrows() if i < j]
    overlap = sum(a["worst"] < b["best"] and b["worst"] < a["best"] for a, b in pairs)
    shows = (
        f"Depending on the order of ties, the mAP of {widest['hasher']} is between {number(widest['worst'])} and "
        f"{number(widest['best'])}"
    )
    if pairs:
        shows += f"; the ranges of {overlap} of {len(pairs)} pairs of hashers overlap"
    return f"{shows} ({results.where()})."


def _conventions(results: Results) -> Figure:
    """Return every value that a named convention calls mAP, of run 0."""
    table = results.table["conventions"]
    columns = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric", "undefined", "called_map_by", "value"]
    named = table["metric"] + table["undefined"].map(lambda way: "" if way == "either way" else f", 0/0: {way}")
    rows = table[columns].assign(
        label=named,
        named=table["called_map_by"].fillna("").map(lambda names: "by a convention" if names else "by none"),
    )
    rows["called_map_by"] = rows["called_map_by"].fillna("")
    best = _best(results)
    here = results.at(rows, **results.place).dropna(subset="value")
    shows = _conventions_show(here, results.where(n_bits=False))
    title, choices = "The same codes under every convention", results.place | {"hasher": best}
    return Figure(
        "one-number",
        title,
        shows.get(best, f"No convention was computed ({results.where(n_bits=False)})."),
        _conventions_chart,
        rows,
        choices,
        folded=True,
        sentences=shows,
    )


def _best(results: Results) -> str:
    rows = results.at(results.plain, **results.place, metric=results.metric, n_bits=results.n_bits)
    return str(rows.loc[rows["mean"].fillna(-1).idxmax(), "hasher"])


def _conventions_chart() -> Any:
    y = alt.Y("label:N", title=None, sort=alt.EncodingSortField("value", op="max", order="descending"))
    colour = alt.Color(
        "named:N",
        title="called mAP",
        scale=alt.Scale(domain=["by a convention", "by none"], range=["#2f7fd1", "#7a8594"]),
    )
    base = rows_chart().encode(
        y=y,
        x=alt.X("value:Q", title="mean over the queries"),
        tooltip=tooltips("label:N", "called_map_by:N", "value:Q"),
    )
    bars = base.mark_bar(height=14).encode(color=colour)
    text = base.mark_text(align="left", dx=4, fontSize=11).encode(text=alt.Text("value:Q", format=".4f"))
    return alt.layer(bars, text).properties(width="container", height=alt.Step(22))


def _conventions_show(here: "pd.DataFrame", where: str) -> dict[str, str]:
    """Return the sentence about each hasher at a place, where all have the same code length."""
    used = here[here["called_map_by"] != ""].pivot_table(index="hasher", columns="label", values="value").dropna(axis=1)
    pairs = list(itertools.combinations(used.index, 2))
    swapped = sum((used.loc[a] > used.loc[b]).any() and (used.loc[a] < used.loc[b]).any() for a, b in pairs)
    swaps = f"; {swapped} of {len(pairs)} pairs of hashers swap places between two values that are called mAP"
    sentences = {}
    for hasher, own in here.groupby("hasher", sort=False):
        low, high = own.loc[own["value"].idxmin()], own.loc[own["value"].idxmax()]
        sentences[hasher] = (
            f"The same codes of {hasher} score from {number(low['value'])} ({low['label']}) to "
            f"{number(high['value'])} ({high['label']}){swaps if pairs else ''} ({where}; run 0, for "
            f"{low['n_bits']} bits alone)."
        )
    return sentences
