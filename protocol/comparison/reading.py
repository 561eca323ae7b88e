"""Reads scores from the summary of an experiment, from the JSON of `protocol evaluate`, or from an `Evaluation`."""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer, need, one_of, printable
from protocol.comparison.curves import Curves, read_curves, stored_curves, written_curves
from protocol.evaluation import Evaluation, WithoutQueries
from protocol.evaluation.exclusion import excluded_label, excluded_rows, excluded_sha256
from protocol.provenance.checksums import verify
from protocol.provenance.storage import file_sha256
from protocol.scores.metadata import NONE_EXCLUDED, OF_LABELS, PROTOCOL, RANKINGS, method_name, with_options
from protocol.scores.summary import TOLERANCE, check_mean, read_summary

if TYPE_CHECKING:
    import pandas as pd

RUN, QUERY = "run", "query"
_COMBINATION = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]
_VALUES = ("mean", "std", "n_runs")
_TABLES = ("metrics.csv", "runs.csv")
_POOLED = "has one value for all queries together, not one per query"
_JSON = "the JSON of `protocol evaluate --json`"
FILES = ("per_query", "pr_curves", "top_k_curves")
"""The keys of a JSON file under which it refers to other files."""
Why = str
"""A reason in words."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values behind one mean.

    Parameters
    ----------
    unit : {"run", "query"}
        The unit that has one value each.
    items : ndarray of str
        For runs, identifiers of the run and its queries, database and ground truth, (n,). For queries, the digest of
        the ground truth, (1,).
    numbers : ndarray of float64, shape (n,)
        NaN where a query is left out.
    """

    unit: str
    items: NDArray[np.str_]
    numbers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Defined values of two methods on the same items; `of` is the number of items for which either has a value."""

    unit: str
    one: NDArray[np.float64]
    other: NDArray[np.float64]
    of: int


def pair(one: Values | Why, other: Values | Why) -> Pairs | Why:
    """Return the values of the same runs or queries, or the reason why there are none.

    Examples
    --------
    >>> runs = Values(RUN, np.array(["0 a", "1 b", "2 c"]), np.array([0.4, 0.5, 0.6]))
    >>> pair(runs, Values(RUN, np.array(["1 b", "2 c", "3 d"]), np.array([0.7, 0.8, 0.9]))).one
    array([0.5, 0.6])
    >>> pair(runs, Values(RUN, np.array(["0 x", "1 y"]), np.array([0.7, 0.8])))
    'no run has the same queries, database and ground truth in both'
    """
    if isinstance(one, Why) or isinstance(other, Why):
        return "; ".join(dict.fromkeys(value for value in (one, other) if isinstance(value, Why)))
    if one.unit != other.unit:
        return f"one has a value per {one.unit}, the other a value per {other.unit}"
    if one.unit == RUN:
        _, left, right = np.intersect1d(one.items, other.items, return_indices=True)
        if not left.size:
            return "no run has the same queries, database and ground truth in both"
    elif one.items[0] != other.items[0] or one.numbers.size != other.numbers.size:
        return "the ground truths of their queries differ"
    else:
        left = right = np.arange(one.numbers.size)
    x, y = one.numbers[left], other.numbers[right]
    defined = ~(np.isnan(x) | np.isnan(y))
    if defined.sum() < 2:
        return f"fewer than two {'runs' if one.unit == RUN else 'queries'} have a value in both"
    return Pairs(one.unit, x[defined], y[defined], max(one.numbers.size, other.numbers.size))


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
        One of `protocol.scores.metadata.RANKINGS`.
    protocol : tuple of str or None
        The values of the fields `protocol.scores.metadata.PROTOCOL`; None for fields that the file does not record.
    n_bits : int
    metric : str
    mean : float
        The mean score; NaN if it is undefined.
    std : float
        The standard deviation over the runs; NaN if it is undefined or there is a single run.
    n_runs : int or None
        None if there are no runs.
    ground_truth_sha256 : str or None
        The digest of the ground truth, None if it is not known. Scores with different digests are never compared.
    convention, version : str or None
    values : callable
        Returns the values behind the mean, or the reason why there are none.
    curves : callable
        Returns the curves of the method and code length, or the reason why there are none.
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
    curves: Callable[[], Curves | Why]

    @property
    def fields(self) -> dict[str, str | None]:
        """The values of `protocol` by the name of the field."""
        return dict(zip(PROTOCOL, self.protocol, strict=True))


def read_sources(sources: Sequence[str | Path | Evaluation | WithoutQueries]) -> dict[str, list[Score]]:
    """Return the scores of each source by its name; sources with the same name are numbered.

    Raises
    ------
    ProtocolError
        If there are fewer than two sources, or one of them can't be read.
    """
    if len(sources) < 2:
        raise ProtocolError(f"compare needs at least two files, got {len(sources)}.")
    names = [_name(source, number) for number, source in enumerate(sources, 1)]
    unique = [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]
    return {name: read_scores(source, name) for source, name in zip(sources, unique, strict=True)}


def _name(source: str | Path | Evaluation | WithoutQueries, number: int) -> str:
    """Return the name of a source; a summary is named after its folder, because all summaries have the same name."""
    if isinstance(source, Evaluation | WithoutQueries):
        source = source if isinstance(source, Evaluation) else source.evaluation
        return printable(source.name or f"evaluation {number}")
    path = Path(source)
    return printable(f"{path.resolve().parent.name}/{path.name}" if path.name == "summary.csv" else path.name)


def read_scores(source: str | Path | Evaluation | WithoutQueries, file: str | None = None) -> list[Score]:
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
    if isinstance(source, Evaluation | WithoutQueries):
        return _of_evaluation(source, name)
    path = Path(source)
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file; give a summary.csv or {_JSON}.")
    verify(path, required=False)
    return _of_json(path, name) if path.suffix == ".json" else _of_summary(path, name)


def _known(value: Any) -> str | None:
    """Return a recorded value as text, or None."""
    text = "" if value is None else printable(str(value).strip())
    return text or None


def _score(
    recorded: Mapping[str, Any],
    file: str,
    name: str,
    metric: str,
    values: Callable[[], Values | Why],
    curves: Callable[[], Curves | Why],
) -> Score:
    """Return the score with these recorded fields."""
    supervision = printable(recorded.get("supervision") or "unknown")
    return Score(
        file=file,
        method=method_name(printable(name), recorded["ranking"], supervision),
        ranking=recorded["ranking"],
        protocol=tuple(_known(recorded.get(field)) for field in PROTOCOL),
        n_bits=recorded["n_bits"],
        metric=metric,
        mean=recorded["mean"],
        std=recorded.get("std", np.nan),
        n_runs=recorded.get("n_runs"),
        ground_truth_sha256=_known(recorded.get("ground_truth_sha256")),
        convention=_known(recorded.get("convention")),
        version=_known(recorded.get("version")),
        values=values,
        curves=curves,
    )


def _of_summary(path: Path, file: str) -> list[Score]:
    rows = [row for row in read_summary(path) if row["extension"] == "none"]
    _check_once(path, rows)
    runs, stored, scores = functools.cache(lambda: _read_runs(path)), functools.cache(read_curves), []
    for row in rows:
        # The pipeline has no other ranking, and stored results may be older than the column.
        recorded = {"ranking": "hamming", "excluded_queries": NONE_EXCLUDED} | row
        one_of(recorded["ranking"], RANKINGS, f"{path}: ranking")
        if row.get("relevance") not in OF_LABELS and row["ground_truth"] != "class_label":
            recorded["ground_truth"] += f" of {row['feature']}"  # computed from the distances of this feature
        for field in ("dataset", "ground_truth", "split"):
            recorded[field] = with_options(recorded[field], field, row.get("options", ""))
        combination = tuple(row[column] for column in _COMBINATION)
        values = functools.partial(_run_values, path, file, runs, combination, row["mean"])
        place = {column: row[column] for column in _COMBINATION[:-1]}
        curves = functools.partial(stored_curves, path, file, stored, **place)
        name = f"{row['hasher']}, {row['feature']}"
        scores.append(_score(recorded, file, name, printable(row["metric"]), values, curves))
    return scores


def _check_once(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise ProtocolError if two rows of a summary are about the same score and have different values."""
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in rows:
        one = first.setdefault(tuple(row.get(column) for column in (*PROTOCOL, *_COMBINATION)), row)
        if repr([row[name] for name in _VALUES]) != repr([one[name] for name in _VALUES]):  # NaN equals NaN
            raise ProtocolError(
                f"{path}: lines {one['line']} and {row['line']} have different means of one score ({row['hasher']}, "
                f"{row['n_bits']} bits, {row['metric']}): {one['mean']:g} and {row['mean']:g}."
            )


