"""Table 1 and figures 1 and 8 of *Mean Local Group Average Precision*: objectives, and histograms of codes."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from protocol.papers import layout
from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.results import having
from protocol.papers.statements import expected
from protocol.report.figure import Figure, listed
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_EQUATIONS = {"deep_supervised": "16", "buffer_zone": "20 & 25"}
_CLAIMS = {"deep_supervised": "S0-10", "buffer_zone": "S0-11"}
_DATASETS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
_LENGTHS = (12, 24)
_LONGEST = 12
_NARROW = 180


def objectives(data: FigureData, *, name: str) -> Drawn:
    """Return mLGAP and mAP of both objectives, ours next to the printed values: a table for each radius of mLGAP."""
    rows = data.rows(plugin=[*_EQUATIONS], extension="none", ground_truth="class_label")
    rows = rows[rows["mean"].notna()]
    paper = having(rows, dataset=[*_DATASETS], n_bits=_LENGTHS)
    tables = list(_tables(name, paper, [*_DATASETS], _LENGTHS))
    for dataset, others in rows[~rows["dataset"].isin(_DATASETS)].groupby("dataset", sort=False):
        lengths = layout.chosen_lengths(others["n_bits"], _LENGTHS)
        tables += _tables(f"{name}_{dataset}", having(others, n_bits=lengths), [str(dataset)], lengths)
    scored = having(paper, metric="mAP")
    there = set(zip(scored["plugin"], scored["dataset"], scored["n_bits"], strict=True))
    words = [
        f"{plugin} on {dataset} at {n_bits} bits"
        for plugin, dataset, n_bits in itertools.product(_EQUATIONS, _DATASETS, _LENGTHS)
        if (plugin, dataset, n_bits) not in there
    ]
    missing = f"{listed(words)}: workflow/config/cifar10_mlgap.yaml, cifar100_mlgap.yaml" if words else ""
    return Drawn(tables=tables, missing=missing)


def _tables(name: str, rows: "pd.DataFrame", datasets: Sequence[str], lengths: Sequence[int]) -> Iterator[Table]:
    """Yield the table for each radius of mLGAP that was evaluated; with the printed values if the data are theirs."""
    titles = [_DATASETS.get(dataset, dataset) for dataset in datasets]
    for radius in range(3):
        metrics = (f"mLGAP@r{radius}", "mAP")
        scored = having(rows, metric=metrics)
        if not layout.several(scored["metric"]):
            continue
        columns = list(itertools.product(datasets, lengths, metrics))
        caption = layout.sentences(
            "mLGAP, table 1: mLGAP and mAP of deep supervised hashing with the original objective (eq. 16) and with "
            "buffer zones (eq. 20 for CIFAR-10, eq. 25 for CIFAR-100).",
            f"Ours: mLGAP up to radius {radius}, an empty ball counts 0; the paper states neither. Our networks are "
            "those of the experiments that are named; features or epochs other than the paper's are substitutes."
            if datasets == [*_DATASETS]
            else f"mLGAP up to radius {radius}, an empty ball counts 0. A substitute: {listed(titles)} in place of "
            "CIFAR-10 and CIFAR-100.",
        )
        groups = [
            [("", 2), *((title, len(lengths) * len(metrics)) for title in titles)],
            [("", 2), *[(f"{n_bits} bits", len(metrics)) for n_bits in lengths] * len(datasets)],
        ]
        header = ["objective", "networks", *("mLGAP", "mAP") * (len(columns) // 2)]
        lines = list(_lines(scored, columns))
        yield Table(f"{name}_r{radius}".replace("_", "-"), caption, header, lines, n_labels=2, groups=groups)


def _lines(rows: "pd.DataFrame", columns: Sequence[Any]) -> Iterator[list[str]]:
    """Yield the rows of a table: for each objective, the printed values of the paper's columns, and ours by source."""
    is_paper = {dataset for dataset, _, _ in columns} == {*_DATASETS}
    for plugin, equation in _EQUATIONS.items():
        printed = expected("mlgap", _CLAIMS[plugin])
        names = [f"{_DATASETS.get(name)}, {n_bits} bits: {metric.split('@')[0]}" for name, n_bits, metric in columns]
        values = [(layout.PRINTED, list(map(printed.get, names)))] if is_paper else []
        for source, ours in _sources(having(rows, plugin=plugin)):
            means = ours.drop_duplicates(["dataset", "n_bits", "metric"]).set_index(["dataset", "n_bits", "metric"])
            values.append((source, list(map(means["mean"].to_dict().get, columns))))
        for source, numbers in values:
            yield [f"eq. {equation}", source, *(layout.cell(number, 4) for number in numbers)]


