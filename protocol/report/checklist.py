"""The checklist of an experiment: what its result files state about the five most common mistakes of evaluations."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.auditing import KIND_OF
from protocol.checks import ProtocolError, counted
from protocol.registry import MetricRecord
from protocol.scores.summary import read_summary
from protocol.scores.tables import Table, read_text

_NOT_MEASURED, _NOT_RECORDED = "not measured", "not recorded"
_HEADER = ("mistake", "question", "answer", "source")
_SCORES = "summary.csv"
_LEAKS = {
    "Are the queries outside the database and the training set?": ("yes", "query-in-database", "query-in-train"),
    "Is the training set outside the database?": ("yes", "train-in-database"),
    "Is everything fitted on the training set alone?": ("yes, except for finished codes", "preprocessing-leak"),
    "Are the database and the training set free of copies of the queries?": (
        "yes, as far as equal features and judged pairs show; `protocol find-duplicates` searches for similar items",
        *("near-duplicate", "known-near-duplicate"),
    ),
}
_SELECTION = ("validation-in-test", "validation-overlap", "selection-leak", "truth-leak")
_EMPTY = {"zero": "they count as 0", "drop": "the query is left out of the mean"}
_Rows = Sequence[Mapping[str, Any]]
_Answers = Iterator[tuple[str, str, str]]


def checklist(folder: str | Path) -> Table:
    """Return a table with a row for each question of the checklist, answered from the files of an experiment.

    Nothing is recomputed. A question that these files can't answer has the answer "not measured", and as its source
    the command that answers it.

    Parameters
    ----------
    folder : path
        The folder of a finished experiment, such as ``results/digits``.

    Raises
    ------
    ProtocolError
        If the folder has no ``summary.csv``, or if a file was altered.
    """
    folder = Path(folder)
    if not (folder / _SCORES).is_file():
        raise ProtocolError(f"{folder}: no {_SCORES}. Run `snakemake -- metrics` to write it.")
    scores = [row for row in read_summary(folder / _SCORES) if row["extension"] == "none"]
    audit = _read(folder / "audit.csv", "finding", "severity", "count") if (folder / "audit.csv").is_file() else None
    mistakes: dict[str, _Answers] = {
        "leaks": ((question, *_audited(audit, *names)) for question, names in _LEAKS.items()),
        "denominators": _denominators(scores, audit),
        "ties": _ties(scores),
        "selection on test data": _selection(folder, audit),
        "different protocols": _protocols(scores),
    }
    rows = [(mistake, *answer) for mistake, answers in mistakes.items() for answer in answers]
    return Table("checklist", f"Checklist of the experiment in {folder}", _HEADER, rows, n_labels=len(_HEADER))


def _read(path: Path, *columns: str) -> _Rows:
    """Return the rows of a table that has some columns, of which ``count`` contains numbers."""
    rows = read_text(path)
    for line, row in enumerate(rows, 2):
        if missing := [column for column in columns if column not in row]:
            raise ProtocolError(f"{path}: the column {missing[0]!r} is missing.")
        if "count" in columns and not row["count"].isdecimal():
            raise ProtocolError(f"{path}: line {line}: count: expected a number, got {row['count']!r}.")
    return rows


def _audited(audit: _Rows | None, clean: str, *names: str) -> tuple[str, str]:
    """Return what the audit says about some kinds of findings, which is `clean` without any, and the source."""
    if audit is None:
        return _NOT_MEASURED, "snakemake -- audit"
    texts = []
    for name in names:
        if found := [row for row in audit if row["finding"] == name]:
            most = max(int(row["count"]) for row in found)
            where = f"{found[0]['severity']}; at most {most:,} in one file, {counted(len(found), 'file')}"
            texts.append(f"{KIND_OF[name].summary.removesuffix('.')} ({where})")
    return f"no: {'; '.join(texts)}" if texts else clean, f"audit.csv: {', '.join(names)}"


def _denominators(scores: _Rows, audit: _Rows | None) -> _Answers:
    denominators = {metric: record.denominator for metric, record in _ranked(scores).items()}
    yield "What is the denominator of each ranking metric?", _by_value(denominators), _SCORES
    yield "Do all queries have relevant items?", *_audited(audit, "yes", "query-without-relevant")
    treatments = dict.fromkeys(_EMPTY.get(row.get("empty", ""), _NOT_RECORDED) for row in scores)
    yield "How are undefined values (0/0) treated?", " or ".join(treatments), _SCORES


def _ties(scores: _Rows) -> _Answers:
    ties = {metric: record.ties for metric, record in _ranked(scores).items()}
    yield "How are tied items ordered?", _by_value(ties), _SCORES
    means = {
        (_place(row), row["hasher"], row["n_bits"], row["metric"]): row["mean"]
        for row in scores
        if not math.isnan(row["mean"])
    }
    spreads = {
        f"{place}, {hasher}, {n_bits} bits": best - worst
        for (place, hasher, n_bits, metric), best in means.items()
        if metric == "mAP[best]" and (worst := means.get((place, hasher, n_bits, "mAP[worst]"))) is not None
    }
    question = "How much can the order of ties change mAP?"
    if spreads:
        where = max(spreads, key=lambda name: spreads[name])
        yield question, f"by at most {spreads[where]:.4f} ({where})", _SCORES
    else:
        yield question, _NOT_MEASURED, "`metrics: [mAP[best], mAP[worst]]` in the config file"


def _selection(folder: Path, audit: _Rows | None) -> _Answers:
    question = "Were options selected without the test queries and their database?"
    if (folder / "selection.csv").is_file():
        hashers = dict.fromkeys(row["hasher"] for row in _read(folder / "selection.csv", "hasher"))
        yield question, *_audited(audit, f"yes ({', '.join(hashers)})", *_SELECTION)
    else:
        yield question, "this experiment selected no options", "no selection.csv"
    yield (
        "Were options, epochs or seeds selected elsewhere by their test scores?",
        _NOT_MEASURED,
        "protocol audit --training-log",
    )


def _protocols(scores: _Rows) -> _Answers:
    places = {
        _place(row): f"{row['relevance']}, {row['n_queries']} queries, {row['n_database']} database items, "
        f"{counted(row['n_runs'], 'run')}, excluded queries: {row['excluded_queries']}"
        for row in scores
        if "relevance" in row
    }
    yield "What are the ground truth, the queries and the database of each score?", _by_value(places), _SCORES
    learned = {row["hasher"]: row.get("supervision", _NOT_RECORDED) for row in scores}
    yield "What did each method learn from in addition to vectors?", _by_value(learned), _SCORES
    versions = dict.fromkeys(f"{row['convention']}, version {row['version']}" for row in scores if "version" in row)
    yield "Which convention and version of this package were used?", "; ".join(versions) or _NOT_RECORDED, _SCORES
    yield "Do the published scores in the comparison have the same protocol?", _NOT_MEASURED, "protocol compare"


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['feature']}/{row['ground_truth']}/{row['split']}"


def _ranked(scores: _Rows) -> dict[str, MetricRecord]:
    """Return the metrics that depend on the order of the database, without those of plug-ins that are not loaded."""
    records = {}
    for metric in dict.fromkeys(row["metric"] for row in scores):
        with contextlib.suppress(ProtocolError):
            records[metric] = registry.METRICS.entry(metric)
    return {metric: record for metric, record in records.items() if record.defined_on == "ranking"}


def _by_value(values: Mapping[str, str]) -> str:
    """Return the names that share each value.

    Examples
    --------
    >>> _by_value({"mAP": "all", "mAP@5[all]": "all", "P@5": "K."})
    'mAP, mAP@5[all]: all; P@5: K'
    """
    names: dict[str, list[str]] = {}
    for name, value in values.items():
        names.setdefault(value.removesuffix("."), []).append(name)
    return "; ".join(f"{', '.join(of_value)}: {value}" for value, of_value in names.items()) or _NOT_RECORDED
