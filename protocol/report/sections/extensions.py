"""LSH and its extension codes: tables 2 and 3 of RAMAP, and the identities of its section 4.1."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt

from protocol.checks import counted
from protocol.report.figure import ABSENT, COLOURS, Figure, Section, number, rows_chart, tooltips
from protocol.report.results import Results
from protocol.scores.summary import at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_LEGEND = alt.Legend(labelLimit=400, columns=1)
_NAMES = {"none": "plain", "same": "same", "different": "different"}
_TOLERANCE = 2e-9  # results are written with nine digits, so equal values may differ by 1e-9 after rounding
_PLACE = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]


def extensions_section(results: Results) -> Section | None:
    """Return RAMAP, mAP of the top K, precision and recall by radius for every extension; None without extensions."""
    if (at(results.table["radii"], **results.place)["extension"] == "none").all():
        return None
    rows = _rows(results)
    here = at(rows, **results.place)
    hasher, n_bits = here["hasher"].iloc[0], int(here["n_bits"].iloc[0])
    figure = Figure(
        "extensions",
        "Codes with redundant bits, by radius",
        _shows(results, rows, hasher, n_bits),
        _chart(),
        _together(rows[rows["metric"].isin(["RAMAP", "precision", "recall"])]),
        choices={"metric": "RAMAP"} | results.place,
    )
    where = f"{hasher}, {results.where(n_bits=False)}, {n_bits} bits before extension; mean over {_runs(here)}"
    text = (
        "“same” appends s bits that are equal in all codes, “different” appends s bits in which queries and database "
        "differ. Neither changes a ranking, so mAP is the same, but “different” moves every item s bits away from the "
        "query, which RAMAP measures. Curves that coincide are drawn as one."
    )
    tables = [_cut_table(here, where), _radius_table(here, where), _identities(results)]
    return Section("extensions", "Redundant bits", [text], [figure], tables)


def _rows(results: Results) -> Any:
    table = results.table["radii"]
    is_shown = table["metric"].isin(["RAMAP", "precision", "recall"]) | table["metric"].str.startswith("mAP@")
    rows = table[is_shown]
    s = rows["extension_bits"].map(lambda bits: f" +{bits}" if bits else "")
    rows = rows.assign(codes=rows["extension"].map(_NAMES) + s, rank=rows["extension"].map(list(_NAMES).index))
    rows = rows.sort_values(["rank", "extension_bits"], kind="stable")
    columns = ["metric", "feature", "ground_truth", "split", "hasher", "n_bits", "codes", "radius", "value", "n_runs"]
    first = at(rows, **results.place)[["hasher"]].iloc[0]
    return results.ordered(at(rows, hasher=first["hasher"])[columns])


def _together(rows: Any) -> Any:
    """Return the rows with codes of equal values under one name, such as ``plain = same +1``."""
    import pandas as pd

    parts = []
    for _, own in rows.groupby(["metric", "feature", "ground_truth", "split"], sort=False):
        wide = own.pivot_table(index="codes", columns="radius", values="value", sort=False).round(9)
        names: dict[tuple[float, ...], list[str]] = {}
        for codes, *values in wide.itertuples(name=None):
            same = next((key for key in names if _equal(key, tuple(values))), tuple(values))
            names.setdefault(same, []).append(codes)
        first = {codes[0]: " = ".join(codes) for codes in names.values()}
        parts.append(own[own["codes"].isin(first)].assign(codes=own["codes"].map(first)))
    together = pd.concat(parts, ignore_index=True)
    return together.drop(columns=["hasher", "n_bits", "n_runs"])


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether two curves have the same values at all radii that both have."""
    return all(a == b or a != a or b != b for a, b in zip(one, other, strict=True))


def _runs(rows: Any) -> str:
    return counted(int(rows["n_runs"].max()), "run")


def _chart() -> Any:
    base = rows_chart().encode(
        x=alt.X("radius:O", title="Hamming radius R", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title="{metric} at radius R"),
        color=alt.Color("codes:N", title="codes", sort=None, scale=alt.Scale(range=list(COLOURS)), legend=_LEGEND),
        tooltip=tooltips("codes:N", "radius:O", "value:Q"),
    )
    shape = alt.Shape("codes:N", title="codes", sort=None, legend=_LEGEND)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
    return alt.layer(base.mark_line(), points).properties(width="container", height=280)


def _shows(results: Results, rows: Any, hasher: str, n_bits: int) -> str:
    here = at(rows, **results.place, metric="RAMAP", radius=min(2, n_bits)).set_index("codes")["value"]
    values = ", ".join(f"{number(value)} ({name})" for name, value in here.items())
    means = at(results.summary, **results.place, hasher=hasher, n_bits=n_bits, metric="mAP")["mean"]
    of_map = ""
    if len(means):
        differ = means.max() - means.min()
        of_map = "; their mAP is the same" if differ < 1e-9 else f"; their mAP differs by {number(differ)}"
    where = f"{hasher}, {results.where(n_bits=False)}, {n_bits} bits before extension"
    return f"RAMAP at radius {min(2, n_bits)}: {values}{of_map} ({where})."


