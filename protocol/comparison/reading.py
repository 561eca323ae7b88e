"""Reads scores from the summary of an experiment, from the JSON of `protocol evaluate`, or from an `Evaluation`."""

import contextlib
import functools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonpath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer, need, one_of, printable
from protocol.evaluation import Evaluation
from protocol.evaluation.exclusion import excluded_label, excluded_rows, excluded_sha256
from protocol.inputs.formats import EXTENSIONS, TEXT
from protocol.inputs.text import INPUTS
from protocol.provenance.checksums import verify
from protocol.provenance.storage import file_sha256
from protocol.registry.records import read_toml
from protocol.scores.metadata import NONE_EXCLUDED, OF_LABELS, PROTOCOL, RANKINGS, method_name, with_options
from protocol.scores.statistics import shared_variance
from protocol.scores.summary import TOLERANCE, checked_mean, read_summary
from protocol.scores.tables import read_text

RUN, QUERY, GROUP = "run", "query", "query group"
_COMBINATION = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]
_VALUES = ("mean", "std", "n_runs")
_TABLES = ("metrics.csv", "runs.csv")
_GROUPS = "query_groups.csv"
"""Optional: the means of equal groups of queries, a column each, of combinations with a single run."""
_JSON = "the JSON of `protocol evaluate --json`"
Source = str | Path | Evaluation
ONE_VALUE = "one value for all queries"
Why = str
"""A reason in words."""
_PerQuery = tuple[Sequence[str], Mapping[str, NDArray[np.float64]]] | Why
PACKAGE_DATA = "texts.toml"
TEXTS = read_toml(Path(__file__).with_name(PACKAGE_DATA))
"""Sentences of comparisons and leaderboards."""
OF_METRIC = ("undefined", "ties")
"""The fields that depend on the metric; scores of one file agree in all others."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values behind one mean.

    Parameters
    ----------
    unit : {"run", "query", "query group"}
        The unit that has one value each.
    items : ndarray of str
        For runs, identifiers of the run and its queries, database and ground truth, (n,). For queries, the digest of
        the ground truth, (1,), followed by their ids if these are known, (1 + n,); for groups of them, the identifier
        of the run, (1,).
    numbers : ndarray of float64, shape (n,)
        NaN where a query is left out.
    """

    unit: str
    items: NDArray[np.str_]
    numbers: NDArray[np.float64]


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
    fields : dict of str to str or None
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
    values : Values or str
        The values behind the mean, or the reason why there are none.
    recorded : dict of str to Any
        Everything that the file records about the score: the row of a summary with its ``line``, or a JSON object.
    assumed : dict of str to str
        The fields that the file does not record, with their assumed values.
    """

    file: str
    method: str
    ranking: str
    fields: Mapping[str, str | None]
    n_bits: int
    metric: str
    mean: float
    std: float
    n_runs: int | None
    ground_truth_sha256: str | None
    convention: str | None
    version: str | None
    values: Values | Why
    recorded: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)

    @property
    def section(self) -> tuple[str | None, ...]:
        """The values of the fields that do not depend on the metric."""
        return tuple(value for field, value in self.fields.items() if field not in OF_METRIC)

    @property
    def shared(self) -> float:
        """The `shared_variance` of its runs."""
        return shared_variance(self.fields["n_queries"], self.fields["n_database"])

    @property
    def kind(self) -> tuple[object, ...]:
        """What scores have in common that are compared with each other: metric, code length and protocol."""
        return self.metric, self.n_bits, *self.fields.values()


def read_sources(sources: Sequence[Source]) -> dict[str, list[Score]]:
    """Return the scores of each source by its name; to equal names, the folders that differ are added, or a number.

    Raises
    ------
    ProtocolError
        If one of them can't be read.
    """
    names = [_name(source, number) for number, source in enumerate(sources, 1)]
    folders = defaultdict[str, list[Path]](list)
    files = {at: Path(one).resolve() for at, one in enumerate(sources) if not isinstance(one, Evaluation)}
    for at, file in files.items():
        folders[names[at]].append(file.parent)
    inside = {at: file.relative_to(commonpath(folders[names[at]])).as_posix() for at, file in files.items()}
    names = [max(name, printable(inside.get(at, "")), key=len) for at, name in enumerate(names)]
    numbered = [f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)]
    unique = [long if names.count(name) > 1 else name for name, long in zip(names, numbered, strict=True)]
    return {name: read_scores(source, name) for source, name in zip(sources, unique, strict=True)}


def _name(source: Source, number: int) -> str:
    """Return the name of a source; a summary is named after its folder, because all summaries have the same name."""
    if isinstance(source, Evaluation):
        return printable(source.name or f"evaluation {number}")
    if not isinstance(source, (str, Path)):
        raise ProtocolError(f"compare: source {number} must be a file or an Evaluation, got {type(source).__name__}.")
    path = Path(source)
    return printable(f"{path.resolve().parent.name}/{path.name}" if path.name == "summary.csv" else path.name)


def read_scores(source: Source, file: str | None = None) -> list[Score]:
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
        per_query = {m: values for m, values in source.per_query.items() if values.size == source.n_queries}
        return _of_content(json.loads(source.to_json()), name, name, name, (source.query_ids, per_query))
    path = Path(source)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        raise ProtocolError(f"{path}: {found}; give a summary.csv or {_JSON}.")
    verify(path, required=False)
    if path.suffix in EXTENSIONS - {*TEXT}:
        raise ProtocolError(f"{path}: not a summary.csv, and not {_JSON}.")
    if path.suffix != ".json":
        return _of_summary(path, name)
    content = read_json(path)
    with explained(path):
        return _of_content(content, path, name, path.stem, _per_query(path, name, content))


def _score(recorded: Mapping[str, Any], file: str, name: str, values: Values | Why) -> Score:
    """Return the score with these recorded fields, and the values behind its mean, if they have it."""
    if isinstance(values, Values):
        defined = values.numbers[~np.isnan(values.numbers)]
        mean = defined.mean() if defined.size else np.nan
        if not np.isclose(mean, recorded["mean"], rtol=0, atol=TOLERANCE, equal_nan=True):
            path = recorded["path"]
            # The metrics.csv next to another table may be that of a summary.csv.
            if values.unit == QUERY or Path(path).name == "summary.csv":
                is_what = f"{printable(recorded['metric'])} is {recorded['mean']:.6g}"
                other = f"its values per {values.unit} have the mean {mean:.6g}"
                raise ProtocolError(f"{path}: {is_what}, but {other}. `protocol verify` shows what changed.")
            values = f"the values per {values.unit} do not have the mean in {file}"
    supervision = printable(recorded.get("supervision") or "unknown")
    known: dict[str, Any] = {key: recorded[key] for key in ("ranking", "n_bits", "mean")}
    known |= {key: _known(recorded.get(key)) for key in ("ground_truth_sha256", "convention", "version")}
    return Score(
        file=file,
        method=method_name(printable(name), recorded["ranking"], supervision),
        fields={key: _known(recorded.get(key)) for key in PROTOCOL},
        metric=printable(recorded["metric"]),
        std=recorded.get("std", np.nan),
        n_runs=recorded.get("n_runs"),
        values=values,
        recorded=recorded,
        **known,
    )


def _known(value: Any) -> str | None:
    """Return a recorded value as text, or None."""
    text = "" if value is None else printable(str(value).strip())
    return text or None


# Summaries


def _of_summary(path: Path, file: str) -> list[Score]:
    rows = [row for row in read_summary(path) if row["extension"] == "none"]
    _check_once(path, rows)
    audit = path.with_name("audit.csv")
    if n_errors := sum(row.get("severity") == "error" for row in (read_text(audit) if audit.is_file() else ())):
        INPUTS.warning("%s: its splits have %s, see %s", file, counted(n_errors, "error"), audit.name)
    runs, scores = _read_runs(path, file), []
    for row in rows:
        # The pipeline has no other ranking, and stored results may be older than the column.
        recorded: dict[str, Any] = {"ranking": "hamming", "excluded_queries": NONE_EXCLUDED, "path": path} | row
        one_of(recorded["ranking"], RANKINGS, f"{path}: ranking")
        if row.get("relevance") not in OF_LABELS and row["ground_truth"] != "class_label":
            recorded["ground_truth"] += f" of {row['feature']}"  # computed from the distances of this feature
        for key in ("dataset", "ground_truth", "split"):
            recorded[key] = with_options(recorded[key], key, row.get("options", ""))
        combination = tuple(row[column] for column in _COMBINATION)
        none = f"the metrics.csv next to {file} lacks its runs"
        values = runs if isinstance(runs, Why) else runs.get(combination, none)
        scores.append(_score(recorded, file, f"{row['hasher']}, {row['feature']}", values))
    return scores


def _check_once(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise ProtocolError if two rows of a summary are about the same score and have different values."""
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in rows:
        one = first.setdefault(tuple(row.get(column) for column in (*PROTOCOL, *_COMBINATION)), row)
        if repr([row[name] for name in _VALUES]) != repr([one[name] for name in _VALUES]):  # NaN equals NaN
            score = f"({row['hasher']}, {row['n_bits']} bits, {row['metric']}): {one['mean']:g} and {row['mean']:g}"
            lines = f"lines {one['line']} and {row['line']}"
            raise ProtocolError(f"{path}: {lines} have different means of one score {score}.")


