"""What the named conventions do to one number: the same codes, everything that is called mAP."""

from typing import Any

import altair as alt

from protocol.report.figure import Figure, Section, number, rows_chart, tooltips
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return every value that goes by the name of mAP, of run 0."""
    title = "What the conventions do to one number"
    table = results.table["conventions"]
    columns = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric", "undefined", "called_map_by", "value"]
    named = table["metric"] + table["undefined"].map(lambda way: "" if way == "either way" else f", 0/0: {way}")
    rows = table[columns].assign(
        label=named, named=table["called_map_by"].fillna("").map(lambda names: "by a convention" if names else "none")
    )
    rows["called_map_by"] = rows["called_map_by"].fillna("")
    best = _best(results)
    figure = Figure(
        "conventions",
        "One set of codes, everything that is called mAP",
        _shows(results, rows, best),
        _chart(),
        rows,
        choices=results.place | {"hasher": best},
    )
    text = (
        "The codes of run 0, scored again under every named convention (the list stands under “What the words mean”): "
        "ties best, expected, in database order or worst; cut at K with all, the retrieved or min(all, K) relevant "
        "items below the line; the area under the pooled precision-recall curve. Cutoffs that the database doesn't "
        "reach are left out; 0/0 is shown apart where it matters."
    )
    return Section("one-number", title, [text], [figure])


def _best(results: Results) -> str:
    rows = results.at(results.plain, **results.place, metric=results.metric, n_bits=results.n_bits)
    return str(rows.loc[rows["mean"].fillna(-1).idxmax(), "hasher"])


def _chart() -> Any:
    y = alt.Y("label:N", title=None, sort=alt.EncodingSortField("value", op="max", order="descending"))
    colour = alt.Color(
        "named:N",
        title="called mAP",
        scale=alt.Scale(domain=["by a convention", "none"], range=["#2f7fd1", "#7a8594"]),
    )
    base = rows_chart().encode(
        y=y,
        x=alt.X("value:Q", title="mean over the queries"),
        tooltip=tooltips("label:N", "called_map_by:N", "value:Q"),
    )
    bars = base.mark_bar(height=14).encode(color=colour)
    text = base.mark_text(align="left", dx=4, fontSize=11).encode(text=alt.Text("value:Q", format=".4f"))
    return alt.layer(bars, text).properties(width="container", height=alt.Step(22))


def _shows(results: Results, rows: Any, hasher: str) -> str:
    here = results.at(rows, **results.place).dropna(subset="value")
    own = here[here["hasher"] == hasher]
    low, high = own.loc[own["value"].idxmin()], own.loc[own["value"].idxmax()]
    says = (
        f"The same {hasher} codes score from {number(low['value'])} ({low['label']}) to {number(high['value'])} "
        f"({high['label']})"
    )
    used = here[here["called_map_by"] != ""].pivot_table(index="hasher", columns="label", values="value").dropna(axis=1)
    names = list(used.index)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    turned = sum((used.loc[a] > used.loc[b]).any() and (used.loc[a] < used.loc[b]).any() for a, b in pairs)
    if pairs:
        says += (
            f"; {turned} of {len(pairs)} pairs of hashers change places between two values that conventions call mAP"
        )
    return f"{says} ({results.where()}, run 0)."