def _run_values(
    path: Path, file: str, table: Callable[[], Any], combination: tuple[Any, ...], mean: float
) -> Values | Why:
    """Return the values of the runs of one combination, from the tables next to a summary, which has their mean."""
    if missing := [name for name in _TABLES if not path.with_name(name).is_file()]:
        return f"{file} has no {' and no '.join(missing)} next to it"
    items, numbers, rows = table()
    of_runs = rows.get(combination, [])
    if not len(of_runs) or abs(np.nanmean(numbers[of_runs]) - mean) > TOLERANCE:
        return f"the metrics.csv next to {file} does not have the runs of this mean"
    return Values(RUN, items[of_runs], numbers[of_runs])


def _read_runs(summary: Path) -> tuple[NDArray[np.str_], NDArray[np.float64], Mapping[Any, Any]]:
    """Return the items and the value of each run of an experiment, and the rows of each combination."""
    pd, files = need("pandas", "report"), [summary.with_name(name) for name in _TABLES]
    for path in files:
        verify(path, required=False)
    try:
        scores, runs = map(pd.read_csv, files)
        scores["value"] = pd.to_numeric(scores["value"])
        scores = scores[scores["extension"] == "none"] if "extension" in scores else scores
        table = scores.merge(runs, on=["feature", "ground_truth", "split", "run"], validate="many_to_one")
        items = (table["run"].astype(str) + " " + table["items"]).to_numpy(dtype=np.str_)
        return items, table["value"].to_numpy(dtype=np.float64), table.groupby(_COMBINATION).indices
    except (ValueError, KeyError, TypeError) as error:
        where, reason = " and ".join(map(str, files)), " ".join(str(error).split())
        raise ProtocolError(f"{where}: can't be read as the tables of an experiment ({reason}).") from error


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of the JSON of `protocol evaluate --json`.

    Raises
    ------
    ProtocolError
        If the file can't be read, or is anything else.
    """
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file; give {_JSON}.")
    with explained(path):
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=functools.partial(_once, path))
        if not isinstance(content, dict):
            raise ProtocolError(f"{path}: not {_JSON}: it contains no object.")
        for field in ("metrics", "undefined", "ties", *FILES):
            value = content[field] if field == "metrics" else content.get(field) or {}
            if not isinstance(value, dict):
                raise ProtocolError(f"{path}: not {_JSON}: {field} must be an object, got {value!r}.")
            if field in FILES and value and not all(isinstance(value.get(key), str) for key in ("file", "sha256")):
                raise ProtocolError(
                    f"{path}: not {_JSON}: {field} must contain file and sha256, got {', '.join(value)}."
                )
        return content


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors that other JSON causes into a ProtocolError with the name of the file."""
    try:
        yield
    except ProtocolError:
        raise
    except KeyError as error:
        raise ProtocolError(f"{path}: not {_JSON}: the key {error} is missing.") from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"{path}: not {_JSON} ({' '.join(str(error).split())}).") from error


