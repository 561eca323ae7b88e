"""Figures and tables of the papers, drawn from our results: ``figures.yaml`` declares each, named as in its paper.

A figure has these keys:

``table``, ``where``
    A table of `Data`, and the values of columns that its rows must have.
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

There is a figure for each setting and, unless there is a panel for each, code length. A table has ``methods``, by name
a hasher, which is empty if the project lacks it; ``digits``; and ``blocks`` of columns: a title, the values of columns
(``where``), code lengths, and the claims with the printed values. Each method has the paper's row and ours.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from protocol import registry
from protocol.checks import counted, listed
from protocol.papers.claims import printed, read
from protocol.papers.comparisons import Results
from protocol.report.drawing import file_name
from protocol.report.figure import ABSENT, Figure, cells, vega
from protocol.scores.summary import at
from protocol.scores.tables import Table, read_table
from protocol.styles import COLOURS, MARKERS

_Entry = Mapping[str, Any]

SETTING = ("experiment", "dataset", "feature", "ground_truth", "split")
"""The columns that identify the source of a value."""
_METHOD = ("hasher", "plugin", "method", "n_bits")
_SCORES = (*SETTING, *_METHOD, "metric", "mean", "std", "n_runs")
COLUMNS = {
    "summary": _SCORES,
    "radii": (*_SCORES, "radius"),
    "histogram": (*SETTING, *_METHOD, "code", "items", "n_runs"),
    "alpha": (*_SCORES, "alpha", "growth"),
}
"""The columns of each table of `Data`."""
_FILLED = {"std": float("nan"), "n_bits": 0, "n_runs": 1, **dict.fromkeys(SETTING, "")}
"""The values of columns that a stored table lacks."""
_STORED = ("alpha", "radii", "lookups", "histogram")
"""The names of the stored tables from which figures are drawn, in addition to summaries."""

_DECLARED: Any = read("figures") | read("charts")

Data = Mapping[str, pd.DataFrame]
"""Rows of results for codes without extension, each with the experiment that it comes from; by name, the tables

- ``summary``: means over the runs, as `protocol.scores.summary.summarise` returns them;
- ``radii``: the same by Hamming radius: metrics such as ``RAMAP`` of the summary, and ``mAP``, the same at all; the
  table ``radii`` of `protocol.report.examples`, and the stored table ``lookups`` as the metric ``milliseconds``;
- ``histogram``: the table ``histogram`` of `protocol.report.examples`;
- ``alpha``: scores of the hashers of TALR by ``alpha``, its first value, and ``growth``, the factor by which it grew
  until the end; only stored tables have them.