def _read_runs(summary: Path, file: str) -> Mapping[Any, Values] | Why:
    """Return the values of the runs of each combination, from the tables next to a summary."""
    files = [summary.with_name(name) for name in _TABLES]
    if missing := [path.name for path in files if not path.is_file()]:
        return f"{file} has no {' and no '.join(missing)} next to it"
    pd = need("pandas", "report")
    files += [path for path in [summary.with_name(_GROUPS)] if path.is_file()]
    for path in files:
        verify(path, required=False)
    try:
        scores, runs, *of_groups = map(pd.read_csv, files)
        scores["value"] = pd.to_numeric(scores["value"])
        scores = scores[scores["extension"] == "none"] if "extension" in scores else scores
        table = scores.merge(runs, on=["feature", "ground_truth", "split", "run"], validate="many_to_one")
        items = (table["run"].astype(str) + " " + table["items"]).to_numpy(dtype=np.str_)
        numbers, rows = table["value"].to_numpy(dtype=np.float64), table.groupby(_COMBINATION).indices
        values = {combination: Values(RUN, items[of_runs], numbers[of_runs]) for combination, of_runs in rows.items()}
        for groups in (table.set_index(_COMBINATION) for table in of_groups):
            for combination, means in zip(groups.index, groups.to_numpy(dtype=np.float64), strict=True):
                values[combination] = Values(GROUP, values[combination].items, means)
    except (ValueError, KeyError, TypeError) as error:
        where, reason = " and ".join(map(str, files)), " ".join(str(error).split())
        raise ProtocolError(f"{where}: can't be read as the tables of an experiment ({reason}).") from error
    return values


