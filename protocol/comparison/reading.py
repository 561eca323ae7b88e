"""Reads scores from the summary of an experiment, from the JSON of `protocol evaluate`, or from an `Evaluation`."""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import __version__, registry
from protocol.checks import ProtocolError, integer, need, printable
from protocol.comparison.values import QUERY, RUN, Values
from protocol.evaluation import Evaluation
from protocol.evaluation.conventions import find
from protocol.evaluation.exclusion import excluded_label, excluded_rows, excluded_sha256
from protocol.provenance.checksums import verify
from protocol.provenance.storage import file_sha256
from protocol.scores.identity import NONE_EXCLUDED, OF_LABELS, PROTOCOL, RANKINGS, method_name, with_options

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "metric", "mean", "std", "n_runs")
_INTEGERS = ("n_bits", "n_runs")
_COMBINATION = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]
_TOLERANCE = 1e-6  # for the mean of values that were written with nine digits
_FIRST_LINE = 2  # the line number of the first row of a table, below the header
_OF_SUMMARY = "hamming"  # the pipeline has no other ranking, and stored results may be older than the column
_DEFAULTS = {"excluded_queries": NONE_EXCLUDED}  # the values of fields that a file does not record
_JSON = "the JSON of `protocol evaluate --json`"
Why = str
"""A reason in words."""


@dataclass(frozen=True, eq=False)
class Score:
    """One score, and everything that identifies it.

    Parameters
    ----------
    file : str
        The name of the file or the `Evaluation` from which it comes.
    method : str
        The method, with the name of the ranking if that is not the Hamming ranking.
    ranking : str
        One of `protocol.scores.identity.RANKINGS`.
    protocol : tuple of str or None
        The values of the fields `protocol.scores.identity.PROTOCOL`; None for fields that the file does not record.
    n_bits : int
    metric : str
    mean, std : float
        NaN where undefined; the standard deviation of a single run is also NaN.
    n_runs : int or None
        None if there are no runs.
    ground_truth_sha256 : str or None
        The digest of the ground truth, None if it is not known. Scores with different digests are never compared.
    convention, version : str or None
    values : callable
        Returns the values behind the mean, or the reason why there are none.
    """

    file: str
    method: str
    ranking: str
    protocol: tuple[str | None, ...]
    n_bits: int
    metric: str
    mean: float
    std: float
    n_runs: int | None
    ground_truth_sha256: str | None
    convention: str | None
    version: str | None
    values: Callable[[], Values | Why]


def read_sources(sources: Sequence[str | Path | Evaluation]) -> list[list[Score]]:
    """Return the scores of each source; sources with the same name are numbered.

    Raises
    ------
    ProtocolError
        If there are fewer than two sources, or one of them can't be read.
    """
    if len(sources) < 2:
        raise ProtocolError(f"compare: expected at least two files, got {len(sources)}.")
    names = [_name(source, number) for number, source in enumerate(sources, 1)]
    unique = [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]
    return [read_scores(source, name) for source, name in zip(sources, unique, strict=True)]


def _name(source: str | Path | Evaluation, number: int) -> str:
    """Return the name of a source; a summary is named after its folder, because all summaries have the same name."""
    if isinstance(source, Evaluation):
        return printable(source.name or f"evaluation {number}")
    path = Path(source)
    return printable(f"{path.resolve().parent.name}/{path.name}" if path.name == "summary.csv" else path.name)


def read_scores(source: str | Path | Evaluation, file: str | None = None) -> list[Score]:
    """Return the scores of one source, called `file`.

    From a ``summary.csv``, the scores of codes without extension bits are read, or all if it has no column
    ``extension``.

    Raises
    ------
    ProtocolError
        If the file is missing, is neither a summary nor the JSON of an evaluation, contains anything but a number where
        one is expected, a number out of range, or two different values of the same score.
    """
    name = file or _name(source, 1)
    if isinstance(source, Evaluation):
        return _of_evaluation(source, name)
    path = Path(source)
    if not path.is_file():
        raise ProtocolError(f"{path}: expected a summary.csv or {_JSON}, got no such file.")
    verify(path, required=False)
    return _of_json(path, name) if path.suffix == ".json" else _of_summary(path, name)


