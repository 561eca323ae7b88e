"""LSH and its extension codes: tables 2 and 3 of RAMAP, and the identities of its section 4.1."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.checks import counted
from protocol.report.description import PAGE, series_scales
from protocol.report.figure import ABSENT, Figure, Section, fixed
from protocol.report.results import Results
from protocol.scores.summary import PLACE, at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"none": "plain", "same": "same", "different": "different"}
_TOLERANCE = 2e-9  # results are written with nine digits, so equal values may differ by 1e-9 after rounding
_PLACE = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]
_BY_RADIUS = ("precision", "recall", "RAMAP")


def extensions_section(results: Results) -> Section | None:
    """Return RAMAP, mAP of the top K, precision and recall by radius for every extension; None without extensions."""
    if (at(results.table["radii"], **results.place)["extension"] == "none").all():
        return None
    rows = results.once(_rows, results.once(_hashers)[tuple(results.place.values())])
    here = at(rows, **results.place)
    codes = {"hasher": here["hasher"].iloc[0], "n_bits": int(here["n_bits"].iloc[0])}
    place = PAGE.text("extended", results=results, **codes)
    where = f"{place}; mean over {counted(int(here['n_runs'].max()), 'run')}"
    radii = sorted(here["radius"].unique())
    by_radius = [row for name in _BY_RADIUS for row in _by_codes(name, at(here, metric=name), radii)]
    header = ["metric", "codes", *(f"R = {radius}" for radius in radii)]
    tables = [
        _cut_table(here, radii, where),
        PAGE.table("ramap-table-3", by_radius, header=header, place=where),
        PAGE.table("identities", [check._asdict() for check in results.once(_identities)]),
    ]
    return PAGE.section("extensions", [PAGE.text("extensions")], [_figure(results, rows, codes, place)], tables)


def _figure(results: Results, rows: Any, codes: dict[str, Any], place: str) -> Figure:
    radius = min(2, codes["n_bits"])
    means = at(results.summary, **results.place, **codes, metric="mAP")["mean"]
    curves = results.once(_curves, codes["hasher"])
    return PAGE.figure(
        "extensions-by-radius",
        curves,
        {"metric": "RAMAP"} | results.place,
        chart=series_scales(curves["codes"], columns=1, labelLimit=400),
        radius=radius,
        values=at(rows, **results.place, metric="RAMAP", radius=radius).set_index("codes")["value"].to_dict(),
        differ=means.max() - means.min() if len(means) else None,
        place=place,
    )


def _shown(results: Results) -> Any:
    """Return the values of extended codes in the order of the extensions."""
    table = results.table["radii"]
    rows = table[table["metric"].isin(_BY_RADIUS) | table["metric"].str.startswith("mAP@")]
    s = rows["extension_bits"].map(lambda bits: f" +{bits}" if bits else "")
    rows = rows.assign(codes=rows["extension"].map(_NAMES) + s, rank=rows["extension"].map(list(_NAMES).index))
    return rows.sort_values(["rank", "extension_bits"], kind="stable")


def _hashers(results: Results) -> dict[tuple[str, ...], str]:
    """Return the hasher whose extended codes each place has."""
    rows = results.once(_shown)
    return {place: str(own.iloc[0]) for place, own in rows.groupby([*PLACE], sort=False)["hasher"]}


def _rows(results: Results, hasher: str) -> Any:
    columns = ["metric", "feature", "ground_truth", "split", "hasher", "n_bits", "codes", "radius", "value", "n_runs"]
    return results.ordered(at(results.once(_shown), hasher=hasher)[columns])


def _curves(results: Results, hasher: str) -> Any:
    """Return the values by radius of a hasher's codes; equal ones are under one name, such as ``plain = same +1``."""
    import pandas as pd

    rows = results.once(_rows, hasher)
    rows = rows[rows["metric"].isin(_BY_RADIUS)]
    parts = []
    for _, own in rows.groupby(["metric", "feature", "ground_truth", "split"], sort=False):
        wide = own.pivot_table(index="codes", columns="radius", values="value", sort=False).round(9)
        names: dict[tuple[float, ...], list[str]] = {}
        for codes, *values in wide.itertuples(name=None):
            same = next((key for key in names if _equal(key, tuple(values))), tuple(values))
            names.setdefault(same, []).append(codes)
        first = {codes[0]: " = ".join(codes) for codes in names.values()}
        parts.append(own[own["codes"].isin(first)].assign(codes=own["codes"].map(first)))
    return pd.concat(parts, ignore_index=True).drop(columns=["hasher", "n_bits", "n_runs"])


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether two curves have the same values at all radii that both have."""
    return all(a == b or a != a or b != b for a, b in zip(one, other, strict=True))


def _cut_table(here: Any, radii: list[int], where: str) -> Table:
    """Return RAMAP's table 2: mAP of the top K and RAMAP at R."""
    cut = here[here["metric"].str.startswith("mAP@")]
    cutoff = {row.radius: row.metric.removeprefix("mAP@").removesuffix("[retrieved]") for row in cut.itertuples()}
    header = ["metric", "codes", *(f"{cutoff.get(radius, ABSENT)} / {radius}" for radius in radii)]
    rows = _by_codes("mAP@K", cut, radii) + _by_codes("RAMAP@R", at(here, metric="RAMAP"), radii)
    return PAGE.table("ramap-table-2", rows, header=header, place=where)