# Evaluations, as files or in memory


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of the JSON of `protocol evaluate --json`.

    Raises
    ------
    ProtocolError
        If the file can't be read, or is anything else.
    """
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file or folder.")
    with explained(path):
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=functools.partial(_once, path))
        if not isinstance(content, dict):
            raise ProtocolError(f"{path}: not {_JSON}: it contains no object.")
        if content.get("ranking") == "run":
            raise ProtocolError(f"{path}: the scores of a run, which can't be compared or verified.")
        return content


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors that other JSON causes into a ProtocolError with the name of the file."""
    try:
        yield
    except ProtocolError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        known = {UnicodeDecodeError: ": it is not text in UTF-8", KeyError: f": the key {error} is missing"}
        reason = known.get(type(error), f" ({' '.join(str(error).split())})")
        raise ProtocolError(f"{path}: not {_JSON}{reason}.") from error


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; raise ProtocolError if a key has two different values."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        first = content.setdefault(key, value)
        if first is not value and first != value:  # NaN differs from itself
            raise ProtocolError(f"{path}: {key} has two values, {content[key]!r} and {value!r}.")
    return content


def _per_query(path: Path, file: str, content: Mapping[str, Any]) -> _PerQuery:
    """Return the ids of queries, () if they are row numbers, and the values to which a JSON file refers, by metric."""
    record = content.get("per_query")
    if not record or not content.get("ground_truth_sha256"):
        return "a file does not refer to values per query; `protocol evaluate --per-query` writes them"
    table = path.parent / record["file"]
    if not table.is_file() or file_sha256(table) != record["sha256"]:
        return f"{file} refers to {table.name}, which is missing or has another SHA-256"
    try:
        frame = need("pandas", "report").read_csv(table, dtype={"query": str}, keep_default_na=False, na_values=[""])
        ids, frame = frame["query"].tolist(), frame.drop(columns=["query", "ranking"]).astype(np.float64)
    except (ValueError, KeyError) as error:
        return f"{table.name} is not a table of numbers ({' '.join(str(error).split())})"
    by_metric = {metric: values.to_numpy() for metric, values in frame.items()}
    return () if ids == [*map(str, range(len(ids)))] else ids, by_metric


