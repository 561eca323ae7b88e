"""The scores of experiments, or of users' own codes, side by side: a table has only numbers of one protocol."""

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from protocol import tables
from protocol.checks import ProtocolError
from protocol.evaluation.conventions import find
from protocol.report.figure import (
    ABSENT,
    COLOURS,
    Figure,
    Section,
    Table,
    between,
    counted,
    listed,
    rows_chart,
    spread,
    tooltips,
)

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = ("dataset", "ground_truth", "split", "n_queries", "n_database", "undefined", "n_bits", "metric")
"""What two numbers must agree in to stand beside each other."""
UNKNOWN = "not said"
_COLUMNS = ("dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "metric", "mean", "std", "n_runs")
_SCORE = ("source", "method", "mean", "std", "n_runs")
_WHOLE = ("n_bits", "n_runs")


def read_scores(path: str | Path) -> "pd.DataFrame":
    """Return the scores of a file, a row each: `PROTOCOL`, ``source``, ``method``, ``mean``, ``std``, ``n_runs``.

    Parameters
    ----------
    path : str or Path
        The ``summary.csv`` of an experiment, of which the plain codes are read, or the output of
        ``protocol evaluate --json``.
        Without a column ``extension`` all codes are plain. What a file does not say of its protocol is `UNKNOWN`.

    Raises
    ------
    ProtocolError
        If the file is missing, neither of them, or has something else in the place of a number.
    """
    path = Path(path)
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file; wanted a summary.csv, or what `protocol evaluate --json` wrote")
    return _of_codes(path) if path.suffix == ".json" else _of_setting(path)


def _of_setting(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        table = pd.read_csv(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise ProtocolError(f"{path}: not a table of scores: {' '.join(str(error).split())}") from error
    missing = [column for column in _COLUMNS if column not in table]
    if missing:
        raise ProtocolError(f"{path}: wanted the columns of a summary.csv, missing: {', '.join(missing)}")
    plain = _numeric(path, table[table["extension"] == "none"] if "extension" in table else table)
    return plain.assign(
        source=_name(path),
        method=plain["hasher"] + ", " + plain["feature"],
        n_queries=UNKNOWN,
        n_database=UNKNOWN,
        undefined=UNKNOWN,
    )[[*PROTOCOL, *_SCORE]]


def _numeric(path: Path, table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table with numbers in the columns of numbers; a mean or its deviation may be undefined."""
    import pandas as pd

    for column in (*_WHOLE, "mean", "std"):
        numbers = pd.to_numeric(table[column], errors="coerce")
        right = numbers % 1 == 0 if column in _WHOLE else numbers.notna() | table[column].isna()
        if not right.all():
            wanted = "whole numbers" if column in _WHOLE else "numbers"
            raise ProtocolError(f"{path}: column {column}: wanted {wanted}, came {table[column][~right].iloc[0]!s}")
        table = table.assign(**{column: numbers})
    return table.astype(dict.fromkeys(_WHOLE, int))


def _of_codes(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        content = json.loads(path.read_text())
        rules, scores = find(content["convention"]), content["metrics"]
        sizes = {name: content[name] for name in ("n_bits", "n_queries", "n_database")}
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError(f"{path}: not what `protocol evaluate --json` writes: {error!r}") from error
    rows = [
        dict.fromkeys(("dataset", "ground_truth", "split"), UNKNOWN)
        | sizes
        | {"undefined": {"zero": "0", "drop": "left out"}[rules.empty(metric)], "metric": metric}
        | {"source": path.stem, "method": f"codes, {rules.name}", "std": np.nan, "n_runs": np.nan}
        | {"mean": np.nan if mean is None else mean}
        for metric, mean in scores.items()
    ]
    return pd.DataFrame(rows, columns=[*PROTOCOL, *_SCORE])


def _name(path: Path) -> str:
    """Return what a table is called: by its folder, where its own name is every summary's."""
    return path.resolve().parent.name if path.stem == "summary" else path.stem


def compare(paths: Sequence[str | Path], metrics: Iterable[str] = ()) -> list[Section]:
    """Return the comparison, a section for each protocol, of the numbers that may be compared.

    Parameters
    ----------
    paths : sequence of path
        As `read_scores` takes them; at least two.
    metrics : iterable of str
        Those to show; all that two files share if there are none.

    Returns
    -------
    list of Section
        First one that says what is compared, what the files leave unsaid, and what could not be compared and why.

    Raises
    ------
    ProtocolError
        If there is nothing that two of the files have in common: says in what they differ.
    """
    import pandas as pd

    if len(paths) < 2:
        raise ProtocolError(f"compare: wanted at least two files, came {len(paths)}")
    tables = [read_scores(path) for path in paths]
    names = [table["source"].iloc[0] if len(table) else str(path) for table, path in zip(tables, paths, strict=True)]
    repeated = len(set(names)) < len(names)
    sources = [f"{name} ({number})" if repeated else name for number, name in enumerate(names, 1)]
    named = [table.assign(source=source) for table, source in zip(tables, sources, strict=True)]
    scores = pd.concat(named, ignore_index=True)
    wanted = list(metrics) or list(dict.fromkeys(scores["metric"]))
    scores = scores[scores["metric"].isin(wanted)].astype({column: str for column in PROTOCOL if column != "n_bits"})
    shared = _groups(scores)
    if not shared:
        raise ProtocolError(f"{listed(sources)} can't be compared: {_differences(scores, sources)}")
    return [_overview(scores, shared, sources), *map(_section, shared)]


def _groups(scores: "pd.DataFrame") -> "list[pd.DataFrame]":
    """Return the scores by protocol; what a file does not say agrees with whatever the others say."""
    place = [column for column in PROTOCOL if column not in ("n_bits", "metric")]
    kinds = list(scores[place].itertuples(index=False, name=None))
    groups = []
    for protocol in _protocols(kinds):
        own = scores[[_covers(kind, protocol) for kind in kinds]]
        sources_of_cell = own.groupby(["metric", "n_bits"])["source"].transform("nunique")
        if (group := own[sources_of_cell > 1]).size:
            groups.append(group)
    return groups


def _protocols(kinds: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return what the files may speak of together: everything that agrees put together, and nothing less.

    Examples
    --------
    >>> _protocols([("digits", "not said"), ("cifar10", "not said"), ("not said", "1000")])
    [('digits', '1000'), ('cifar10', '1000')]
    """
    found, before = dict.fromkeys(kinds), 0
    while len(found) > before:
        before = len(found)
        agreeing = [(a, b) for a, b in itertools.combinations(found, 2) if _agree(a, b)]
        found |= dict.fromkeys(tuple(x if x != UNKNOWN else y for x, y in zip(a, b, strict=True)) for a, b in agreeing)
    return [kind for kind in found if not any(_covers(kind, other) for other in found if other != kind)]


def _agree(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(a == b or UNKNOWN in (a, b) for a, b in zip(one, other, strict=True))


def _covers(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether `other` says all that `one` says, or more."""
    return all(a in (UNKNOWN, b) for a, b in zip(one, other, strict=True))


def _differences(scores: "pd.DataFrame", sources: Sequence[str]) -> str:
    """Return in what the files differ, so that none of their numbers may stand beside each other."""
    found = []
    for column in PROTOCOL:
        values = [sorted(set(scores[scores["source"] == source][column].map(str))) for source in sources]
        said = [value for value in values if value not in ([UNKNOWN], [])]
        if len(said) > 1 and not set.intersection(*map(set, said)):
            texts = " and ".join(" ".join(value[:4]) for value in said)
            found.append(f"{column.replace('_', ' ')} differs ({texts})")
    return "; ".join(found) or "no metric and code length is in two of them under one protocol"


def _overview(scores: "pd.DataFrame", shared: "list[pd.DataFrame]", sources: Sequence[str]) -> Section:
    compared = sum(len(group[["metric", "n_bits"]].drop_duplicates()) for group in shared)
    says = (
        f"{listed(sources)}: {counted(compared, 'number')} of one metric, code length and protocol in two of them or "
        "more. Numbers of different data sets, ground truths, splits, sizes or conventions stand in no table together."
    )
    text = [says]
    used = {
        (source, metric) for group in shared for source, metric in group[["source", "metric"]].itertuples(index=False)
    }
    for source in sources:
        left = sorted(set(scores[scores["source"] == source]["metric"]) - {m for s, m in used if s == source})
        if left:
            text.append(f"Left out of {source}, as no other file has the like: {', '.join(left)}.")
    return Section("overview", "What is compared", text)


def _section(group: "pd.DataFrame") -> Section:
    said = {
        column: next((value for value in group[column] if value != UNKNOWN), UNKNOWN)
        for column in PROTOCOL
        if column not in ("n_bits", "metric")
    }
    title = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in said.items() if value != UNKNOWN)
    name = "-".join(str(value) for value in said.values() if value != UNKNOWN).replace("_", "-").replace(" ", "-")
    tables = [_table(name, metric, own) for metric, own in group.groupby("metric", sort=False)]
    text = [
        f"On your word: {source} does not say its {listed(unsaid)}."
        for source, own in group.groupby("source", sort=False)
        if (unsaid := [key.replace("_", " ") for key in said if (own[key] == UNKNOWN).all()])
    ]
    return Section(name or "shared", title or "protocol not said", text, [_figure(name, group)], tables)


def _table(name: str, metric: str, rows: "pd.DataFrame") -> Table:
    lengths = sorted(rows["n_bits"].unique())
    cells = []
    for (source, method), own in rows.groupby(["source", "method"], sort=False):
        by_length = {row.n_bits: spread(row.mean, row.std) for row in own.itertuples()}
        runs = own["n_runs"].dropna().astype(int)
        scores = [by_length.get(n_bits, ABSENT) for n_bits in lengths]
        cells.append([source, method, between(runs) if len(runs) else ABSENT, *scores])
    header = ["file", "method", "runs", *(f"{n_bits} bits" for n_bits in lengths)]
    return Table(f"{name}-{metric}", f"{metric}: mean ± standard deviation over the runs.", header, cells, n_labels=2)


def _figure(name: str, group: "pd.DataFrame") -> Figure:
    import altair as alt

    rows = group[["metric", "n_bits", "source", "method", "mean", "std", "n_runs"]].assign(
        label=group["method"] + " (" + group["source"] + ")"
    )
    metric, n_bits = rows["metric"].iloc[0], int(rows["n_bits"].iloc[0])
    here = rows[(rows["metric"] == metric) & (rows["n_bits"] == n_bits)].dropna(subset="mean")
    shows = f"{metric} is undefined in all of them."
    if len(here):
        best, worst = here.loc[[here["mean"].idxmax(), here["mean"].idxmin()]].itertuples()
        shows = (
            f"{metric} at {n_bits} bits runs from {worst.mean:.4f}, {worst.label}, to {best.mean:.4f}, {best.label}."
        )
    sources = list(dict.fromkeys(rows["source"]))
    scale = alt.Scale(domain=sources, range=[COLOURS[i % len(COLOURS)] for i in range(len(sources))])
    chart = (
        rows_chart()
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            y=alt.Y("label:N", title=None, sort=alt.EncodingSortField("mean", order="descending")),
            x=alt.X("mean:Q", title="{metric} at {n_bits} bits", scale=alt.Scale(zero=False)),
            color=alt.Color("source:N", title=None, scale=scale),
            shape=alt.Shape("source:N", title=None, scale=alt.Scale(domain=sources)),
            tooltip=tooltips("source:N", "method:N", "mean:Q", "std:Q", "n_runs:Q"),
        )
    )
    layered = alt.layer(chart).properties(width="container", height=alt.Step(24))
    return Figure(f"figure-{name}", "Side by side", shows, layered, rows, {"metric": metric, "n_bits": n_bits})


def text_of(parts: Sequence[Section]) -> str:
    """Return a comparison as text for a terminal: sentences, then the tables."""
    blocks = []
    for part in parts:
        blocks.append("\n".join([f"== {part.title}", *part.text]))
        for table in part.tables:
            blocks.append(f"{table.caption}\n{tables.text(table.header, table.rows)}")
    return "\n\n".join(blocks)
