"""Figures 4 to 7 of *On the Evaluation Metric for Hashing*: RAMAP, precision, empty bins and time by radius."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from protocol.papers import layout
from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.results import having
from protocol.report.figure import Figure, listed, number

if TYPE_CHECKING:
    import pandas as pd

_LENGTHS = (48, 64)
_METHODS = {"DSH": "deep_squared", "m-DSH": "m_dsh"}
_EXTENDED = {"none": "", "same": " SE s=", "different": " DE s="}
_NAMES = {"empty": "share of the queries with empty bins", "milliseconds": "time of a query in milliseconds"}
_TIMES = "Times depend on the machine; they are those of run 0, and means over at most 100 queries."
_FEWEST_RADII = 2
_EQUAL = 1e-9
_BREAK = " | "


def by_radius(data: FigureData, *, name: str, title: str, quantities: Sequence[str]) -> Drawn:
    """Return quantities at radius R of DSH and m-DSH, and of extended codes, a panel for each.

    The quantities are metrics such as RAMAP; mAP, which is the same at every radius; the share of queries without an
    item within the radius (``empty``), of which the paper shows the number; or the ``milliseconds`` of a search.
    """
    rows = _rows(data, quantities)
    learned = rows[rows["plugin"].isin(_METHODS.values()) & (rows["extension"] == "none")]
    lengths = layout.chosen_lengths(learned["n_bits"], _LENGTHS)
    drawn = [
        (place, own)
        for place, own in layout.by_place(having(learned, n_bits=lengths), "n_bits")
        if layout.several(own["plugin"]) and _complete(own, len(quantities))
    ]
    figures = [_figure(name, title, quantities, place, own) for place, own in drawn]
    lsh = rows[rows["plugin"] == "lsh"]
    for place, own in layout.by_place(lsh, "n_bits"):
        shortest = min(having(lsh, experiment=place["experiment"])["n_bits"])
        if place["n_bits"] == shortest and layout.several(own["extension"]) and _complete(own, len(quantities)):
            figures.append(_figure(f"{name}_extensions", title, quantities, place, own))
    absent = layout.lacking(_LENGTHS, [place["n_bits"] for place, _ in drawn if place["dataset"] == "cifar10"])
    missing = ""
    if absent:
        missing = (
            f"{listed(quantities)} at several radii of {listed(list(_METHODS))} at {listed(absent)} bits on cifar10: "
            "workflow/config/cifar10_learned.yaml"
        )
    return Drawn(figures, missing=missing)


def _rows(data: FigureData, quantities: Sequence[str]) -> "pd.DataFrame":
    """Return quantities of every code by radius: ``quantity``, ``radius``, ``value``, ``std``.

    A value that the summary has at a radius comes from there, with its standard deviation.
    """
    import pandas as pd

    names = data.summary["metric"].str.extract(r"^(?P<quantity>\w+)@r(?P<radius>\d+)$")
    summary = data.summary.drop(columns="metric").join(names).rename(columns={"mean": "value"})
    radii = data.radii.rename(columns={"metric": "quantity"}).assign(std=float("nan"))
    parts = [part for part in (summary.dropna(subset="quantity"), radii) if len(part)]
    if not parts:
        return pd.DataFrame(columns=[*data.radii, "quantity", "std", "order"])
    rows = pd.concat(parts, ignore_index=True)
    rows = rows[rows["quantity"].isin(quantities)].astype({"radius": int})
    codes = [column for column in rows if column not in ("quantity", "radius", "value", "std", "n_runs")]
    rows = rows.drop_duplicates([*codes, "quantity", "radius"])
    if "mAP" in quantities:
        mean = data.rows(metric="mAP").rename(columns={"mean": "value"}).assign(quantity="mAP").drop(columns="metric")
        rows = pd.concat([rows, rows[[*codes, "radius"]].merge(mean, on=codes)], ignore_index=True)
    bits = rows["extension_bits"].astype(str).where(rows["extension"] != "none", "")
    method = rows["method"].where(rows["plugin"] != _METHODS["DSH"], "DSH") + rows["extension"].map(_EXTENDED) + bits
    rows = rows.assign(method=method, order=rows["extension"].map(list(_EXTENDED).index))
    names = sorted(rows["hasher"].unique(), key=layout.natural)
    rows = rows.assign(place=rows["hasher"].map(names.index))
    return rows.sort_values(["order", "extension_bits", "place", "radius"], kind="stable", ignore_index=True)


def _complete(rows: "pd.DataFrame", n_quantities: int) -> bool:
    """Return whether every method has all quantities, at enough radii for a line."""
    radii = rows.groupby(["method", "quantity"])["radius"].nunique()
    return len(radii) == n_quantities * rows["method"].nunique() and bool(radii.min() >= _FEWEST_RADII)


def _figure(name: str, title: str, quantities: Sequence[str], place: dict[str, Any], rows: "pd.DataFrame") -> Figure:
    n_bits = place["n_bits"]
    headings = {quantity: _heading(rows, quantity) for quantity in quantities}
    methods = list(dict.fromkeys(rows["method"]))
    rows = rows.assign(panel=rows["quantity"].map(headings), width=rows["method"].map(_widths(rows)))
    rows = rows.assign(size=16 * rows["width"] + 24)
    rows = rows[["panel", "quantity", "method", "radius", "value", "std", "n_runs", "width", "size"]]
    radii, scale = sorted(set(rows["radius"])), "log" if [*quantities] == ["milliseconds"] else "linear"
    return Figure(
        layout.file_name(name, place, n_bits),
        f"{title} by radius: {n_bits} bits, {place['dataset']}, {place['feature']}",
        _shows(rows, quantities, place),
        layout.chart("by-radius", headings=list(headings.values()), radii=radii, scale=scale, **layout.series(methods)),
        rows,
    )


def _heading(rows: "pd.DataFrame", quantity: str) -> str:
    """Return the title of a quantity's panel; for mAP, whose lines may coincide, it has the values."""
    if quantity != "mAP":
        return _NAMES.get(quantity, f"{quantity}@R")
    means = rows[rows["quantity"] == "mAP"].drop_duplicates("method").set_index("method")["value"]
    if means.max() - means.min() < _EQUAL:
        return f"mAP, the same at every R{_BREAK}{number(means.iloc[0])} for all codes"
    values = [f"{name} {number(value)}" for name, value in means.items()]
    return f"mAP, the same at every R{_BREAK}{', '.join(values)}"