def _of_json(path: Path, file: str) -> list[Score]:
    content = read_json(path)
    with explained(path):
        behind = functools.partial(_query_values, path, file, content, functools.cache(_per_query))
        curves = functools.partial(_curves_of, path, file, content)
        return _of_content(content, path, file, path.stem, behind, curves)


def _of_evaluation(source: Evaluation | WithoutQueries, file: str) -> list[Score]:
    evaluation = source if isinstance(source, Evaluation) else source.evaluation

    def values(metric: str, mean: float, excluded: Sequence[int] | None) -> Values | Why:
        scored = evaluation if excluded is None else source
        if scored.per_query[metric].size != scored.n_queries or not evaluation.ground_truth_sha256:
            return f"{file} {_POOLED}"
        return Values(QUERY, np.array([evaluation.ground_truth_sha256]), scored.per_query[metric])

    def curves() -> Curves:
        return Curves(evaluation.pr_curves.get("micro"), evaluation.top_k)

    return _of_content(json.loads(source.to_json()), file, file, file, values, curves)


def _of_content(
    content: Mapping[str, Any],
    where: str | Path,
    file: str,
    name: str,
    values: Callable[[str, float, Sequence[int] | None], Values | Why],
    curves: Callable[[], Curves | Why],
) -> list[Score]:
    """Return the scores of an evaluation, those without the excluded queries last.

    Parameters
    ----------
    content : mapping
        As `protocol.evaluation.Evaluation.to_json` describes it.
    where : str or Path
        The name of the source in messages.
    file : str
        The name of the source in tables.
    name : str
        The name of the method if none is recorded.
    values : callable
        Returns the values behind a mean, given the metric, the mean and the rows of the excluded queries, if any.
    curves : callable
        Returns the curves of all queries.
    """
    for size in ("n_bits", "n_queries", "n_database"):
        if size == "n_bits" or content.get(size) is not None:
            integer(content[size], f"{where}: {size}")
    one_of(content.get("ranking"), RANKINGS, f"{where}: ranking")
    complete = (str(where), content["metrics"], {"excluded_queries": NONE_EXCLUDED}, None)
    scores = []
    for group, metrics, queries, excluded in (complete, *_without_queries(content, where)):
        for metric, number in metrics.items():
            mean = _mean(number, f"{group}: {printable(metric)}: mean", metric)
            by_metric = {field: (content.get(field) or {}).get(metric) for field in ("undefined", "ties")}
            recorded = {**content, **queries, **by_metric, "mean": mean}
            behind = functools.partial(values, metric, mean, excluded)
            drawn = curves if excluded is None else functools.partial(str, f"{file} has only curves of all queries")
            scores.append(_score(recorded, file, _known(content.get("name")) or name, printable(metric), behind, drawn))
    return scores