def _known(value: Any) -> str | None:
    """Return a recorded value as text, or None."""
    text = "" if value is None else printable(str(value).strip())
    return text or None


def _of_summary(path: Path, file: str) -> list[Score]:
    pd = need("pandas", "report")
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise ProtocolError(f"{path}: expected a table of scores, got {' '.join(str(error).split())}.") from error
    missing = [column for column in _COLUMNS if column not in table]
    if missing:
        raise ProtocolError(f"{path}: expected the columns of a summary.csv, got a table without {', '.join(missing)}.")
    plain = _numeric(path, table[table["extension"] == "none"] if "extension" in table else table)
    _check_numbers(path, plain)
    _check_once(path, plain)
    runs = _Runs(path, file)
    columns = {
        column: plain[column] if column in plain else [_DEFAULTS.get(column)] * len(plain) for column in PROTOCOL
    }
    columns["ground_truth"] = list(map(_ground_truth, plain["ground_truth"], columns["relevance"], plain["feature"]))
    for field in ("dataset", "ground_truth", "split") if "options" in plain else ():
        columns[field] = [
            with_options(*row) for row in zip(columns[field], [field] * len(plain), plain["options"], strict=True)
        ]
    protocols = zip(*columns.values(), strict=True)
    rankings = (
        [_ranking(path, value) for value in plain["ranking"]] if "ranking" in plain else [_OF_SUMMARY] * len(plain)
    )
    return [
        Score(
            file=file,
            method=method_name(
                printable(f"{row['hasher']}, {row['feature']}"), ranking, printable(row.get("supervision") or "unknown")
            ),
            ranking=ranking,
            protocol=tuple(map(_known, protocol)),
            n_bits=int(row["n_bits"]),
            metric=printable(row["metric"]),
            mean=row["mean"],
            std=row["std"],
            n_runs=int(row["n_runs"]),
            ground_truth_sha256=None,
            convention=_known(row.get("convention")),
            version=_known(row.get("version")),
            values=functools.partial(runs.values, tuple(row[column] for column in _COMBINATION), row["mean"]),
        )
        for row, protocol, ranking in zip(plain.to_dict("records"), protocols, rankings, strict=True)
    ]


def _ranking(path: Path, value: Any) -> str:
    """Return the recorded name of a ranking."""
    if value not in RANKINGS:
        raise ProtocolError(
            f"{path}: ranking: expected {' or '.join(RANKINGS)}, got {'none' if value is None else repr(value)}."
        )
    return str(value)


def _ground_truth(name: str, relevance: str | None, feature: str) -> str:
    """Return the name of a ground truth, with the feature from whose distances it was computed, if any."""
    return name if relevance in OF_LABELS or name == "class_label" else f"{name} of {feature}"


def _numeric(path: Path, table: "pd.DataFrame") -> "pd.DataFrame":
    """Convert the numeric columns of the table to numbers; a mean or its standard deviation may be empty."""
    pd = need("pandas", "report")
    for column in (*_INTEGERS, "mean", "std"):
        numbers = pd.to_numeric(table[column].replace("", None), errors="coerce").astype(np.float64)
        is_valid = numbers % 1 == 0 if column in _INTEGERS else numbers.notna() | (table[column] == "")
        if not is_valid.all():
            expected = "integers" if column in _INTEGERS else "numbers"
            raise ProtocolError(
                f"{path}: column {column}: expected {expected}, got {table[column][~is_valid].iloc[0]!r}."
            )
        table = table.assign(**{column: numbers})
    return table


def _check_numbers(path: Path, table: "pd.DataFrame") -> None:
    """Raise ProtocolError if a number in a summary is out of range; the message gives the line of the file, from 1."""
    for row in table[[*_INTEGERS, "metric", "mean", "std"]].itertuples():
        where = f"{path}: line {row.Index + _FIRST_LINE} ({row.metric})"
        for column in _INTEGERS:
            if getattr(row, column) < 1:
                raise ProtocolError(f"{where}: {column}: expected an integer >= 1, got {getattr(row, column):g}.")
        if not (np.isnan(row.std) or 0 <= row.std < np.inf):
            raise ProtocolError(f"{where}: std: expected a finite number >= 0, got {row.std:g}.")
        _check_mean(where, row.metric, row.mean)