def _widths(rows: "pd.DataFrame") -> dict[str, float]:
    """Return a line width for each method; that of extended codes falls, so that lines which coincide stay visible."""
    methods = list(dict.fromkeys(rows["method"]))
    if not layout.several(rows["extension"]):
        return dict.fromkeys(methods, 2)
    return {method: 1.5 + 1.8 * (len(methods) - 1 - i) for i, method in enumerate(methods)}


def _shows(rows: "pd.DataFrame", quantities: Sequence[str], place: dict[str, Any]) -> str:
    return layout.sentences(
        f"{'; '.join(_range(rows, quantity) for quantity in quantities)} ({layout.where(place)}; {layout.runs(rows)}).",
        _TIMES if "milliseconds" in quantities else "",
        layout.substitute(place, dataset="cifar10", feature="alexnet"),
    )


def _range(rows: "pd.DataFrame", quantity: str) -> str:
    """Return the lowest and the highest value of a quantity at radius 2, or at the radius nearest to it."""
    rows = having(rows, quantity=quantity)
    radius = int(min(rows["radius"].unique(), key=lambda radius: (abs(radius - 2), radius)))
    here = having(rows, radius=radius).sort_values("value", kind="stable")
    low, high = here.iloc[0], here.iloc[-1]
    name = _NAMES.get(quantity, quantity) + f" at R = {radius}" * (quantity != "mAP")
    return f"{name} is {number(low['value'])} ({low['method']}) to {number(high['value'])} ({high['method']})"
