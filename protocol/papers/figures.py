"""Figures and tables of the papers, drawn from our results: ``figures.yaml`` declares each, named as in its paper.

A figure has these keys:

``table``, ``where``
    A table of `FigureData`, and the values of columns that its rows must have.
``n_bits``
    The paper's code lengths; where results have none of them, all are drawn.
``columns``
    New columns, by the metric whose means they contain; rows without one of them are left out.
``series``, ``compared``, ``along``
    The column whose values have a colour each; the column of which a figure needs two values, by default the same; a
    column of which each series needs two values.
``panel``
    The title of a row's panel, in which columns are inserted.
``title``, ``chart``, ``shows``
    The title, the chart (in ``charts.yaml``), and a sentence on what is drawn.
``paper``, ``all``, ``needs``
    The paper's place; whether all plug-ins of ``where`` belong to it; and the experiment that has such rows.

There is a figure for each place and, unless there is a panel for each, code length. A table has ``methods``, by name a
hasher, which is empty if the project lacks it; ``digits``; and ``blocks`` of columns: a title, the values of columns
(``where``), code lengths, and the claims with the printed values. Each method has the paper's row and ours.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from protocol.checks import counted, need
from protocol.papers.claims import printed
from protocol.papers.figure_data import PLACE, FigureData
from protocol.papers.results import having
from protocol.report.drawing import file_name
from protocol.report.figure import ABSENT, Figure, Section, listed, vega
from protocol.report.results import Results
from protocol.scores.tables import Table
from protocol.styles import COLOURS, MARKERS

if TYPE_CHECKING:
    import pandas as pd

_Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A figure or table of a paper from our results.

    Parameters
    ----------
    figures : sequence of Figure
        One for each place and code length.
    tables : sequence of Table
    missing : str
        The results that the paper's figure shows and that are missing, as a phrase; "" if none is missing.
    """

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    missing: str = ""


def _figures(name: str, entry: _Entry, data: FigureData) -> Drawn:
    """Return the figures of a declaration, and the plug-ins that are missing at the paper's place."""
    rows = having(getattr(data, entry["table"]), **entry["where"])
    if "columns" in entry:
        keys = [column for column in rows if column not in ("metric", "mean", "std")]
        rows = rows.assign(metric=rows["metric"].map(entry["columns"])).pivot_table(
            index=keys, columns="metric", values="mean"
        )
        rows = rows.reindex(columns=[*entry["columns"].values()]).dropna().reset_index()
    paper = set(rows["n_bits"]) & set(entry.get("n_bits", ()))
    rows = rows[rows["n_bits"].isin(paper or set(rows["n_bits"]))]
    figures, best = [], set[str]()
    for place, own in _by_place(rows, [] if "{n_bits}" in entry.get("panel", "") else ["n_bits"]):
        own = _complete(_arranged(own, entry), entry)
        if len(set(own[entry.get("compared", entry["series"])])) > 1:
            figures.append(_figure(name, entry, place, own))
            found = set(own["plugin"]) if entry["paper"].items() <= place.items() else set()
            best = max(best, found, key=len)
    absent = [plugin for plugin in entry["where"].get("plugin", ()) if plugin not in best]
    is_missing = absent if entry.get("all", True) else not best
    missing = f"{listed(absent)} on {', '.join(entry['paper'].values())}: {entry['needs']}" if is_missing else ""
    return Drawn(figures, missing=missing)


def _by_place(rows: "pd.DataFrame", more: list[str]) -> "Iterator[tuple[dict[str, Any], pd.DataFrame]]":
    names = [*PLACE, *more]
    for values, own in rows.groupby(names, sort=False):
        yield dict(zip(names, values, strict=True)), own


