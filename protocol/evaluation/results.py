"""What an evaluation leaves: a table to read, JSON, and the values of each query as CSV."""

import json
import math
import os
import re
from collections.abc import Mapping
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import __version__, registry, tables
from protocol.evaluation.conventions import find
from protocol.evaluation.evaluation import Evaluation
from protocol.storage import file_sha256, replacing

_IDENTITY = (
    "name",
    "dataset",
    "ground_truth",
    "relevance",
    "split",
    "n_queries",
    "n_database",
    "n_bits",
    "convention",
    "ground_truth_sha256",
)
_SMALL = 0.001
_LEFT_OUT = {("zero",): "0", ("drop",): "left out", ("zero", "drop"): "either way"}


def table(evaluation: Evaluation) -> str:
    """Return an evaluation as text: each number with its ties, its denominator and what undefined values counted.

    A convention's differences from its original follow, and the spread where it was asked for.
    """
    rules = find(evaluation.convention)
    header, rows = ("metric", "mean", "undefined", "ties", "denominator"), []
    for name, mean in evaluation.metrics.items():
        record = registry.entry("metric", name)
        rows.append((name, _number(mean), _undefined(evaluation, name), _brief(record.ties), record.denominator))
    sizes = (
        f"{evaluation.n_queries:,} queries, {evaluation.n_database:,} database items, {evaluation.n_bits} bits; "
        f"convention {rules.name}"
    )
    parts = [f"{sizes}\n{rules.summary}\n[{rules.source}]", tables.text(header, rows)]
    if rules.not_copied:
        parts.append("\n".join(["not copied from the original:", *(f"  {line}" for line in rules.not_copied)]))
    if evaluation.spread:
        parts.append(_spread(evaluation))
    if evaluation.bucket_search:
        parts.append(_bucket_search(evaluation))
    if evaluation.lookup_seconds:
        parts.append(_lookups(evaluation))
    return "\n\n".join(parts)


def write_json(path: str | Path, evaluation: Evaluation, *, per_query: str | Path | None = None) -> None:
    """Write the means and everything that identifies them as JSON, which appears under `path` when it is complete.

    `per_query` is the file that `write_per_query` wrote: its name, relative to the JSON, and its SHA-256 are recorded.

    Keys: `_IDENTITY`, null where the user did not give a name; ``version``; by metric, ``metrics`` (the means, NaN as
    null), ``empty`` and ``ties``; and ``per_query``, ``spread``, ``bucket_search`` and ``lookup_seconds`` where they
    were requested.
    """
    rules = find(evaluation.convention)
    content: dict[str, Any] = {name: getattr(evaluation, name) for name in _IDENTITY} | {"version": __version__}
    content["metrics"] = {name: _or_none(mean) for name, mean in evaluation.metrics.items()}
    content["empty"] = {name: rules.empty(name) for name in evaluation.metrics}
    content["ties"] = {name: registry.entry("metric", name).ties for name in evaluation.metrics}
    if per_query is not None:
        name = Path(os.path.relpath(per_query, Path(path).parent)).as_posix()
        content["per_query"] = {"file": name, "sha256": file_sha256(per_query)}
    if evaluation.spread:
        content["spread"] = [row._asdict() | {"value": _or_none(row.value)} for row in evaluation.spread]
    if evaluation.bucket_search:
        content["bucket_search"] = {
            tables: {name: _or_none(value) for name, value in values.items()}
            for tables, values in evaluation.bucket_search.items()
        }
    if evaluation.lookup_seconds:
        content["lookup_seconds"] = list(evaluation.lookup_seconds)
    text = json.dumps(content, indent=2, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n")


def write_per_query(path: str | Path, evaluation: Evaluation) -> None:
    """Write a row per query as CSV, with nine digits; the cell of a query that is left out is empty.

    Metrics of the pooled queries or of the database have no value per query, and no column.
    """
    columns = {name: values for name, values in evaluation.per_query.items() if values.size == evaluation.n_queries}
    _write_columns(path, "query", columns, evaluation.n_queries)


def write_pr_curves(path: str | Path, evaluation: Evaluation) -> None:
    """Write precision and recall, micro and macro, at every radius as CSV, with nine digits; undefined is empty."""
    columns = {
        f"{kind}_{average}": values
        for average, curve in evaluation.pr_curves.items()
        for kind, values in curve._asdict().items()
    }
    _write_columns(path, "radius", columns, evaluation.n_bits + 1)


def _write_columns(path: str | Path, index: str, columns: Mapping[str, NDArray[np.float64]], n_rows: int) -> None:
    """Write columns of values next to their index, with nine digits; NaN is an empty cell."""
    rows = ((row, *(_cell(values[row]) for values in columns.values())) for row in range(n_rows))
    tables.write_csv(path, (index, *columns), rows)


def _cell(value: float) -> str:
    return "" if math.isnan(value) else tables.DIGITS % value


def _or_none(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _number(mean: float) -> str:
    if math.isnan(mean):
        return "none"
    return f"{mean:.3g}" if 0 < mean < _SMALL else f"{mean:.4f}"  # RAMAP of long codes is tiny


def _undefined(evaluation: Evaluation, metric: str) -> str:
    """Return what an undefined value counted and, where they are left out, how many queries are."""
    empty = find(evaluation.convention).empty(metric)
    left_out = int(np.isnan(evaluation.per_query[metric]).sum())
    return f"{_LEFT_OUT[empty,]} ({left_out:,})" if empty == "drop" else _LEFT_OUT[empty,]


def _brief(ties: str) -> str:
    """Return the start of what a metric says of ties: ``expected value``, ``relevant items first``, ``none``."""
    return re.split("[,:.]| over ", ties)[0].lower()


def _spread(evaluation: Evaluation) -> str:
    header = ("mAP as", "mean", "undefined", "called mAP by")
    rows = [
        (row.metric, _number(row.value), _LEFT_OUT[row.empty], ", ".join(row.conventions)) for row in evaluation.spread
    ]
    values = [row.value for row in evaluation.spread if not math.isnan(row.value)]
    return f"what goes by the name of mAP, from {min(values):.4f} to {max(values):.4f}:\n{tables.text(header, rows)}"


def _bucket_search(evaluation: Evaluation) -> str:
    names = list(next(iter(evaluation.bucket_search.values())))
    header = ("tables", *names)
    rows = [(tables, *map(_number, values.values())) for tables, values in evaluation.bucket_search.items()]
    return f"bucket search, union of L tables of K bits (KxL), all queries pooled:\n{tables.text(header, rows)}"


def _lookups(evaluation: Evaluation) -> str:
    header, rows, probed = ("radius", "buckets probed", "ms a query"), [], 0
    for radius, seconds in enumerate(evaluation.lookup_seconds):
        probed += comb(evaluation.n_bits, radius)
        rows.append((str(radius), f"{probed:,}", f"{seconds * 1000:.4g}"))
    return f"lookups in an inverted index; a time of this machine, not a metric:\n{tables.text(header, rows)}"
