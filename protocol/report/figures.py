"""Figures of the report, as Vega-Lite specifications."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_WIDTH, _HEIGHT = 300, 220
_FORMAT = ".4f"


def _base(rows: "pd.DataFrame") -> "alt.Chart":
    import altair as alt

    return alt.Chart(rows).encode(
        color=alt.Color("hasher:N", title="hasher", scale=alt.Scale(scheme="tableau10")),
        tooltip=["hasher", "n_bits", "split", "extension", "extension_bits", "metric", *_numbers("mean", "std")],
    )


def _panels(rows: "pd.DataFrame") -> Any:
    """Return a panel per split, in the order of the rows."""
    import altair as alt

    return alt.Column("split:N", title=None, sort=list(rows["split"].unique()))


def _numbers(*names: str) -> list[Any]:
    import altair as alt

    return [alt.Tooltip(f"{name}:Q", format=_FORMAT) for name in names]


def by_length(rows: "pd.DataFrame", metric: str) -> dict[str, Any]:
    """Return a metric against the code length, a line per hasher with one standard deviation, a panel per split."""
    import altair as alt

    plain = rows[(rows["metric"] == metric) & (rows["extension"] == "none")].copy()
    plain["low"], plain["high"] = plain["mean"] - plain["std"].fillna(0), plain["mean"] + plain["std"].fillna(0)
    x = alt.X("n_bits:O", title="bits", axis=alt.Axis(labelAngle=0))
    y = alt.Y("mean:Q", title=metric, scale=alt.Scale(zero=False))
    band = _base(plain).mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", title=metric), y2="high:Q")
    line = _base(plain).mark_line(point=True).encode(x=x, y=y)
    return (alt.layer(band, line).properties(width=_WIDTH, height=_HEIGHT).facet(column=_panels(rows))).to_dict()


def tie_range(rows: "pd.DataFrame", n_bits: int) -> dict[str, Any]:
    """Return the range of mAP from the worst to the best order of ties, with the expected value, a panel per split."""
    import altair as alt

    named = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
    plain = rows[rows["metric"].isin(named) & (rows["extension"] == "none") & (rows["n_bits"] == n_bits)]
    wide = plain.assign(metric=plain["metric"].map(named)).pivot_table(
        index=["split", "hasher"], columns="metric", values="mean"
    )
    chart = alt.Chart(wide.reset_index()).encode(
        y=alt.Y("hasher:N", title=None),
        tooltip=["hasher", "split", *_numbers("worst", "expected", "best")],
        color=alt.Color("hasher:N", legend=None, scale=alt.Scale(scheme="tableau10")),
    )
    x = alt.X(
        "worst:Q",
        title=f"mAP at {n_bits} bits: worst, expected, best order of ties",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=6),
    )
    bar = chart.mark_rule(strokeWidth=5, opacity=0.35).encode(x=x, x2="best:Q")
    dot = chart.mark_point(filled=True, size=60).encode(x="expected:Q")
    return (alt.layer(bar, dot).properties(width=_WIDTH, height=alt.Step(22)).facet(column=_panels(rows))).to_dict()


def extensions(rows: "pd.DataFrame", metric: str, n_bits: int) -> dict[str, Any]:
    """Return a metric of the plain and the extension codes of one length, a panel per split."""
    import altair as alt

    chosen = rows[(rows["metric"] == metric) & (rows["n_bits"] == n_bits)].copy()
    bits = chosen["extension_bits"].map(lambda s: f" +{s}" if s else "")
    chosen["code"] = chosen["extension"] + bits
    rank = {"none": 0, "same": 1, "different": 2}
    placed = chosen.assign(rank=chosen["extension"].map(rank)).sort_values(["rank", "extension_bits"])
    order = list(dict.fromkeys(placed["code"]))
    return (
        _base(chosen)
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("code:N", sort=order, title="extension", axis=alt.Axis(labelAngle=-30)),
            y=alt.Y("mean:Q", title=f"{metric} at {n_bits} bits"),
        )
        .properties(width=_WIDTH, height=_HEIGHT)
        .facet(column=_panels(rows))
    ).to_dict()