``plugin`` is the registered hasher behind the name ``hasher``, and ``method`` its name as a paper prints it.
"""


def data_of(tables: Iterable[tuple[str, pd.DataFrame]]) -> Data:
    """Return the rows of tables, given the kind and the rows of each; `_FILLED` provides missing columns."""
    parts: dict[str, list[pd.DataFrame]] = {kind: [pd.DataFrame(columns=[*COLUMNS[kind]])] for kind in COLUMNS}
    for kind, table in itertools.chain.from_iterable(itertools.starmap(_named, tables)):
        filled = {name: _FILLED[name] for name in COLUMNS[kind] if name not in table}
        parts[kind].append(table.assign(**filled)[[*COLUMNS[kind]]])
    data = {kind: pd.concat(rows[1:] or rows, ignore_index=True) for kind, rows in parts.items()}
    same = [name for name in COLUMNS["radii"] if name not in ("mean", "std", "n_runs")]
    return data | {"radii": data["radii"].drop_duplicates(same, ignore_index=True)}


def data_in(folder: str | Path) -> Data:
    """Return the rows of every experiment in a folder of results, and of the tables in its ``reference/``.

    It may also be the folder of one experiment. Tables with other columns are left out.

    Raises
    ------
    ProtocolError
        If there is no such folder, or a table in it can't be read.
    """
    rows = Results.in_folder(folder).frame()
    summary = rows.assign(experiment=[_experiment(Path(path)) for path in rows["folder"]])
    tables = [("summary", summary)]
    for path, own in summary.groupby("folder", sort=False):
        about = {name: own[name].iloc[0] for name in ("dataset", "experiment")}
        if about["experiment"].startswith("reference/"):
            continue
        for kind in ("radii", "histogram"):
            for file in sorted(Path(path).glob(f"*/examples/*/{kind}.csv")):
                table = read_table(file, required=False)
                tables.append((kind, table.assign(feature=file.parts[-4], split=file.parts[-2], **about)))
    for file in (file for file in sorted(Path(folder).glob("reference/*/*.csv")) if file.stem in _STORED):
        tables.append((file.stem, read_table(file, required=False).assign(experiment=_experiment(file.parent))))
    return data_of(tables)


def _experiment(folder: Path) -> str:
    """Return the name of the experiment in a folder; stored reference results have names such as "reference/talr"."""
    name = folder.absolute().name
    return f"reference/{name}" if folder.absolute().parent.name == "reference" else name


def plugin_of(hasher: str) -> str:
    """Return the hasher that a name in a table begins with, or the name itself.

    Examples
    --------
    >>> plugin_of("talr_ap_40"), plugin_of("m_dsh"), plugin_of("theirs")
    ('talr_ap', 'm_dsh', 'theirs')
    """
    known = [name for name in registry.names("hasher") if f"{hasher}_".startswith(f"{name}_")]
    return max(known, key=len, default=hasher)


def printed_name(hasher: str, plugin: str) -> str:
    """Return a hasher's name as papers print it, followed by what a configuration adds to the name.

    Examples
    --------
    >>> printed_name("talr_ap_40", "talr_ap"), printed_name("m_dsh_4", "m_dsh"), printed_name("mine", "mine")
    ('TALR-AP 40', '4-DSH', 'mine')
    """
    if plugin == "m_dsh" and hasher != plugin:
        return f"{hasher.removeprefix('m_dsh_')}-DSH"
    return registry.printed_name("hasher", plugin, hasher) if plugin in registry.names("hasher") else hasher


def _named(kind: str, table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table with the plug-in and the printed name of each hasher, and the rows by radius of a summary."""
    if kind == "lookups":
        table, kind = table.rename(columns={"milliseconds": "mean"}).assign(metric="milliseconds"), "radii"
    table = at(table, extension="none") if "extension" in table else table
    if table.empty:
        return
    table = table.rename(columns={"value": "mean"})
    if "plugin" not in table:
        table = table.assign(plugin=table["hasher"].map(plugin_of))
    table = table.assign(method=[printed_name(*pair) for pair in zip(table["hasher"], table["plugin"], strict=True)])
    yield kind, table
    if kind == "summary":
        names = table["metric"].str.extract(r"^(?P<metric>\w+)@r(?P<radius>\d+)$").dropna()
        by_radius = table.drop(columns="metric").join(names, how="inner").astype({"radius": int})
        codes = [*SETTING, "hasher", "n_bits"]
        whole = at(table, metric="mAP").merge(by_radius[[*codes, "radius"]].drop_duplicates(), on=codes)
        yield from (("radii", rows) for rows in (by_radius, whole) if len(rows))


@dataclass(frozen=True)
class Drawn:
    """A figure or table of a paper from our results.

    Parameters
    ----------
    figures : sequence of Figure
        One for each setting and code length.
    tables : sequence of Table
    missing : str
        The results that the paper's figure shows and that are missing, as a phrase; "" if none is missing.
    """

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    missing: str = ""


def _figures(name: str, entry: _Entry, data: Data) -> Drawn:
    """Return the figures of a declaration, and the plug-ins that are missing at the paper's place."""
    setting_columns = [*SETTING, *([] if "{n_bits}" in entry.get("panel", "") else ["n_bits"])]
    figures, best = [], set[str]()
    for values, rows in _rows(entry, data).groupby(setting_columns, sort=False):
        setting, rows = dict(zip(setting_columns, values, strict=True)), _complete(_arranged(rows, entry), entry)
        if len(set(rows[entry.get("compared", entry["series"])])) > 1:
            figures.append(_figure(name, entry, setting, rows))
            best = max(best, set(rows["plugin"]) if entry["paper"].items() <= setting.items() else set(), key=len)
    absent = [plugin for plugin in entry["where"].get("plugin", ()) if plugin not in best]
    is_missing = absent if entry.get("all", True) else not best
    missing = f"{listed(absent)} on {', '.join(entry['paper'].values())}: {entry['needs']}" if is_missing else ""
    return Drawn(figures, missing=missing)


