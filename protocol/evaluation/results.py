"""An evaluation as a table in text or HTML, as records, as JSON, and its values of each query as CSV."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import __version__, registry
from protocol.checks import ProtocolError, printable
from protocol.evaluation.conventions import find
from protocol.evaluation.data import EvaluationData
from protocol.evaluation.exclusion import WithoutQueries
from protocol.evaluation.loss_tables import loss_content, loss_head, loss_tables
from protocol.evaluation.trec import Trec
from protocol.inputs.labels import brief
from protocol.provenance.storage import file_sha256, replacing
from protocol.scores import tables
from protocol.scores.identity import NONE_EXCLUDED, NOTED, SCORE

_IDENTITY = (
    "name",
    "dataset",
    "ground_truth",
    "relevance",
    "split",
    "n_queries",
    "n_database",
    "n_bits",
    "ranking",
    "binarize",
    "convention",
    "ground_truth_sha256",
)
_RELEVANT = ("queries_without_relevant", "labels_not_in_database", "relevant_per_query", "levels")
_FEW = 10  # at most this many labels are listed
_SMALL = 0.001
_Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]  # title, header, cells
_HEADER = ("metric", "mean", "undefined queries", "ties", "denominator")
_COUNTED = {"zero": "counted as 0", "drop": "left out"}
_RANKING = {"hamming": "Hamming", "asymmetric": "asymmetric"}
_SPREAD = {("zero",): "counted as 0", ("drop",): "left out", ("zero", "drop"): "either way"}


def table(evaluation: EvaluationData) -> str:
    """Return an evaluation as text: each value with its number of undefined queries, its ties and its denominator.

    If vectors were given, the tables about the loss come first. The differences of the convention from its original
    follow, then the spread, bucket searches and lookups if they were requested.
    """
    rules = find(evaluation.convention)
    parts = ["\n".join(_head(evaluation))]
    parts += [f"{title}:\n{tables.text(header, cells)}" for title, header, cells in loss_tables(evaluation)]
    parts.append(_metrics_title(evaluation) + tables.text(_HEADER, _cells(evaluation)))
    if rules.not_copied:
        parts.append("\n".join(["not copied from the original:", *(f"  {line}" for line in rules.not_copied)]))
    parts += [f"{title}:\n{tables.text(header, cells)}" for title, header, cells in _more_tables(evaluation)]
    return printable("\n\n".join(parts), keep="\n")


def html_table(evaluation: EvaluationData) -> str:
    """Return the tables of `table` as HTML, with all text escaped."""
    rules = find(evaluation.convention)
    parts = [f"<p>{'<br>'.join(map(escape, _head(evaluation)))}</p>"]
    parts += [_html_titled(*each) for each in loss_tables(evaluation)]
    title = _metrics_title(evaluation).rstrip()
    parts += [f"<p>{escape(title)}</p>"] if title else []
    parts.append(_html(_HEADER, _cells(evaluation)))
    if rules.not_copied:
        lines = "".join(f"<li>{escape(line)}</li>" for line in rules.not_copied)
        parts.append(f"<p>not copied from the original:</p><ul>{lines}</ul>")
    parts += [_html_titled(*each) for each in _more_tables(evaluation)]
    return printable("\n".join(["<div>", *parts, "</div>"]), keep="\n")


def rows(evaluation: EvaluationData) -> list[dict[str, Any]]:
    """Return a record for each metric: the mean, the number of undefined queries, and the identity of the score.

    The scores without the excluded queries follow as separate records.
    """
    rules = find(evaluation.convention)
    shared = {name: getattr(evaluation, name) for name in _IDENTITY} | {"version": __version__}
    all_queries: dict[str, Any] = {"excluded_queries": NONE_EXCLUDED}
    scored = [(evaluation.metrics, evaluation.undefined, all_queries)]
    if evaluation.without is not None and evaluation.without.n_excluded:
        left = evaluation.without
        scored.append((left.metrics, left.undefined, {"excluded_queries": left.label, "n_queries": left.n_queries}))
    records = []
    for metrics, undefined, queries in scored:
        for metric, mean in metrics.items():
            of_metric = {"metric": metric, "empty": rules.empty(metric), "ties": registry.METRICS.entry(metric).ties}
            known = shared | queries | of_metric
            records.append(
                {"name": evaluation.name, "metric": metric, "value": mean, "undefined": undefined[metric]}
                | {field: known[field] for field in (*SCORE, "ranking", "binarize", *NOTED)}
            )
    return records


def to_json(evaluation: EvaluationData) -> str:
    """Return the means and the fields that identify them as JSON.

    The keys are `_IDENTITY`, null where the user gave no name; ``version``; `_RELEVANT`, as in `Evaluation`; and, for
    each metric, ``metrics`` (the means, NaN as null), ``undefined`` (numbers of queries), ``empty`` and ``ties``. If
    requested, there are ``spread``, ``bucket_search``, ``lookup_seconds`` and ``trec``. If vectors were given, there
    are ``nearest``, ``rescoring`` and ``cost``, with times only if the speed was measured. If queries were excluded,
    ``without_queries`` contains their row numbers as ``excluded``, ``n_excluded`` and ``sha256``, and for the remaining
    queries ``n_queries``, ``metrics`` and ``undefined``.
    """
    return json.dumps(_content(evaluation), indent=2, allow_nan=False)


def write_json(path: str | Path, evaluation: EvaluationData, *, per_query: str | Path | None = None) -> None:
    """Write the JSON of `to_json`; the file appears under `path` only when it is complete.

    `per_query` is a file that `write_per_query` wrote. Its name, relative to the JSON file, and its SHA-256 are added
    under ``per_query``.
    """
    content = _content(evaluation)
    if per_query is not None:
        name = Path(os.path.relpath(per_query, Path(path).parent)).as_posix()
        content["per_query"] = {"file": name, "sha256": file_sha256(per_query)}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")


def _content(evaluation: EvaluationData) -> dict[str, Any]:
    rules = find(evaluation.convention)
    content: dict[str, Any] = {name: getattr(evaluation, name) for name in _IDENTITY} | {"version": __version__}
    content |= {name: getattr(evaluation, name) for name in _RELEVANT}
    content["metrics"] = {name: _or_none(mean) for name, mean in evaluation.metrics.items()}
    content["undefined"] = dict(evaluation.undefined)
    content["empty"] = {name: rules.empty(name) for name in evaluation.metrics}
    content["ties"] = {name: registry.METRICS.entry(name).ties for name in evaluation.metrics}
    content |= loss_content(evaluation)
    if evaluation.without is not None:
        left = evaluation.without
        content["without_queries"] = {
            "excluded": left.excluded.tolist(),
            "n_excluded": left.n_excluded,
            "sha256": left.sha256,
            "n_queries": left.n_queries,
            "metrics": {name: _or_none(mean) for name, mean in left.metrics.items()},
            "undefined": dict(left.undefined),
        }
    if evaluation.spread:
        content["spread"] = [row._asdict() | {"value": _or_none(row.value)} for row in evaluation.spread]
    if evaluation.bucket_search:
        content["bucket_search"] = {
            kind: {name: _or_none(value) for name, value in values.items()}
            for kind, values in evaluation.bucket_search.items()
        }
    if evaluation.lookup_seconds:
        content["lookup_seconds"] = list(evaluation.lookup_seconds)
    if evaluation.trec:
        trec = asdict(evaluation.trec) | {"moved": evaluation.trec.moved}
        content["trec"] = {name: _or_none(value) if isinstance(value, float) else value for name, value in trec.items()}
    return content


def write_per_query(path: str | Path, evaluation: EvaluationData) -> None:
    """Write a CSV row per query, with nine digits; the value of a query that is left out is empty.

    Metrics of the pooled queries or of the database have no value per query, and therefore no column.
    """
    columns = {name: values for name, values in evaluation.per_query.items() if values.size == evaluation.n_queries}
    _write_columns(path, "query", columns, range(evaluation.n_queries), evaluation.ranking)


def write_pr_curves(path: str | Path, evaluation: EvaluationData) -> None:
    """Write precision and recall, micro and macro, at every radius as CSV with nine digits; undefined values are empty.

    Raises
    ------
    ProtocolError
        If the ranking has no radius.
    """
    if not evaluation.pr_curves:
        raise ProtocolError(
            f"pr_curves: expected the ranking hamming, whose radius they require, got {evaluation.ranking}."
        )
    columns = {
        f"{kind}_{average}": values
        for average, curve in evaluation.pr_curves.items()
        for kind, values in curve._asdict().items()
    }
    _write_columns(path, "radius", columns, range(evaluation.n_bits + 1), evaluation.ranking)


def write_top_n_curves(path: str | Path, evaluation: EvaluationData) -> None:
    """Write precision and recall of the top N items for each N as CSV with nine digits; undefined values are empty."""
    n, precision, recall = evaluation.top_n
    _write_columns(path, "n", {"precision": precision, "recall": recall}, n.tolist(), evaluation.ranking)


def _write_columns(
    path: str | Path, index: str, columns: Mapping[str, NDArray[np.float64]], rows: Sequence[int], ranking: str
) -> None:
    """Write columns of values with their index and the ranking, with nine digits; NaN becomes an empty field."""
    cells = ((row, ranking, *(_cell(values[at]) for values in columns.values())) for at, row in enumerate(rows))
    tables.write_csv(path, (index, "ranking", *columns), cells)


def _cell(value: float) -> str:
    return "" if math.isnan(value) else tables.DIGITS % value


def _or_none(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _number(mean: float) -> str:
    if math.isnan(mean):
        return "none"
    return f"{mean:.3g}" if 0 < mean < _SMALL else f"{mean:.4f}"  # RAMAP of long codes is tiny


def _head(evaluation: EvaluationData) -> list[str]:
    """Return the lines above the table: the sizes, the convention and the interpretation of the ground truth."""
    rules = find(evaluation.convention)
    read = loss_head(evaluation) or [_relevant(evaluation)]
    return [_sizes(evaluation), *read, rules.summary, f"[{rules.source}]"]


def _relevant(evaluation: EvaluationData) -> str:
    """Return a line about queries without relevant items, with the labels that the database lacks or the relevance."""
    n = evaluation.queries_without_relevant
    verb = "has" if n == 1 else "have"
    parts = [f"{n:,} of {evaluation.n_queries:,} queries {verb} no relevant item"]
    fewest, most = evaluation.relevant_per_query
    if evaluation.labels_not_in_database is not None:
        parts.append(f"labels of queries that the database lacks: {brief(evaluation.labels_not_in_database, _FEW)}")
    else:
        lowest, highest = evaluation.levels
        levels = f"level {lowest}" if lowest == highest else f"levels {lowest} to {highest} (larger is more relevant)"
        items = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        parts.append(f"relevance read as {evaluation.relevance}: {items} items per query, {levels}")
    if fewest == evaluation.n_database:
        parts.append("every item is relevant to every query")
    return "; ".join(parts)


def _sizes(evaluation: EvaluationData) -> str:
    of_database = "" if evaluation.ranking == "hamming" else "database "
    made = f", {of_database}binarised by {evaluation.binarize}" if evaluation.binarize else ""
    return (
        f"{evaluation.n_queries:,} queries, {evaluation.n_database:,} database items, {evaluation.n_bits} bits{made}; "
        f"{_RANKING[evaluation.ranking]} ranking; convention {evaluation.convention}"
    )


def _cells(evaluation: EvaluationData) -> Sequence[Sequence[str]]:
    """Return the rows of the main table, below `_HEADER`."""
    found = []
    for name, mean in evaluation.metrics.items():
        record = registry.METRICS.entry(name)
        if evaluation.nearest and record.relevant:
            continue  # it has a separate table
        found.append((name, _number(mean), _undefined(evaluation, name), _brief(record.ties), record.denominator))
    return found


def _metrics_title(evaluation: EvaluationData) -> str:
    """Return the line above the main table; "" if all tables have the same ground truth."""
    if evaluation.nearest is None:
        return ""
    return f"other metrics, with the {evaluation.nearest.relevant:,} nearest items of each query as relevant:\n"


def _undefined(evaluation: EvaluationData, metric: str) -> str:
    """Return the number of queries for which a metric is undefined, and how these count."""
    n_undefined = evaluation.undefined[metric]
    if not n_undefined:
        return "none"
    counted = _COUNTED[find(evaluation.convention).empty(metric)]
    return f"{n_undefined:,} of {evaluation.n_queries:,}, {counted}"


def _brief(ties: str) -> str:
    """Return the start of a metric's description of ties: ``expected value``, ``relevant items first``, ``none``."""
    return re.split("[,:.]| over ", ties)[0].lower()


