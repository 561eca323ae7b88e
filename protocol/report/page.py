"""The page: one HTML file that opens offline, with what was run, how, and what came out."""

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.report.choices import choices
from protocol.report.contact_sheet import contact_sheet
from protocol.report.figures import by_length, extensions, tie_range
from protocol.report.identities import check_identities
from protocol.report.layout import class_balance, layout
from protocol.storage import grouped

if TYPE_CHECKING:
    import pandas as pd

_MISSING = "n/a"


def page(
    *,
    setting: Mapping[str, Any],
    passport: Mapping[str, Any],
    items: Mapping[str, NDArray],
    images: Any,
    summary: "pd.DataFrame",
    findings: "pd.DataFrame",
    selection: "pd.DataFrame | None",
    splits: Mapping[str, Mapping[str, NDArray]],
    published: Iterable[str | Path],
) -> str:
    """Return the report of one setting as HTML.

    Parameters
    ----------
    setting : mapping
        The checked setting, every default filled in.
    passport : mapping
        Of the dataset's file: versions, sources, notes, and the shapes of its arrays.
    items : mapping of str to ndarray
        ``ids`` and ``class_names``, and ``labels`` and ``partitions/<name>`` where the dataset has them.
    images : array of uint8, shape (n, height, width) or (n, height, width, 3), or None
        The dataset's images; only those that are shown are read.
    summary : DataFrame
        As `protocol.report.summarise` makes it.
    findings : DataFrame
        As `protocol.audit.write_findings` writes it.
    selection : DataFrame or None
        As `protocol.selection.write_table` writes it; None where nothing was searched.
    splits : mapping of str to mapping
        Partitions of a run of each split protocol, by file.
    published : iterable of paths
        CSV tables with published figures.
    """
    import jinja2
    import pandas as pd
    import vl_convert

    tables = pd.concat([pd.read_csv(path) for path in published], ignore_index=True)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["cell"] = _cell
    figures: dict[str, Any] = {}
    class_names = [name.decode() for name in items["class_names"]]

    def options(kind: str, name: str) -> dict[str, Any]:
        if kind == "feature":
            return setting["features"][name]["options"]
        grid = setting.get(f"{kind}_grids", {}).get(name, {})
        searched = {option: f"chosen from {', '.join(map(str, values))}" for option, values in grid.items()}
        return setting.get(f"{kind}_options", {}).get(name, {}) | searched

    sections = [_section(key, rows, setting, figures) for key, rows in _grouped(summary, setting)]
    pictures = _pictures(splits, items, class_names, figures)
    return environment.get_template("page.html.j2").render(
        setting=setting,
        passport=passport,
        n_items=len(items["ids"]),
        class_names=class_names,
        partitions=grouped(items).get("partitions", {}),
        sheet=None if images is None else contact_sheet(images, items.get("labels"), class_names),
        sections=sections,
        pictures=pictures,
        figures=figures,
        metrics=[registry.entry("metric", name) for name in setting["metrics"]],
        plugins={kind: [registry.entry(kind, name) for name in names] for kind, names in _used(summary).items()},
        identities=check_identities(summary),
        findings=_findings(findings),
        choices=[] if selection is None else choices(selection),
        sizes=_sizes(splits),
        published=_beside(summary, tables).to_dict("records"),
        options=options,
        vega=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
    )


def _grouped(summary: "pd.DataFrame", setting: Mapping[str, Any]) -> Any:
    """Return the rows of each feature and ground truth, everything in the order of the setting."""
    orders = {"feature": list(setting["features"])}
    for name, key in (("ground_truth", "ground_truths"), ("split", "splits"), ("hasher", "hashers")):
        own = [feature.get(key, []) for feature in setting["features"].values()]
        orders[name] = list(dict.fromkeys(itertools.chain(setting[key], *own)))
    ranks = summary.assign(**{name: summary[name].map(order.index) for name, order in orders.items()})
    ordered = summary.loc[ranks.sort_values([*orders, "n_bits"], kind="stable").index]
    return ordered.groupby(["feature", "ground_truth"], sort=False)