def _cut_table(here: Any, where: str) -> Table:
    """Return RAMAP's table 2: mAP of the top K and RAMAP at R."""
    cut = here[here["metric"].str.startswith("mAP@")]
    radii = sorted(here["radius"].unique())
    cutoff = {row.radius: row.metric.removeprefix("mAP@").removesuffix("[retrieved]") for row in cut.itertuples()}
    header = ["metric", "codes", *(f"{cutoff.get(radius, ABSENT)} / {radius}" for radius in radii)]
    rows = _by_codes("mAP@K", cut, radii) + _by_codes("RAMAP@R", here[here["metric"] == "RAMAP"], radii)
    caption = (
        f"mAP of the top K and RAMAP at radius R, with a column for each K / R ({where}). mAP is expected over "
        "ties, and divided by the number of relevant items among the top K. RAMAP has no ties."
    )
    return Table("ramap-table-2", caption, header, rows, n_labels=2)


def _radius_table(here: Any, where: str) -> Table:
    """Return RAMAP's table 3: precision, recall and RAMAP by radius."""
    radii = sorted(here["radius"].unique())
    rows = [
        row for name in ("precision", "recall", "RAMAP") for row in _by_codes(name, here[here["metric"] == name], radii)
    ]
    caption = f"Precision, recall and RAMAP by radius ({where}). Precision and recall are means over the queries."
    return Table("ramap-table-3", caption, ["metric", "codes", *(f"R = {r}" for r in radii)], rows, n_labels=2)


def _by_codes(name: str, rows: Any, radii: list[int]) -> list[list[str]]:
    wide = rows.pivot_table(index="codes", columns="radius", values="value", sort=False)
    wide = wide.reindex(columns=radii)
    return [
        [name, codes, *(ABSENT if value != value else number(value) for value in values)]
        for codes, *values in wide.itertuples(name=None)
    ]


def _identities(results: Results) -> Table:
    rows = [
        [
            check.statement,
            f"{check.n_pairs:,}",
            str(check.n_violations) if check.n_pairs else "not checked",
            f"{check.largest:.2g}" if check.n_pairs else ABSENT,
        ]
        for check in check_identities(results.summary)
    ]
    caption = (
        "The statements of RAMAP (section 4.1 c, d, f) on extension codes, checked on every combination; differences "
        "above 2e-9 are violations."
    )
    return Table("identities", caption, ["statement", "pairs of values", "violations", "largest"], rows)


class Identity(NamedTuple):
    """A checked statement: the number of pairs of values, the number of violations, and the largest violation."""

    statement: str
    n_pairs: int
    n_violations: int
    largest: float


def check_identities(summary: "pd.DataFrame") -> list[Identity]:
    """Return the identities of same- and different-extension codes (RAMAP section 4.1 c, d, f), checked everywhere.

    Parameters
    ----------
    summary : DataFrame
        As `protocol.scores.summary.summarise` returns it; without extension codes, nothing is checked.
    """
    return [
        _checked("mAP: none = same", summary, "mAP", ("none", "same"), abs),
        _checked("mAP: none = different", summary, "mAP", ("none", "different"), abs),
        _checked("precision at a radius: none = same", summary, "precision@", ("none", "same"), abs),
        _checked("recall at a radius: none = same", summary, "recall@", ("none", "same"), abs),
        _checked("RAMAP: none >= same", summary, "RAMAP@", ("none", "same"), _shortfall),
        _checked("RAMAP: same >= different", summary, "RAMAP@", ("same", "different"), _shortfall),
    ]


def _shortfall(difference: float) -> float:
    return max(0.0, -difference)


def _checked(
    statement: str, summary: "pd.DataFrame", metric: str, pair: tuple[str, str], violation: Callable[[float], float]
) -> Identity:
    differences = list(_differences(summary[summary["metric"].str.startswith(metric)], *pair))
    violations = [violation(difference) for difference in differences]
    return Identity(
        statement, len(violations), sum(v > _TOLERANCE for v in violations), max(violations, default=float("nan"))
    )


def _differences(rows: "pd.DataFrame", left: str, right: str) -> Iterator[float]:
    """Yield the differences of the means of two extensions, which have the same length unless ``left`` is ``none``."""
    on = _PLACE if left == "none" else [*_PLACE, "extension_bits"]
    merged = rows[rows["extension"] == left].merge(rows[rows["extension"] == right], on=on)
    yield from (merged["mean_x"] - merged["mean_y"])