def _check_mean(where: str, metric: str, mean: float) -> None:
    """Raise ProtocolError unless a mean is undefined, or finite and in the range of its metric if that is known."""
    try:
        lowest, highest = registry.METRICS.entry(metric).range
    except ProtocolError:  # scores from other versions may have metrics that this version lacks
        lowest, highest = -np.inf, np.inf
    if np.isnan(mean):
        return
    if not np.isfinite(mean) or not lowest - _TOLERANCE <= mean <= highest + _TOLERANCE:
        bounded = f"from {lowest:g} to {highest:g}" if np.isfinite(highest) else f">= {lowest:g}"
        expected = "a finite number" if np.isinf(lowest) else f"a finite number {bounded}"
        raise ProtocolError(f"{where}: mean: expected {expected}, got {mean:g}.")


def _check_once(path: Path, table: "pd.DataFrame") -> None:
    """Raise ProtocolError if two rows of a summary are about the same score and have different values."""
    numbers = ["mean", "std", "n_runs"]
    keys = [
        column for column in ("extension_bits", "hasher", *PROTOCOL, "feature", "n_bits", "metric") if column in table
    ]
    distinct = table.drop_duplicates([*keys, *numbers])
    twice = distinct[distinct.duplicated(keys, keep=False)]
    if len(twice):
        one = twice.iloc[0]
        same = twice[(twice[keys] == one[keys]).all(axis=1)]
        lines = " and ".join(str(line + _FIRST_LINE) for line in same.index[:2])
        means = " and ".join(f"{mean:g}" for mean in same["mean"][:2])
        raise ProtocolError(
            f"{path}: lines {lines} ({one['hasher']}, {one['n_bits']:g} bits, {one['metric']}): expected one value for "
            f"each score, got two rows with the means {means}."
        )


class _Runs:
    """The values of the runs behind a summary, from ``metrics.csv`` and ``runs.csv`` next to it, read when needed."""

    def __init__(self, summary: Path, file: str) -> None:
        self._files = [summary.with_name(name) for name in ("metrics.csv", "runs.csv")]
        self._file = file

    def values(self, combination: tuple[Any, ...], mean: float) -> Values | Why:
        """Return the values of one combination of hasher, code length and so on, whose mean is in the summary."""
        missing = [path.name for path in self._files if not path.is_file()]
        if missing:
            return f"{self._file} has no {' and no '.join(missing)} next to it"
        table, rows = self._table
        runs = table.iloc[rows.get(combination, [])]
        if not len(runs) or abs(runs["value"].mean() - mean) > _TOLERANCE:
            return f"the metrics.csv next to {self._file} does not have the runs of this mean"
        return Values(RUN, runs["key"].to_numpy(dtype=np.str_), runs["value"].to_numpy(dtype=np.float64))

    @functools.cached_property
    def _table(self) -> "tuple[pd.DataFrame, Mapping[Any, Any]]":
        pd = need("pandas", "report")
        for path in self._files:
            verify(path, required=False)
        try:
            scores, runs = map(pd.read_csv, self._files)
            scores["value"] = pd.to_numeric(scores["value"])
            scores = scores[scores["extension"] == "none"] if "extension" in scores else scores
            table = scores.merge(runs, on=["feature", "ground_truth", "split", "run"], validate="many_to_one")
            table = table.assign(key=table["run"].astype(str) + " " + table["items"]).reset_index(drop=True)
            return table, table.groupby(_COMBINATION).indices
        except (ValueError, KeyError, TypeError) as error:
            where, reason = " and ".join(map(str, self._files)), " ".join(str(error).split())
            raise ProtocolError(f"{where}: expected the tables of an experiment, got {reason}.") from error