def _rows(entry: _Entry, data: Data) -> pd.DataFrame:
    """Return the rows of a declaration, with its new columns, of the paper's code lengths if there are any."""
    rows = at(data[entry["table"]], **entry["where"])
    if "columns" in entry:
        keys = [column for column in rows if column not in ("metric", "mean", "std")]
        rows = rows.assign(metric=rows["metric"].map(entry["columns"]))
        rows = rows.pivot_table(index=keys, columns="metric", values="mean")
        rows = rows.reindex(columns=[*entry["columns"].values()]).dropna().reset_index()
    of_paper = rows["n_bits"].isin(entry.get("n_bits", ()))
    return rows[of_paper] if of_paper.any() else rows


def _arranged(rows: pd.DataFrame, entry: _Entry) -> pd.DataFrame:
    """Return rows with the columns that charts and panels use, in the order of the plug-ins and of the hashers."""
    plugins = entry["where"].get("plugin") or list(dict.fromkeys(rows["plugin"]))
    numbers = [tuple(map(int, re.findall(r"\d+", hasher))) for hasher in rows["hasher"]]
    rows = rows.assign(rank=rows["plugin"].map(plugins.index), numbers=numbers)
    if "code" in rows:
        rows = rows.assign(used=rows.groupby("hasher")["code"].transform("nunique"), codes=2 ** rows["n_bits"])
    if "growth" in rows:
        training = ["fixed" if row.growth == 1 else f"growing from {row.alpha:g}" for row in rows.itertuples()]
        rows = rows.assign(last=rows["alpha"] * rows["growth"], training=training)
        rows = rows.sort_values(["growth", "last"], kind="stable")
    order = ["n_bits", "rank", "numbers", *rows.columns.intersection(["radius"])]
    rows = rows.sort_values(order, kind="stable", ignore_index=True)
    names = {"empty": "share of the queries with empty bins", "milliseconds": "time of a query in milliseconds"}
    titles = [{**row, "title": names.get(row.get("metric"), row.get("metric"))} for row in rows.to_dict("records")]
    return rows.assign(panel=[entry.get("panel", "").format(**row) for row in titles])


def _complete(rows: pd.DataFrame, entry: _Entry) -> pd.DataFrame:
    """Return the rows of the series that have every panel's metric and two values of the column ``along``."""
    if "along" not in entry or rows.empty:
        return rows
    values = rows.pivot_table(entry["along"], entry["series"], "metric", "nunique", fill_value=0)
    is_whole = (values.reindex(columns=entry["where"]["metric"], fill_value=0) > 1).all(axis=1)
    return rows[rows[entry["series"]].isin(values.index[is_whole])]


def _figure(name: str, entry: _Entry, setting: Mapping[str, Any], rows: pd.DataFrame) -> Figure:
    series, n_bits = list(dict.fromkeys(rows[entry["series"]])), setting.get("n_bits")
    values = {"panels": list(dict.fromkeys(rows["panel"])), "methods": series, "codes": 2 ** (n_bits or 0)}
    values |= {column: sorted(set(rows[column])) for column in ("radius", "last") if column in rows}
    for part, marks in (("colour", COLOURS), ("shape", MARKERS)):
        values[part] = {"domain": series, "range": list(itertools.islice(itertools.cycle(marks), len(series)))}
    chart = vega(_DECLARED["charts"][entry["chart"]], values)
    length = f"{n_bits} bits" if n_bits else ""
    title = ", ".join(filter(None, [entry["title"], length, setting["dataset"], setting["feature"]]))
    shown = [column for column in rows if column not in (*SETTING, "hasher", "plugin", "rank", "numbers", "used")]
    name = file_name(name, *filter(None, setting.values()))
    return Figure(name, title, _sentence(entry, setting, rows), chart, rows[shown])