def _mean(number: Any, where: str, metric: str) -> float:
    """Return the mean that a JSON file has for a metric, NaN for null."""
    if isinstance(number, bool) or not isinstance(number, int | float | None):
        raise ProtocolError(f"{where}: expected a number, got {number!r}.")
    if number is None or np.isnan(float(number)):
        return np.nan
    check_mean(where, metric, float(number))
    return float(number)


def _without_queries(
    content: Mapping[str, Any], where: str | Path
) -> list[tuple[str, Mapping[str, Any], dict[str, Any], Sequence[int] | None]]:
    """Return where the metrics without the excluded queries are, these, the recorded fields, and the queries' rows."""
    without, inside = content.get("without_queries"), f"{where}: without_queries"
    if without is None:
        return []
    n_queries, rows = integer(without["n_queries"], f"{inside}: n_queries"), np.array(without["excluded"], np.int64)
    excluded = excluded_rows(rows, n_queries + len(rows), f"{inside}: excluded").tolist()
    if content.get("n_queries") not in (None, n_queries + len(excluded)):
        raise ProtocolError(
            f"{inside}: {n_queries:,} remaining and {len(excluded):,} excluded queries do not add up to n_queries = "
            f"{content['n_queries']:,}."
        )
    if not excluded:
        return []
    if not isinstance(without["metrics"], dict):
        raise ProtocolError(f"{inside}: metrics must be an object, got {without['metrics']!r}.")
    label = excluded_label(len(excluded), excluded_sha256(excluded))
    return [(inside, without["metrics"], {"excluded_queries": label, "n_queries": n_queries}, excluded)]


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; raise ProtocolError if a key has two different values."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        first = content.setdefault(key, value)
        if first is not value and first != value:  # NaN differs from itself
            raise ProtocolError(f"{path}: {key} has two values, {content[key]!r} and {value!r}.")
    return content


def _referred(path: Path, file: str, record: Mapping[str, str]) -> Path | Why:
    """Return the path of a file to which a JSON file refers, or the reason why it can't be used."""
    referred = path.parent / record["file"]
    if not referred.is_file():
        return f"{file} refers to {referred.name}, which is missing"
    if file_sha256(referred) != record["sha256"]:
        return f"{referred.name} is not the file to which {file} refers: its SHA-256 differs"
    return referred


def _curves_of(path: Path, file: str, content: Mapping[str, Any]) -> Curves | Why:
    """Return the curves to which a JSON file refers."""
    files = {key: _referred(path, file, content[key]) for key in FILES[1:] if content.get(key)}
    if not files:
        return f"{file} does not refer to curves; `protocol evaluate --pr-curves --top-k-curves` writes them"
    problems = [one for one in files.values() if isinstance(one, str)]
    return problems[0] if problems else written_curves(**files)  # type: ignore[arg-type]


def _query_values(
    path: Path,
    file: str,
    content: Mapping[str, Any],
    read: Callable[[Path], "pd.DataFrame"],
    metric: str,
    mean: float,
    excluded: Sequence[int] | None = None,
) -> Values | Why:
    """Return the values per query of one metric to which a JSON file refers, without those of the excluded queries."""
    record, truth, n_queries = content.get("per_query"), content.get("ground_truth_sha256"), content.get("n_queries")
    if not record or not truth:
        return "a file does not refer to values per query; `protocol evaluate --per-query` writes them"
    table = _referred(path, file, record)
    if isinstance(table, str):
        return table
    try:
        values = read(table)
    except (ValueError, KeyError) as error:
        return f"{table.name} is not a table of numbers ({' '.join(str(error).split())})"
    if metric not in values:
        return f"{file} {_POOLED}"
    every = values[metric].to_numpy(dtype=np.float64)
    numbers = every if excluded is None or every.size != n_queries else np.delete(every, excluded)
    of_mean = np.nanmean(numbers) if np.isfinite(numbers).any() else np.nan
    if every.size != n_queries or not np.isclose(of_mean, mean, atol=TOLERANCE, rtol=0, equal_nan=True):
        return f"{record['file']} does not have the values of the mean in {file}"
    return Values(QUERY, np.array([truth]), numbers)


def _per_query(path: Path) -> "pd.DataFrame":
    return need("pandas", "report").read_csv(path).drop(columns="ranking").astype(np.float64)


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
