"""Tables 1 to 3 and figure 3 of *Hashing as Tie-Aware Learning to Rank*, and scores by alpha, the slope of tanh."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from protocol.checks import counted
from protocol.papers import layout
from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.results import having
from protocol.papers.statements import expected
from protocol.report.figure import Figure, listed, number
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_PLUGINS = {
    "BRE": "bre",
    "MACHash": "",
    "FastHash": "fasthash",
    "StructHash": "",
    "HashNet": "hashnet",
    "DPSH": "dpsh",
    "DTSH": "dtsh",
    "MIHash": "mihash",
    "TALR-AP": "talr_ap",
    "TALR-AP (network)": "talr_ap_network",
    "TALR-NDCG": "talr_ndcg",
    "TALR-NDCG (network)": "talr_ndcg_network",
}
"""Our hashers for the methods of the tables, in the order of the paper; the project has no MACHash and StructHash."""
_TRAINED = tuple(filter(None, _PLUGINS.values()))
_RANGE = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_ANY = f"{', '.join(_TRAINED[:-1])} or {_TRAINED[-1]}"
_DENOMINATORS = ("retrieved", "min", "all")
_ALPHA_NEEDS = (
    "a hasher of TALR with several values of alpha, such as {name: talr_ap_40, base: talr_ap, options: {alpha: 40}}; "
    "or results/reference/talr/alpha.csv"
)


_Line = tuple[str, str, Sequence[float | None]]
"""A row of a table: the method, the source, and a value for each column."""


@dataclass(frozen=True)
class _Block:
    """Columns of a table: one metric on one split by code length.

    Parameters
    ----------
    title : str
    dataset, split : str
    metric : str
        With a cutoff: of any denominator, the first of `_DENOMINATORS` that was evaluated.
    lengths : sequence of int
    claim : str
        The claim that expects the printed values.
    prefix : str
        What precedes the method in the names of the claim's values.
    ground_truth : str
    """

    title: str
    dataset: str
    split: str
    metric: str
    lengths: Sequence[int]
    claim: str = ""
    prefix: str = ""
    ground_truth: str = "class_label"


def scores(
    data: FigureData,
    *,
    name: str,
    parts: Mapping[str, Sequence[Mapping[str, Any]]],
    metric: str,
    caption: str,
    digits: int,
) -> Drawn:
    """Return the paper's tables where we have a method of the paper, then the same columns for other data."""
    tables, missing, places = [], [], set()
    for part, declared in parts.items():
        blocks = [_Block(**block) for block in declared]
        ours = [block for block in blocks if _has_method(_of_block(data, block))]
        missing += [f"{block.title} ({block.dataset}, {block.split})" for block in blocks if block not in ours]
        places |= {(block.dataset, block.split) for block in blocks}
        if ours:
            tables.append(_table(part, data, ours, caption, digits))
    rows = data.rows(plugin=_TRAINED, extension="none", ground_truth="class_label")
    rows = rows[rows["metric"].map(_without_denominator) == metric]
    for (dataset, split), own in rows.groupby(["dataset", "split"], sort=False):
        if (dataset, split) not in places:
            lengths = sorted(own["n_bits"].unique())
            block = _Block(f"{dataset}, {split} split ({metric})", dataset, split, metric, lengths)
            words = f"{caption.split('.')[0]}. A substitute: {dataset} in place of the paper's data."
            tables.append(_table(f"{name}_{dataset}_{split}", data, [block], words, digits))
    found = f"{metric} of {_ANY} on {listed(missing)}" if missing else ""
    return Drawn(tables=tables, missing=found)


def _without_denominator(metric: str) -> str:
    return metric.split("[")[0] if "@" in metric else metric


def _has_method(rows: "pd.DataFrame") -> bool:
    return bool(rows["plugin"].isin(_TRAINED).any())