def _more_tables(evaluation: EvaluationData) -> list[_Table]:
    """Return the title, the header and the rows of each further table that was requested."""
    found = []
    if evaluation.without is not None:
        found.append(_without(evaluation.without, evaluation))
    if evaluation.spread:
        found.append(_spread(evaluation))
    if evaluation.bucket_search:
        found.append(_bucket_search(evaluation))
    if evaluation.lookup_seconds:
        found.append(_lookups(evaluation))
    if evaluation.trec:
        found.append(_trec(evaluation.trec))
    return found


def _without(left: WithoutQueries, evaluation: EvaluationData) -> _Table:
    """Return the table of all metrics with and without the excluded queries; the title identifies these queries."""
    cells = []
    for name, mean in evaluation.metrics.items():
        without = left.metrics[name]
        difference = without - mean
        moved = "none" if math.isnan(difference) else f"{difference:+.2g}" if difference else "0"
        cells.append((name, _number(mean), _number(without), moved))
    title = f"without {left.n_excluded:,} of {evaluation.n_queries:,} queries (SHA-256 {left.sha256[:12]})"
    return title, ("metric", "all queries", "without them", "difference"), cells


def _spread(evaluation: EvaluationData) -> _Table:
    """Return the table of the spread; the title gives the range of the values that a convention calls mAP."""
    cells = [
        (row.metric, _number(row.value), _SPREAD[row.empty], ", ".join(row.conventions) or "none")
        for row in evaluation.spread
    ]
    values = [row.value for row in evaluation.spread if row.conventions and not math.isnan(row.value)]
    title = f"values that a convention calls mAP, from {min(values):.4f} to {max(values):.4f}"
    return title, ("metric", "mean", "undefined queries", "called mAP by"), cells