def _of_content(content: dict[str, Any], where: str | Path, file: str, name: str, per_query: _PerQuery) -> list[Score]:
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
    per_query : (sequence of str, mapping of str to ndarray of float64, shape (n_queries,)), or str
        The ids, if they are known, and the values of all queries by metric, or the reason why there are none.
    """
    one_of(content.get("ranking"), RANKINGS, f"{where}: ranking")
    integer(content["n_bits"], f"{where}: n_bits")
    for size in ("n_queries", "n_database"):
        if content.get(size) is not None:
            integer(content[size], f"{where}: {size}")
    scores, every = [], (str(where), content["metrics"], {"excluded_queries": NONE_EXCLUDED}, list[int]())
    for inside, metrics, fields, excluded in (every, *_without_queries(content, f"{where}: without_queries")):
        for metric, number in metrics.items():
            where_mean = f"{inside}: {printable(metric)}: mean"
            if isinstance(number, str):
                raise ProtocolError(f"{where_mean} must be a number, got {number!r}.")
            mean = np.nan if number is None else checked_mean(where_mean, metric, number)
            by_metric = {key: (content.get(key) or {}).get(metric) for key in ("undefined", "ties")}
            recorded = {**content, **fields, **by_metric, "metric": metric, "mean": mean, "path": where}
            values: Values | Why = f"{file} has {ONE_VALUE} together, not one per query"
            if isinstance(per_query, Why):
                values = per_query
            elif metric in per_query[1]:
                ids, numbers = per_query[0], per_query[1][metric]
                own = np.delete(numbers, excluded) if numbers.size == content.get("n_queries") else numbers[:0]
                of_own = np.delete(np.array(ids, np.str_), excluded) if len(ids) == numbers.size else ()
                values = Values(QUERY, np.array([content["ground_truth_sha256"], *of_own]), own)
            scores.append(_score(recorded, file, _known(content.get("name")) or name, values))
    return scores


def _without_queries(
    content: Mapping[str, Any], inside: str
) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Any], list[int]]]:
    """Yield the place, the metrics, the fields and the excluded rows of an evaluation without some queries, if any."""
    without = content.get("without_queries")
    if without is None:
        return
    n_queries = integer(without["n_queries"], f"{inside}: n_queries")
    rows = np.array(without["excluded"], np.int64)
    excluded = excluded_rows(rows, n_queries + len(rows), f"{inside}: excluded").tolist()
    if content.get("n_queries") not in (None, n_queries + len(excluded)):
        numbers = f"{n_queries:,} remaining and {len(excluded):,} excluded queries"
        raise ProtocolError(f"{inside}: {numbers} do not add up to n_queries = {content['n_queries']:,}.")
    if excluded:
        fields = {"excluded_queries": excluded_label(len(excluded), excluded_sha256(excluded)), "n_queries": n_queries}
        yield inside, without["metrics"], fields, excluded