def _of_block(data: FigureData, block: _Block) -> "pd.DataFrame":
    """Return the rows of a block, of one denominator: of the experiments and features with a method of the paper."""
    rows = data.rows(
        dataset=block.dataset,
        split=block.split,
        n_bits=block.lengths,
        extension="none",
        ground_truth=block.ground_truth,
    )
    names = [block.metric, *(f"{block.metric}[{denominator}]" for denominator in _DENOMINATORS)]
    there = [name for name in names if name in set(rows["metric"])]
    rows = having(rows[rows["mean"].notna()], metric=there[:1])
    return rows.groupby(["experiment", "feature"], sort=False).filter(_has_method)


def _table(name: str, data: FigureData, blocks: Sequence[_Block], caption: str, digits: int) -> Table:
    """Return a table: the methods that the paper lacks, then those of the paper, each as printed and then ours."""
    ours = {block.title: _of_block(data, block) for block in blocks}
    lines = list(_lines(ours, blocks, lambda plugin: plugin not in _TRAINED))
    for method, plugin in _PLUGINS.items():
        values = list(itertools.chain.from_iterable(_printed(block, method) for block in blocks))
        lines += [(method, layout.PRINTED, values)] if set(values) != {None} else []
        lines += _lines(ours, blocks, plugin.__eq__)
    metrics = sorted(set().union(*(rows["metric"] for rows in ours.values())))
    cell = partial(layout.cell, digits=digits)
    return Table(
        name.replace("_", "-"),
        layout.sentences(caption, f"Metric: {listed(metrics)}. Bold: the best of each source."),
        ["method", "source", *(f"{n_bits} bits" for block in blocks for n_bits in block.lengths)],
        [[method, source, *map(cell, values)] for method, source, values in lines],
        n_labels=2,
        strong=_best(lines),
        groups=[[("", 2), *((block.title, len(block.lengths)) for block in blocks)]],
    )


def _lines(
    ours: "Mapping[str, pd.DataFrame]", blocks: Sequence[_Block], chosen: Callable[[str], bool]
) -> Iterator[_Line]:
    """Yield the methods with a chosen plug-in: name, source, and a value for each column."""
    found: dict[tuple[str, str, str], dict[tuple[str, int], float]] = {}
    for title, rows in ours.items():
        for row in rows[rows["plugin"].map(chosen).astype(bool)].itertuples():
            key = row.hasher, row.method, f"{row.experiment}: {row.feature}"
            found.setdefault(key, {})[title, row.n_bits] = row.mean
    for (_, method, source), values in found.items():
        yield method, source, [values.get((block.title, n_bits)) for block in blocks for n_bits in block.lengths]


def _printed(block: _Block, method: str) -> Sequence[float | None]:
    printed = expected("talr", block.claim) if block.claim else {}
    values: Sequence[float | None] = printed.get(f"{block.prefix}{method}", [None] * len(block.lengths))
    return values


def _best(lines: Sequence[_Line]) -> frozenset[tuple[int, int]]:
    """Return the places of the largest value of each source and column that has two values or more."""
    strong = set()
    for source in {source for _, source, _ in lines}:
        own = {down: values for down, (_, name, values) in enumerate(lines) if name == source}
        for across in range(len(lines[0][2])):
            values = {down: value for down, line in own.items() if (value := line[across]) is not None}
            if len(values) > 1:
                strong |= {(down, across + 2) for down, value in values.items() if value == max(values.values())}
    return frozenset(strong)


def ranges(data: FigureData, *, name: str, title: str, paper: Mapping[str, str], lengths: Sequence[int]) -> Drawn:
    """Return the range of mAP over all orders of ties by method, a panel for each code length."""
    rows = data.rows(plugin=_TRAINED, extension="none", ground_truth="class_label", metric=[*_RANGE])
    keys = [*layout.PLACE, "plugin", "method", "n_bits", "n_runs"]
    rows = rows.assign(order=rows["metric"].map(_RANGE)).pivot_table(index=keys, columns="order", values="mean")
    rows = rows.reindex(columns=[*_RANGE.values()]).dropna().reset_index()
    drawn = [(place, own) for place, own in layout.by_place(rows) if layout.several(own["plugin"])]
    found = any(paper.items() <= place.items() for place, _ in drawn)
    missing = "" if found else f"{listed([*_RANGE])} of {_ANY} on CIFAR-10, S1 ({', '.join(paper.values())})"
    figures = [_range_figure(name, title, paper, lengths, place, own) for place, own in drawn]
    return Drawn(figures, missing=missing)


