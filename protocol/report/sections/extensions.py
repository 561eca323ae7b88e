"""LSH and its extensions, in the shape of RAMAP's tables 2 and 3, and the identities of its section 4.1."""

from typing import Any

import altair as alt

from protocol.checks import counted
from protocol.report.figure import ABSENT, Figure, Section, Table, number, rows_chart, tooltips
from protocol.report.identities import check_identities
from protocol.report.results import Results

_NAMES = {"none": "plain", "same": "same", "different": "different"}


def section(results: Results) -> Section:
    """Return RAMAP, cut mAP, precision and recall by radius for every extension."""
    title = "Redundant bits: what mAP doesn't see and RAMAP does"
    if results.summary["extension"].nunique() == 1:
        return Section("extensions", title, ["Not here: the experiment evaluates the plain codes alone."])
    rows = _rows(results)
    hasher, n_bits = rows["hasher"].iloc[0], int(rows["n_bits"].iloc[0])
    figure = Figure(
        "extensions",
        f"{hasher} with {n_bits} bits and its extensions, by radius",
        _shows(results, rows, hasher, n_bits),
        _chart(rows),
        rows[rows["metric"].isin(["RAMAP", "precision", "recall"])].drop(columns=["hasher", "n_bits", "n_runs"]),
        choices={"metric": "RAMAP"} | results.place,
    )
    here = results.at(rows, **results.place)
    where = f"{hasher}, {results.where(n_bits=False)}, {n_bits} bits before extension; mean over {_runs(here)}"
    text = (
        "“same” appends s bits that are equal in queries and database, “different” s bits that differ: no ranking "
        "changes, but the cost of looking codes up does. Undefined values (an empty ball) count as configured."
    )
    tables = [_cut_table(here, where), _radius_table(here, where), _identities(results)]
    return Section("extensions", title, [text], [figure], tables)


def _rows(results: Results) -> Any:
    table = results.table["radii"]
    wanted = table["metric"].isin(["RAMAP", "precision", "recall"]) | table["metric"].str.startswith("mAP@")
    rows = table[wanted]
    s = rows["extension_bits"].map(lambda bits: f" +{bits}" if bits else "")
    rows = rows.assign(codes=rows["extension"].map(_NAMES) + s, rank=rows["extension"].map(list(_NAMES).index))
    rows = rows.sort_values(["rank", "extension_bits"], kind="stable")
    columns = ["metric", "feature", "ground_truth", "split", "hasher", "n_bits", "codes", "radius", "value", "n_runs"]
    first = results.at(rows, **results.place)[["hasher"]].iloc[0]
    return results.ordered(results.at(rows, hasher=first["hasher"])[columns])


def _runs(rows: Any) -> str:
    return counted(int(rows["n_runs"].max()), "run")


def _chart(rows: Any) -> Any:
    codes = list(dict.fromkeys(rows["codes"]))
    base = rows_chart().encode(
        x=alt.X("radius:O", title="Hamming radius R", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title="{metric} at radius R"),
        color=alt.Color(
            "codes:N",
            title="codes",
            scale=alt.Scale(domain=codes, range=["#2f7fd1", "#2e9a57", "#168f9b", "#d2660f", "#d9534a"][: len(codes)]),
        ),
        tooltip=tooltips("codes:N", "radius:O", "value:Q"),
    )
    shape = alt.Shape("codes:N", title="codes", scale=alt.Scale(domain=codes))
    points = base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
    return alt.layer(base.mark_line(), points).properties(width="container", height=280)


def _shows(results: Results, rows: Any, hasher: str, n_bits: int) -> str:
    here = results.at(rows, **results.place, metric="RAMAP", radius=min(2, n_bits)).set_index("codes")["value"]
    values = ", ".join(f"{number(value)} ({name})" for name, value in here.items())
    means = results.at(results.summary, **results.place, hasher=hasher, n_bits=n_bits, metric="mAP")["mean"]
    of_map = ""
    if len(means):
        differ = means.max() - means.min()
        of_map = "; their mAP is the same" if differ < 1e-9 else f"; their mAP differs by {number(differ)}"
    return f"RAMAP at radius {min(2, n_bits)} tells the codes apart, {values}{of_map} ({results.where(n_bits=False)})."


def _cut_table(here: Any, where: str) -> Table:
    """Return the shape of RAMAP's table 2: mAP of the top K beside RAMAP at R."""
    cut = here[here["metric"].str.startswith("mAP@")]
    radii = sorted(here["radius"].unique())
    cutoff = {row.radius: row.metric.removeprefix("mAP@").removesuffix("[retrieved]") for row in cut.itertuples()}
    header = ["metric", "codes", *(f"{cutoff.get(radius, ABSENT)} / {radius}" for radius in radii)]
    rows = _by_codes("mAP@K", cut, radii) + _by_codes("RAMAP@R", here[here["metric"] == "RAMAP"], radii)
    caption = (
        f"mAP of the top K and RAMAP at radius R, a column for each K / R ({where}). mAP: ties expected, denominator "
        "the relevant items among the top K. RAMAP: no ties; an empty ball counts as the configuration states."
    )
    return Table("ramap-table-2", caption, header, rows, n_labels=2)


def _radius_table(here: Any, where: str) -> Table:
    """Return the shape of RAMAP's table 3: precision, recall and RAMAP by radius."""
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
    caption = "What RAMAP section 4.1 c, d, f says of extension codes, on every cell; a violation is one beyond 2e-9."
    return Table("identities", caption, ["statement", "pairs of values", "violations", "largest"], rows)