def _section(key: Any, rows: "pd.DataFrame", setting: Mapping[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    feature, truth = key
    lengths = sorted(rows["n_bits"].unique())
    middle, name = lengths[len(lengths) // 2], f"{feature}-{truth}"
    drawn = {}
    if "mAP" in setting["metrics"]:
        drawn["mAP against code length; bars are one standard deviation over runs."] = by_length(rows, "mAP")
    if {"mAP", "mAP[best]", "mAP[worst]"} <= set(setting["metrics"]):
        drawn["What the order of ties alone can do to mAP."] = tie_range(rows, middle)
    radius_aware = [metric for metric in setting["metrics"] if metric.startswith("RAMAP")]
    if radius_aware and len(rows["extension"].unique()) > 1:
        drawn["Redundant bits: mAP does not see them, RAMAP does."] = extensions(rows, radius_aware[-1], middle)
    captions = {f"{name}-{i}": caption for i, caption in enumerate(drawn)}
    figures |= dict(zip(captions, drawn.values(), strict=True))
    return {
        "feature": feature,
        "truth": truth,
        "figures": captions,
        "tables": {metric: _table(rows[rows["metric"] == metric]) for metric in setting["metrics"]},
        "lengths": lengths,
        "n_runs": int(rows["n_runs"].max()),
        "reduced": [key for key in setting["features"][feature] if key not in ("options", "preprocessing")],
    }


def _table(rows: "pd.DataFrame") -> dict[str, dict[str, list[Any]]]:
    """Return {split: {hasher: [(mean, std) of each length]}} of the plain codes."""
    plain = rows[rows["extension"] == "none"]
    return {
        split: {
            hasher: [(row.mean, row.std) for row in own.sort_values("n_bits")[["mean", "std"]].itertuples(index=False)]
            for hasher, own in of_split.groupby("hasher", sort=False)
        }
        for split, of_split in plain.groupby("split", sort=False)
    }


def _cell(pair: tuple[float, float]) -> str:
    mean, std = pair
    if np.isnan(mean):
        return _MISSING
    return f"{mean:.4f}" if np.isnan(std) else f"{mean:.4f} ± {std:.4f}"


def _used(summary: "pd.DataFrame") -> dict[str, list[str]]:
    columns = {"feature": "feature", "ground_truth": "ground_truth", "split": "split", "hasher": "hasher"}
    return {kind: sorted(summary[column].unique()) for kind, column in columns.items()}


def _pictures(
    splits: Mapping[str, Mapping[str, NDArray]],
    items: Mapping[str, NDArray],
    class_names: list[str],
    figures: dict[str, Any],
) -> dict[str, str]:
    """Add the pictures of every split to the figures; return what each shows, in words, by its name there."""
    of_split = {_name(path): parts for path, parts in splits.items()}
    charts = {f"layout-{name}": chart for name, chart in layout(of_split, len(items["ids"])).items()}
    if "labels" in items:
        balances = class_balance(of_split, items["labels"], class_names)
        charts |= {f"balance-{name}": chart for name, chart in balances.items()}
    drawn = {name: chart.to_dict() for name, chart in charts.items()}
    figures |= drawn
    return {name: spec["description"] for name, spec in drawn.items()}


def _name(path: str) -> str:
    """Return the protocol of a split from where it lies."""
    return Path(path).parents[1].name


def _sizes(splits: Mapping[str, Mapping[str, NDArray]]) -> dict[str, dict[str, int]]:
    return {_name(path): {name: len(part) for name, part in parts.items()} for path, parts in splits.items()}


def _findings(findings: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return findings of one kind as one row: in how many files, and how many items at the most."""
    groups = findings.groupby(["severity", "finding", "consequence"], sort=True)
    return groups.agg(files=("file", "size"), most=("count", "max")).reset_index().to_dict("records")


def _beside(summary: "pd.DataFrame", published: "pd.DataFrame") -> "pd.DataFrame":
    """Return the published figures whose cell was run, beside ours."""
    on = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]
    both = published.merge(summary[summary["extension"] == "none"], on=on)
    return both.assign(difference=both["mean"] - both["value"])