def _sentence(entry: _Entry, setting: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """Return what a figure shows, where, and what takes the place of the paper's data."""
    split = f"{setting['split']} split" if setting["split"] else ""
    where = (setting["dataset"], setting["feature"], setting["ground_truth"], split, setting["experiment"])
    shows = f"{entry['shows']} {', '.join(filter(None, where))}; {counted(int(rows['n_runs'].max()), 'run')}."
    others = [f"{setting[key]} in place of {value}" for key, value in entry["paper"].items() if setting[key] != value]
    return f"{shows} A substitute: {listed(others)}." if others else shows


def _tables(name: str, entry: _Entry, data: Data) -> Drawn:
    """Return a table with those blocks for which we have a method of the paper, and the blocks that are missing."""
    blocks = [(block, _of_block(block, entry, data)) for block in entry["blocks"]]
    absent = [block["title"] for block, rows in blocks if rows.empty]
    missing = f"{listed(absent)}: {entry['needs']}" if absent else ""
    blocks = [(block, rows) for block, rows in blocks if len(rows)]
    if not blocks:
        return Drawn(missing=missing)
    columns = itertools.chain.from_iterable(_columns(block, entry, rows) for block, rows in blocks)
    means, methods = pd.concat(columns, axis=1).dropna(how="all"), [*entry["methods"]]
    means = means.loc[sorted(means.index, key=lambda line: (methods.index(line[0]), line[1] != "printed"))]
    texts = means.map(lambda mean: ABSENT if pd.isna(mean) else f"{mean:.{entry['digits']}f}")
    by_source = means.groupby(level=1)
    metrics = sorted(set(pd.concat([rows for _, rows in blocks])["metric"]))
    caption = f"{entry['caption']} Metric: {listed(metrics)}. Bold: the best of each source."
    header = ["method", "source", *(f"{n_bits} bits" for block, _ in blocks for n_bits in block["n_bits"])]
    body = [[*key, *row] for key, *row in texts.itertuples()]
    strong = cells((means == by_source.transform("max")) & (by_source.transform("count") > 1), n_labels=2)
    groups = [[("", 2), *((block["title"], len(block["n_bits"])) for block, _ in blocks)]]
    table = Table(file_name(name), caption, header, body, n_labels=2, strong=strong, groups=groups)
    return Drawn(tables=[table], missing=missing)


def _columns(block: _Entry, entry: _Entry, rows: pd.DataFrame) -> Iterator[pd.Series]:
    """Yield the means of each code length of a block, by method and source: those of the paper, and ours."""
    for position, n_bits in enumerate(block["n_bits"]):
        means = at(rows, n_bits=n_bits).set_index(["name", "source"])["mean"].to_dict()
        means |= {(method, "printed"): _printed(block, method, position, n_bits) for method in entry["methods"]}
        yield pd.Series(means, dtype=float)


def _of_block(block: _Entry, entry: _Entry, data: Data) -> pd.DataFrame:
    """Return our rows of a block's methods with ``name`` and ``source``; of several metrics the first that has rows."""
    plugins = {plugin: method for method, plugin in entry["methods"].items() if plugin}
    where = {"ground_truth": "class_label", **block["where"], "n_bits": block["n_bits"], "plugin": [*plugins]}
    rows = at(data["summary"].dropna(subset="mean"), **where)
    rows = at(rows, metric=[metric for metric in block["where"]["metric"] if metric in set(rows["metric"])][:1])
    variants = [row.hasher.removeprefix(row.plugin).strip("_") for row in rows.itertuples()]
    splits = "" if "split" in block["where"] else ", " + rows["split"]
    source = rows["experiment"] + ": " + rows["feature"] + splits + [f", {name}" if name else "" for name in variants]
    return rows.assign(name=rows["plugin"].map(plugins), source=source)


def _printed(block: _Entry, method: str, position: int, n_bits: int) -> float | None:
    """Return the value that a paper prints: the expected value of a claim, which may be a list by code length."""
    claim = block["claim"] if isinstance(block["claim"], str) else block["claim"][method]
    value = printed()[claim].get(block["printed"].format(method=method, n_bits=n_bits))
    return value[position] if isinstance(value, list) else value


DRAWINGS: Mapping[str, Callable[[Data], Drawn]] = {
    name: functools.partial(_tables if "blocks" in entry else _figures, name, entry)
    for name, entry in _DECLARED["figures"].items()
}
"""The functions that draw each figure and table, by its name."""