def _range_figure(
    name: str, title: str, paper: Mapping[str, str], lengths: Sequence[int], place: dict[str, Any], rows: "pd.DataFrame"
) -> Figure:
    rows = having(rows, n_bits=layout.chosen_lengths(rows["n_bits"], lengths))
    rows = rows.assign(order=rows["plugin"].map(_TRAINED.index)).sort_values(["n_bits", "order"], kind="stable")
    rows = rows.assign(panel=rows["n_bits"].astype(str) + " bits")
    methods = list(dict.fromkeys(rows.sort_values("order", kind="stable")["method"]))
    chart = layout.chart("ranges", panels=list(dict.fromkeys(rows["panel"])), methods=methods)
    widths = (rows["best"] - rows["worst"]).groupby(rows["n_bits"]).mean()
    shows = layout.sentences(
        f"The mean width of the ranges is {listed([f'{number(w)} ({n} bits)' for n, w in widths.items()])}; "
        f"{layout.where(place)}, {counted(int(rows['n_runs'].max()), 'run')}.",
        "A bar extends from the worst to the best order of ties; the dot is the tie-aware mAP.",
        layout.substitute(place, **paper),
    )
    rows = rows[["panel", "method", "n_bits", *_RANGE.values(), "n_runs"]]
    title = f"{title}, {place['dataset']}, {place['feature']}"
    return Figure(layout.file_name(name, place), title, shows, chart, rows)


def by_alpha(data: FigureData, *, name: str, objectives: Mapping[str, str]) -> Drawn:
    """Return the scores of TALR's hashers by alpha, for a fixed alpha and for one that grows during training."""
    figures = []
    for plugin, metric in objectives.items():
        rows = having(data.alpha, plugin=plugin, metric=metric)
        rows = rows.assign(last=rows["alpha"] * rows["growth"], training=_training(rows))
        for place, own in layout.by_place(rows, "n_bits", "metric"):
            if layout.several(own["last"]):
                figures.append(_alpha_figure(name, place, own))
    return Drawn(figures, missing="" if figures else _ALPHA_NEEDS)


def _training(rows: "pd.DataFrame") -> list[str]:
    """Return in words how alpha changes during training, and in what else the rows differ."""
    return [("fixed" if row.growth == 1 else f"growing from {row.alpha:g}") + row.variant for row in rows.itertuples()]


def _alpha_figure(name: str, place: dict[str, Any], rows: "pd.DataFrame") -> Figure:
    series = list(dict.fromkeys(rows.sort_values("growth", kind="stable")["training"]))
    rows = rows.sort_values(["growth", "last"], kind="stable")
    rows = rows[["training", "method", "alpha", "growth", "last", "mean", "std", "n_runs"]]
    alphas = sorted(set(rows["last"]))
    chart = layout.chart("by-alpha", alphas=alphas, metric=place["metric"], **layout.series(series))
    best = rows.loc[rows["mean"].idxmax()]
    bits = f"{place['n_bits']} bits" if place["n_bits"] else "code length not recorded"
    shows = (
        f"{best['method']}: {place['metric']} is highest, {number(best['mean'])}, with alpha {best['last']:g} at the "
        f"end of training ({best['training']}); {layout.where(place)}, {bits}; {layout.runs(rows)}. "
        "The paper's alpha is 40."
    )
    name = layout.file_name(name, place, *([place["n_bits"]] if place["n_bits"] else []), place["metric"])
    return Figure(name, f"TALR: {place['metric']} by alpha, {bits}", shows, chart, rows)