def _by_codes(name: str, rows: Any, radii: list[int]) -> list[list[str]]:
    wide = rows.pivot_table(index="codes", columns="radius", values="value", sort=False)
    wide = wide.reindex(columns=radii)
    return [
        [name, codes, *(ABSENT if value != value else fixed(value, 4) for value in values)]
        for codes, *values in wide.itertuples(name=None)
    ]


class Identity(NamedTuple):
    """A checked statement: the number of pairs of values, the number of violations, and the largest violation."""

    statement: str
    n_pairs: int
    n_violations: int
    largest: float


def _identities(results: Results) -> list[Identity]:
    return check_identities(results.summary)


def check_identities(summary: "pd.DataFrame") -> list[Identity]:
    """Return the identities of same- and different-extension codes (RAMAP section 4.1 c, d, f), checked everywhere.

    Parameters
    ----------
    summary : DataFrame
        As `protocol.scores.summary.summarise` returns it; without extension codes, nothing is checked.
    """
    return [_checked(summary, *identity) for identity in _IDENTITIES]


def _shortfall(differences: Any) -> Any:
    return (-differences).clip(lower=0)


_IDENTITIES: tuple[tuple[str, str, str, str, Callable[[Any], Any]], ...] = (
    ("mAP: plain = same", "mAP", "none", "same", abs),
    ("mAP: plain = different", "mAP", "none", "different", abs),
    ("precision at a radius: plain = same", "precision@", "none", "same", abs),
    ("recall at a radius: plain = same", "recall@", "none", "same", abs),
    ("RAMAP: plain >= same", "RAMAP@", "none", "same", _shortfall),
    ("RAMAP: same >= different", "RAMAP@", "same", "different", _shortfall),
)
"""Each statement with the beginning of the metrics' names, two extensions, and the violation for a difference."""


def _checked(
    summary: "pd.DataFrame", statement: str, metric: str, left: str, right: str, violation: Callable[[Any], Any]
) -> Identity:
    rows = summary[summary["metric"].str.startswith(metric)]
    on = _PLACE if left == "none" else [*_PLACE, "extension_bits"]  # two extensions have the same length
    pairs = at(rows, extension=left).merge(at(rows, extension=right), on=on)
    violations = violation(pairs["mean_x"] - pairs["mean_y"])
    return Identity(statement, len(pairs), int((violations > _TOLERANCE).sum()), float(violations.max()))