def _arranged(rows: "pd.DataFrame", entry: _Entry) -> "pd.DataFrame":
    """Return rows with the columns that charts and panels use, in the order of the plug-ins and of the hashers."""
    plugins = entry["where"].get("plugin") or list(dict.fromkeys(rows["plugin"]))
    numbers = [tuple(map(int, re.findall(r"\d+", hasher))) for hasher in rows["hasher"]]
    rows = rows.assign(place=rows["plugin"].map(plugins.index), numbers=numbers)
    if "code" in rows:
        used = rows.groupby("hasher")["code"].transform("nunique")
        rows = rows.assign(used=used, codes=2 ** rows["n_bits"])
    if "growth" in rows:
        training = ["fixed" if row.growth == 1 else f"growing from {row.alpha:g}" for row in rows.itertuples()]
        rows = rows.assign(last=rows["alpha"] * rows["growth"], training=training)
        rows = rows.sort_values(["growth", "last"], kind="stable")
    along = [column for column in ("radius",) if column in rows]
    rows = rows.sort_values(["n_bits", "place", "numbers", *along], kind="stable", ignore_index=True)
    names = {"empty": "share of the queries with empty bins", "milliseconds": "time of a query in milliseconds"}
    titles = [{**row, "title": names.get(row.get("metric"), row.get("metric"))} for row in rows.to_dict("records")]
    return rows.assign(panel=[entry.get("panel", "").format(**row) for row in titles])


def _complete(rows: "pd.DataFrame", entry: _Entry) -> "pd.DataFrame":
    """Return the rows of the series that have every panel's metric and two values of the column ``along``."""
    if "along" not in entry or rows.empty:
        return rows
    values = rows.pivot_table(entry["along"], entry["series"], "metric", "nunique", fill_value=0)
    metrics = [name for name in entry["where"].get("metric", ()) if name in values]
    whole = len(metrics) == len(entry["where"].get("metric", ())) and (values[metrics] > 1).all(axis=1)
    return rows[rows[entry["series"]].isin(values.index[whole] if len(metrics) else ())]


def _figure(name: str, entry: _Entry, place: Mapping[str, Any], rows: "pd.DataFrame") -> Figure:
    series = list(dict.fromkeys(rows[entry["series"]]))
    n_bits = place.get("n_bits")
    values = {"panels": list(dict.fromkeys(rows["panel"])), "methods": series, "codes": 2 ** (n_bits or 0)}
    values |= {column: sorted(set(rows[column])) for column in ("radius", "last") if column in rows}
    values |= {part: {"domain": series, "range": _cycled(of, len(series))} for part, of in _STYLES.items()}
    chart = vega(_described()["charts"][entry["chart"]], values)
    title = [entry["title"], *([f"{n_bits} bits"] if n_bits else []), place["dataset"], place["feature"]]
    n_runs = int(rows["n_runs"].max())
    others = [f"{place[key]} in place of {value}" for key, value in entry["paper"].items() if place[key] != value]
    where = [place[key] for key in ("dataset", "feature", "ground_truth") if place[key]]
    where += [f"{place['split']} split"] if place["split"] else []
    shows = f"{entry['shows']} {', '.join([*where, place['experiment']])}; {counted(n_runs, 'run')}."
    shows += f" A substitute: {listed(others)}." if others else ""
    shown = [column for column in rows if column not in (*PLACE, "hasher", "plugin", "place", "numbers", "used")]
    return Figure(
        file_name(name, *filter(None, place.values())), ", ".join(filter(None, title)), shows, chart, rows[shown]
    )


_STYLES = {"colour": COLOURS, "shape": MARKERS}


def _cycled(values: Sequence[str], number: int) -> list[str]:
    return [values[i % len(values)] for i in range(number)]


def _tables(name: str, entry: _Entry, data: FigureData) -> Drawn:
    """Return a table with those blocks for which we have a method of the paper, and the blocks that are missing."""
    blocks = [(block, _of_block(block, entry, data)) for block in entry["blocks"]]
    missing = [block["title"] for block, rows in blocks if rows.empty]
    needs = f"{listed(missing)}: {entry['needs']}" if missing else ""
    blocks = [(block, rows) for block, rows in blocks if len(rows)]
    if not blocks:
        return Drawn(missing=needs)
    lines: dict[tuple[str, str], list[float | None]] = {}
    n_columns = sum(len(block["n_bits"]) for block, _ in blocks)
    across = 0
    for block, rows in blocks:
        for i, n_bits in enumerate(block["n_bits"]):
            of_length = having(rows, n_bits=n_bits)
            values = {(row.name, row.source): row.mean for row in of_length.itertuples()}
            for method in entry["methods"]:
                values[method, "printed"] = _printed(block, method, i, n_bits)
            for key, value in values.items():
                lines.setdefault(key, [None] * n_columns)[across] = value
            across += 1
    order = [*entry["methods"]]
    kept = [(key, values) for key, values in lines.items() if set(values) != {None}]
    kept.sort(key=lambda line: (order.index(line[0][0]), line[0][1] != "printed"))
    metrics = sorted(set().union(*(rows["metric"] for _, rows in blocks)))
    header = ["method", "source", *(f"{n_bits} bits" for block, _ in blocks for n_bits in block["n_bits"])]
    table = Table(
        file_name(name),
        f"{entry['caption']} Metric: {listed(metrics)}. Bold: the best of each source.",
        header,
        [[*key, *(ABSENT if one is None else f"{one:.{entry['digits']}f}" for one in values)] for key, values in kept],
        n_labels=2,
        strong=_best(kept),
        groups=[[("", 2), *((block["title"], len(block["n_bits"])) for block, _ in blocks)]],
    )
    return Drawn(tables=[table], missing=needs)