def _bucket_search(evaluation: EvaluationData) -> _Table:
    header = ("tables", *next(iter(evaluation.bucket_search.values())))
    cells = [(kind, *map(_number, values.values())) for kind, values in evaluation.bucket_search.items()]
    return "bucket search, union of L tables of K bits (KxL), all queries pooled", header, cells


def _lookups(evaluation: EvaluationData) -> _Table:
    cells, probed = [], 0
    for radius, seconds in enumerate(evaluation.lookup_seconds):
        probed += comb(evaluation.n_bits, radius)
        cells.append((str(radius), f"{probed:,}", f"{seconds * 1000:.4g}"))
    title = "lookups in an inverted index; times on this machine, not a metric"
    return title, ("radius", "buckets probed", "ms per query"), cells


def _trec(trec: Trec) -> _Table:
    """Return the table of mAP by order of ties; the title gives the files and the effect of trec_eval's order."""
    cells = [
        ("expected over ties", _number(trec.expected)),
        ("ties by document id, as trec_eval orders them", _number(trec.by_document_id)),
        ("in the order of the run", _number(trec.of_run)),
    ]
    ties = trec.ties if trec.seed is None else f"{trec.ties} with seed {trec.seed}"
    title = f"TREC files {trec.run} and {trec.qrels}: {trec.depth:,} items per query, ties {ties}"
    if not math.isnan(trec.moved):
        means = f"from {_number(trec.expected)} to {_number(trec.by_document_id)}"
        title += f"; trec_eval's tie-breaking moves {trec.metric} {means} ({trec.moved:+.2g})"
    return title, (trec.metric, "mean"), cells


def _html_titled(title: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    return f"<p>{escape(title)}:</p>{_html(header, cells)}"


def _html(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in cells)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