def _sources(rows: "pd.DataFrame") -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the rows of each method of each experiment and feature, of each split if a dataset has layout.several."""
    keys = ["experiment", "feature", "hasher", "plugin"]
    for (experiment, feature, hasher, plugin), of_method in rows.groupby(keys, sort=False):
        one_split = of_method.groupby("dataset")["split"].nunique().max() == 1
        for part in [of_method] if one_split else [part for _, part in of_method.groupby("split", sort=False)]:
            words = [feature, layout.variant_of(hasher, plugin), *part["split"].unique()]
            yield f"{experiment}: {', '.join(filter(None, words))}", part


def code_histograms(
    data: FigureData,
    *,
    name: str,
    number: int,
    hashers: Mapping[str, str],
    config: str,
    columns: int,
    paper: Mapping[str, str],
) -> Drawn:
    """Return how many items of the database have each 12-bit code, a panel for each hasher with its name.

    A hasher with an empty name has that of `layout.printed_name`. `paper` is the paper's place.
    """
    names = {plugin: words or layout.printed_name(plugin, plugin) for plugin, words in hashers.items()}
    rows = having(data.histogram, plugin=[*names])
    rows = having(rows, n_bits=layout.chosen_lengths(rows["n_bits"], [_LONGEST]))
    drawn = [(place, own) for place, own in layout.by_place(rows, "n_bits") if layout.several(own["plugin"])]
    papers = [own["plugin"] for place, own in drawn if (place["dataset"], place["n_bits"]) == ("cifar10", _LONGEST)]
    absent = min((layout.lacking(names, found) for found in papers), key=len, default=[*names])
    missing = (
        f"codes of {_LONGEST} bits of {listed(absent)} on cifar10: workflow/config/{config} "
        "(files examples/SPLIT/histogram.csv)"
        if absent
        else ""
    )
    title = f"mLGAP, figure {number}"
    figures = [_histogram(name, title, place, own, names, columns, paper) for place, own in drawn]
    return Drawn(figures, missing=missing)


def _histogram(
    name: str,
    title: str,
    place: dict[str, Any],
    rows: "pd.DataFrame",
    names: Mapping[str, str],
    columns: int,
    paper: Mapping[str, str],
) -> Figure:
    n_bits = place["n_bits"]
    n_codes = 2**n_bits
    pairs = zip(rows["hasher"], rows["plugin"], strict=True)
    rows = rows.assign(objective=[f"{names[pair[1]]} {layout.variant_of(*pair)}".strip() for pair in pairs])
    rows = rows.assign(order=rows["plugin"].map([*names].index)).sort_values("order", kind="stable")
    used = rows.groupby("objective", sort=False)["code"].nunique()
    panels = {name: f"{name}: {n:,} of {n_codes:,} codes ({n / n_codes:.1%})" for name, n in used.items()}
    rows = rows.assign(panel=rows["objective"].map(panels))[["panel", "objective", "n_bits", "code", "items"]]
    fullest = rows.loc[rows["items"].idxmax()]
    chart = layout.chart(
        "code-histograms",
        panels=list(panels.values()),
        columns=columns,
        width="container" if columns == 1 else _NARROW,
        title=f"code, as a number from 0 to {n_codes - 1:,}",
        domain=[0, n_codes],
        ticks=8 // columns,
    )
    shows = layout.sentences(
        f"Codes in use, of {n_codes:,}: {listed([f'{n / n_codes:.1%} ({name})' for name, n in used.items()])}; the "
        f"fullest bucket ({fullest['objective']}) has {fullest['items']:,} items "
        f"({layout.where(place)}, run 0).",
        layout.substitute(place, **paper),
    )
    title += f": items of the database with each {n_bits}-bit code (square-root scale)"
    title += f", {place['dataset']}, {place['feature']}"
    return Figure(layout.file_name(name, place, n_bits), title, shows, chart, rows)