def _of_block(block: _Entry, entry: _Entry, data: FigureData) -> "pd.DataFrame":
    """Return our rows of a block's methods with ``name`` and ``source``; of several metrics the first that has rows."""
    plugins = {plugin: method for method, plugin in entry["methods"].items() if plugin}
    where = {"ground_truth": "class_label", **block["where"], "n_bits": block["n_bits"], "plugin": [*plugins]}
    rows = having(data.summary.dropna(subset="mean"), **where)
    there = [metric for metric in block["where"]["metric"] if metric in set(rows["metric"])]
    rows = having(rows, metric=there[:1])
    variants = [row.hasher.removeprefix(row.plugin).strip("_") for row in rows.itertuples()]
    splits = "" if "split" in block["where"] else ", " + rows["split"]
    source = rows["experiment"] + ": " + rows["feature"] + splits + [f", {name}" if name else "" for name in variants]
    return rows.assign(name=rows["plugin"].map(plugins), source=source)


def _printed(block: _Entry, method: str, place: int, n_bits: int) -> float | None:
    """Return the value that a paper prints: the expected value of a claim, which may be a list by code length."""
    claim = block["claim"] if isinstance(block["claim"], str) else block["claim"][method]
    value = printed()[claim].get(block["printed"].format(method=method, n_bits=n_bits))
    return value[place] if isinstance(value, list) else value


def _best(lines: Sequence[tuple[tuple[str, str], list[float | None]]]) -> frozenset[tuple[int, int]]:
    """Return the places of the largest value of each source and column that has two values or more."""
    values: dict[tuple[str, int], dict[int, float]] = {}
    for down, ((_, source), numbers) in enumerate(lines):
        for across, number in enumerate(numbers):
            if number is not None:
                values.setdefault((source, across), {})[down] = number
    several = {key: own for key, own in values.items() if len(own) > 1}
    return frozenset(
        (down, key[1] + 2) for key, own in several.items() for down in own if own[down] == max(own.values())
    )


@functools.cache
def _described() -> dict[str, Any]:
    """Return the content of ``figures.yaml`` and ``charts.yaml``."""
    yaml, files = need("yaml", "report"), [Path(__file__).with_name(f"{name}.yaml") for name in ("figures", "charts")]
    return {key: value for file in files for key, value in yaml.safe_load(file.read_bytes()).items()}


DRAWINGS: Mapping[str, Callable[[FigureData], Drawn]] = MappingProxyType(
    {
        name: functools.partial(_tables if "blocks" in entry else _figures, name, entry)
        for name, entry in _described()["figures"].items()
    }
)
"""The functions that draw each figure and table, by its name."""

_OWN_HASHERS = {"ramap": {"m_dsh"}, "mlgap": {"buffer_zone"}, "talr": {"talr_ap", "talr_ndcg"}, "thesis": {"grh"}}
"""By paper, the hashers that only an experiment about the paper has: its report draws the paper's figures."""


def section(results: Results) -> Section | None:
    """Return figures and tables of the papers whose hashers a reproduction has; None where there are none."""
    if not results.config["reproduction"]:
        return None
    data = FigureData.of_experiment(results)
    papers = [paper for paper, hashers in _OWN_HASHERS.items() if hashers & set(data.summary["plugin"])]
    drawn = [function(data) for name, function in DRAWINGS.items() if name.split("_")[0] in papers]
    figures = [figure for one in drawn for figure in one.figures]
    tables = [table for one in drawn for table in one.tables]
    if not figures and not tables:
        return None
    text = (
        "Figures and tables of the papers, drawn from the results of this experiment. The command `protocol papers "
        "figures` draws figures from several experiments, and lists missing results."
    )
    return Section("figures-of-papers", "Figures of the papers", [text], figures, tables)