def _of_json(path: Path, file: str) -> list[Score]:
    try:
        content = json.loads(path.read_text(), object_pairs_hook=functools.partial(_once, path))
        scores = {printable(metric): _number(mean) for metric, mean in content["metrics"].items()}
        n_bits = integer(content["n_bits"], f"{path}: n_bits")
        ranking = _ranking(path, content.get("ranking"))
        for size in ("n_queries", "n_database"):
            if content.get(size) is not None:
                integer(content[size], f"{path}: {size}")
        for metric, mean in scores.items():
            _check_mean(f"{path}: {metric}", metric, mean)
    except ProtocolError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"{path}: expected {_JSON}, got {type(error).__name__}: {error}.") from error
    for field in ("empty", "ties", "per_query"):
        if not isinstance(content.get(field) or {}, dict):
            raise ProtocolError(f"{path}: expected {_JSON}, with an object as {field}, got {content[field]!r}.")
    recorded = content.get("per_query") or {}
    if recorded and not all(isinstance(recorded.get(key), str) for key in ("file", "sha256")):
        raise ProtocolError(f"{path}: expected {_JSON}, with file and sha256 in per_query, got {', '.join(recorded)}.")
    table = _PerQuery(path, file, recorded, content.get("ground_truth_sha256"), content.get("n_queries"))
    by_metric = {field: content.get(field) or {} for field in ("empty", "ties")}
    left = _without(path, content)
    groups: list[tuple[dict[str, float], Mapping[str, Any], NDArray[np.int64] | None]] = [(scores, _DEFAULTS, None)]
    groups += [left] if left else []
    return [
        Score(
            file=file,
            method=method_name(_known(content.get("name")) or path.stem, ranking),
            ranking=ranking,
            protocol=tuple(
                _known(by_metric[field].get(metric) if field in by_metric else queries.get(field, content.get(field)))
                for field in PROTOCOL
            ),
            n_bits=n_bits,
            metric=metric,
            mean=mean,
            std=np.nan,
            n_runs=None,
            ground_truth_sha256=_known(content.get("ground_truth_sha256")),
            convention=_known(content.get("convention")),
            version=_known(content.get("version")),
            values=functools.partial(table.values, metric, mean, excluded),
        )
        for of_group, queries, excluded in groups
        for metric, mean in of_group.items()
    ]


def _without(
    path: Path, content: Mapping[str, Any]
) -> tuple[dict[str, float], Mapping[str, Any], NDArray[np.int64]] | None:
    """Return the scores without the excluded queries, their identifying fields, and the rows of these queries."""
    recorded = content.get("without_queries")
    if recorded is None:
        return None
    where = f"{path}: without_queries"
    try:
        scores = {printable(metric): _number(mean) for metric, mean in recorded["metrics"].items()}
        n_queries = integer(recorded["n_queries"], f"{where}: n_queries")
        rows = np.array(recorded["excluded"], dtype=np.int64)
        excluded = excluded_rows(rows, n_queries + len(rows), f"{where}: excluded")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError(f"{where}: expected {_JSON}, got {type(error).__name__}: {error}.") from error
    for metric, mean in scores.items():
        _check_mean(f"{where}: {metric}", metric, mean)
    if content.get("n_queries") not in (None, n_queries + len(excluded)):
        raise ProtocolError(
            f"{where}: expected {content['n_queries']} queries in all, got {n_queries} remaining and {len(excluded)} "
            "excluded ones."
        )
    label = excluded_label(len(excluded), excluded_sha256(excluded.tolist()))
    return (scores, {"excluded_queries": label, "n_queries": n_queries}, excluded) if len(excluded) else None


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; raise ProtocolError if a key has two different values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ProtocolError(f"{path}: {key}: expected one value, got {found[key]!r} and {value!r}.")
        found[key] = value
    return found


def _number(mean: Any) -> float:
    if isinstance(mean, bool) or not isinstance(mean, (int, float, type(None))):
        raise TypeError(f"{mean!r} instead of a number")
    return np.nan if mean is None else float(mean)


class _PerQuery:
    """The values per query to which a JSON file refers, read when needed."""

    def __init__(self, path: Path, file: str, recorded: Mapping[str, str], truth: str | None, n: int | None) -> None:
        self._path, self._file, self._recorded, self._truth, self._n = path, file, recorded, truth, n

    def values(self, metric: str, mean: float, excluded: NDArray[np.int64] | None = None) -> Values | Why:
        """Return the values of one metric, without those of the excluded queries."""
        if not self._recorded or not self._truth:
            return f"{self._file} does not refer to values per query; `protocol evaluate --per-query` writes them"
        table = self._table
        if isinstance(table, str):
            return table
        if metric not in table:
            return f"{self._file} has one value for all queries together, not one per query"
        every = table[metric].to_numpy(dtype=np.float64)
        numbers = every if excluded is None or every.size != self._n else np.delete(every, excluded)
        of_mean = np.nanmean(numbers) if np.isfinite(numbers).any() else np.nan
        if every.size != self._n or not np.isclose(of_mean, mean, atol=_TOLERANCE, rtol=0, equal_nan=True):
            return f"{self._recorded['file']} does not have the values of the mean in {self._file}"
        return Values(QUERY, np.array([self._truth]), numbers)

    @functools.cached_property
    def _table(self) -> "pd.DataFrame | Why":
        pd = need("pandas", "report")
        path = self._path.parent / self._recorded["file"]
        if not path.is_file():
            return f"{self._file} refers to {path.name}, which is missing"
        if file_sha256(path) != self._recorded["sha256"]:
            return f"{path.name} is not the file to which {self._file} refers: its SHA-256 differs"
        try:
            return pd.read_csv(path).drop(columns="ranking").astype(np.float64)
        except (ValueError, KeyError) as error:
            return f"{path.name} is not a table of numbers ({' '.join(str(error).split())})"


def _of_evaluation(evaluation: Evaluation, file: str) -> list[Score]:
    rules = find(evaluation.convention)
    fields = {field: getattr(evaluation, field, None) for field in PROTOCOL} | _DEFAULTS
    groups = [(evaluation.metrics, evaluation.per_query, evaluation.n_queries, fields)]
    left = evaluation.without
    if left is not None and left.n_excluded:
        without = fields | {"excluded_queries": left.label, "n_queries": left.n_queries}
        groups.append((left.metrics, left.per_query, left.n_queries, without))
    scores = []
    for metrics, per_query, n_queries, of_group in groups:
        for metric, mean in metrics.items():
            by_metric = {"empty": rules.empty(metric), "ties": registry.METRICS.entry(metric).ties}
            values = functools.partial(_values_of, evaluation, per_query[metric], n_queries, file)
            scores.append(
                Score(
                    file=file,
                    method=method_name(_known(evaluation.name) or file, evaluation.ranking),
                    ranking=evaluation.ranking,
                    protocol=tuple(map(_known, (of_group | by_metric).values())),
                    n_bits=evaluation.n_bits,
                    metric=metric,
                    mean=mean,
                    std=np.nan,
                    n_runs=None,
                    ground_truth_sha256=evaluation.ground_truth_sha256,
                    convention=evaluation.convention,
                    version=__version__,
                    values=values,
                )
            )
    return scores


def _values_of(evaluation: Evaluation, numbers: NDArray[np.float64], n_queries: int, file: str) -> Values | Why:
    if numbers.size != n_queries or evaluation.ground_truth_sha256 is None:
        return f"{file} has one value for all queries together, not one per query"
    return Values(QUERY, np.array([evaluation.ground_truth_sha256]), np.asarray(numbers, dtype=np.float64))


def named_by_method(scores: Sequence[Score]) -> list[Score]:
    """Return the scores with unique names of methods.

    Files about one method with different code lengths or metrics remain one method. If two files have the same score of
    the same method, or one name is used for two rankings, the name of the file is added to distinguish them.
    """
    seen: dict[tuple[Any, ...], str] = {}
    rankings: dict[str, str] = {}
    twice = set()
    for score in scores:
        is_seen = seen.setdefault((score.method, score.n_bits, score.metric, score.protocol), score.file) != score.file
        if is_seen or rankings.setdefault(score.method, score.ranking) != score.ranking:
            twice.add(score.method)
    return [
        replace(score, method=f"{score.method} ({score.file})") if score.method in twice else score for score in scores
    ]
