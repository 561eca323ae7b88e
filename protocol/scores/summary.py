"""The scores of an experiment: the columns of metrics.csv, summary.csv and runs.csv, their writers and their reader."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, printable
from protocol.provenance import VERSION
from protocol.scores.metadata import NONE_EXCLUDED, UNHASHED, pipeline_convention
from protocol.scores.statistics import metric_range, shared_variance
from protocol.scores.tables import DIGITS, DataFrame, Series, read_table, read_text, write_csv

SETTING = ("feature", "ground_truth", "split")
COMBINATION = ("dataset", *SETTING, "hasher", "n_bits", "extension", "extension_bits", "metric")
"""The columns of summary.csv that say what a mean is about; it has ``mean``, ``std`` and ``n_runs`` of each."""
COLUMNS = ("dataset", *SETTING, "run", "hasher", "n_bits", "extension", "extension_bits", "metric", "value")
"""The columns of metrics.csv."""
ITEMS = ("relevance", "n_queries", "n_database", "items")
"""The columns of a score table, before the value, that identify the items on which a score was computed."""
SCORED = (*COLUMNS[:-1], *ITEMS, COLUMNS[-1])
"""The columns of a score table, the file with the scores of one hasher."""
REQUIRED = ("dataset", *SETTING, "hasher", "n_bits", "metric", "mean", "n_runs")
"""The columns that every summary has, stored reference results included; `read_summary` fills in the others."""
TOLERANCE = 1e-6
"""The largest error of a mean of values that were written with nine digits."""
_FILLED = {"extension": "none", "extension_bits": "0", "std": ""}
_LEAST = {"n_bits": 1, "n_runs": 1, "extension_bits": 0}


def write_scores(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a score table: rows of `SCORED`, whose values get nine digits."""
    write_csv(path, SCORED, ((*row[:-1], DIGITS % row[-1]) for row in rows), checksum=True)


def collect(paths: Iterable[str | Path]) -> DataFrame:
    """Return the rows of several score tables as one sorted table; every file is verified before it is read."""
    import pandas as pd

    table = pd.concat([read_table(path) for path in paths], ignore_index=True)
    return table.sort_values([*COLUMNS[:-1]], kind="stable", ignore_index=True)


def tables_of(scores: DataFrame, **about: Any) -> dict[str, DataFrame]:
    """Return the tables of an experiment by their file names, from the table of `collect`; `about` of `summarise`."""
    return {"metrics.csv": scores[[*COLUMNS]], "summary.csv": summarise(scores, **about), "runs.csv": runs_of(scores)}


def summarise(
    scores: DataFrame,
    *,
    undefined: str = "zero",
    options: Mapping[str, str] | None = None,
    supervision: Mapping[str, str] | None = None,
    excluded: Mapping[str, str] | None = None,
    unhashed: str | None = None,
) -> DataFrame:
    """Return the mean, standard deviation and number of runs of each combination, with columns that identify them.

    The sample standard deviation has n - 1 in the denominator, and is missing for a single run. The columns
    after ``n_runs`` are those of `protocol.scores.metadata`; a number of items that differs between runs is given as
    a range.

    Parameters
    ----------
    scores : DataFrame
        As `collect` returns it.
    undefined : {"zero", "drop"}, default="zero"
        How undefined values were treated.
    options : mapping of str to str, optional
        The values of the column ``options``, as `protocol.scores.metadata.options_text` writes them, by feature, ground
        truth and split, separated by spaces.
    supervision : mapping of str to str, optional
        The values of the column ``supervision``, as `protocol.scores.metadata.supervision_of` returns them, by feature
        and hasher, separated by a space; by default unknown.
    excluded : mapping of str to str, optional
        The values of the column ``excluded_queries``, as `protocol.evaluation.exclusion` makes them, by feature
        and split, separated by a space; by default, no query was excluded.
    unhashed : str, optional
        The distance by which the vectors themselves, called `UNHASHED`, were ranked.
    """
    columns, sizes = list(SETTING), list(ITEMS[:-1])
    summary = scores.groupby([*COMBINATION])["value"].agg(mean="mean", std="std", n_runs="size").reset_index()
    items = scores[[*columns, *sizes]].drop_duplicates().groupby(columns)[sizes].agg(_one_or_range).reset_index()
    ties = {metric: registry.METRICS.entry(metric).ties for metric in summary["metric"].unique()}
    places = map(" ".join, summary[columns].itertuples(index=False))
    learners = map(" ".join, summary[["feature", "hasher"]].itertuples(index=False))
    of_split = map(" ".join, summary[["feature", "split"]].itertuples(index=False))
    return summary.merge(items, on=columns, how="left").assign(
        excluded_queries=[(excluded or {}).get(name, NONE_EXCLUDED) for name in of_split],
        options=[(options or {}).get(name, "") for name in places],
        supervision=[(supervision or {}).get(name, "unknown") for name in learners],
        undefined=undefined,
        ties=summary["metric"].map(ties),
        ranking=[unhashed if name == UNHASHED else "hamming" for name in summary["hasher"]],
        convention=pipeline_convention(undefined),
        version=VERSION,
    )


def at(table: DataFrame, **values: Any) -> DataFrame:
    """Return the rows of a table that have these values; a list or tuple means one of its values."""
    for column, value in values.items():
        table = table[table[column].isin(value) if isinstance(value, list | tuple) else table[column] == value]
    return table


def shared_of(table: DataFrame, split: str) -> float:
    """Return `shared_variance` of the runs of a split, from a summary or from the items of each run."""
    rows = at(table, split=split)
    return shared_variance(_one_or_range(rows["n_queries"]), _one_or_range(rows["n_database"]))


def _one_or_range(values: Series) -> Any:
    """Return the common value of all runs, or else the smallest and the largest value as a range."""
    return values.iloc[0] if (values == values.iloc[0]).all() else f"{values.min()} to {values.max()}"


def runs_of(scores: DataFrame) -> DataFrame:
    """Return the items on which each run was scored: a row per feature, ground truth, split and run, with `ITEMS`.

    ``items`` is the digest of `protocol.scores.metadata.items_sha256`, which is the same for two experiments
    exactly if the queries, the database and the ground truth of the run are the same.
    """
    columns = [*SETTING, "run", *ITEMS]
    return scores[columns].drop_duplicates().sort_values(columns[:4], kind="stable", ignore_index=True)


def with_and_without(scores: DataFrame, without: DataFrame) -> DataFrame:
    """Return every metric with all queries and without some of them, and the ranks of the hashers.

    Parameters
    ----------
    scores : DataFrame
        The scores of all queries, as `collect` returns them.
    without : DataFrame
        The scores of the remaining queries, in the same form. Rows that only one of the two tables has, such as those
        of extended codes, are left out.

    Returns
    -------
    DataFrame
        A row for each dataset, feature, ground truth, split, code length, hasher and metric, sorted: ``n_runs``; the
        mean numbers of queries ``n_queries`` and ``n_affected``; the means over the runs ``all_queries``, ``without``
        and their ``difference``, with its sample standard deviation ``difference_std`` (missing for a single run); and
        ``rank_all`` and ``rank_without``, the ranks of the hasher by these means. Rank 1 is the best; equal means share
        the better rank, and undefined means have none.
    """
    keys, by = list(COLUMNS[:-1]), ["dataset", *SETTING, "n_bits", "hasher", "metric"]
    both = scores.merge(without[[*keys, "n_queries", "value"]], on=keys, suffixes=("", "_left"))
    both["difference"] = both["value_left"] - both["value"]
    both["n_affected"] = both["n_queries"] - both["n_queries_left"]
    groups = both.groupby(by, sort=True)
    columns = {"value": "all_queries", "value_left": "without", "difference": "difference"}
    table = groups.size().to_frame("n_runs").join(groups[["n_queries", "n_affected", *columns]].mean())
    table = table.rename(columns=columns).assign(difference_std=groups["difference"].std()).reset_index()
    lower = table["metric"].map(lambda metric: registry.METRICS.entry(metric).better == "lower")
    of_hashers = [name for name in by if name != "hasher"]
    for column, rank in (("all_queries", "rank_all"), ("without", "rank_without")):
        signed = table.assign(rank=table[column].where(lower, -table[column]))
        table[rank] = signed.groupby(of_hashers)["rank"].rank(method="min").astype("Int64")
    return table


def read_summary(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a summary: the ``summary.csv`` of an experiment, or a stored table with its columns.

    Only the standard library is needed; ``pandas.DataFrame(rows)`` is a data frame of them.

    Returns
    -------
    list of dict
        The values by column: ``n_bits``, ``extension_bits`` and ``n_runs`` are integers, ``mean`` and ``std`` are
        floats, NaN where they are empty, and all others are text, "" where they are empty. ``extension``,
        ``extension_bits`` and ``std`` are filled in if the table lacks them. ``line`` is the line number in the file.

    Raises
    ------
    ProtocolError
        If the file can't be read or was altered, if a column of `REQUIRED` is missing, or if a number is missing or out
        of range. The message gives the line.
    """
    return summary_of(read_text(path), path)


def summary_of(rows: list[dict[str, str]], path: str | Path) -> list[dict[str, Any]]:
    """Return the result of `read_summary` for the rows of a table, as `protocol.scores.tables.read_text` reads them.

    `path` is the name of the table in messages.
    """
    missing = [column for column in REQUIRED if rows and column not in rows[0]]
    if missing:
        problem = f"not a summary.csv: it lacks {', '.join(missing)}"
        raise ProtocolError(f"{path}: {problem}. An experiment writes it with `snakemake -- metrics`.")
    return [_row(row, f"{path}, line {line}") | {"line": line} for line, row in enumerate(rows, 2)]  # below the header


def _row(row: dict[str, str], line: str) -> dict[str, Any]:
    """Return a row with its numbers; `line` names it in messages."""
    text = _FILLED | row
    where = f"{line} ({printable(text['metric'])})"
    numbers: dict[str, Any] = {name: _number(text[name]) for name in ("mean", "std", *_LEAST)}
    for name, least in _LEAST.items():
        if not (numbers[name] >= least and numbers[name] % 1 == 0):
            raise ProtocolError(f"{where}: {name} must be an integer >= {least}, got {_cell(text[name])}.")
        numbers[name] = int(numbers[name])
    if text["std"] and not 0 <= numbers["std"] < math.inf:
        raise ProtocolError(f"{where}: std must be a finite number >= 0, got {_cell(text['std'])}.")
    if text["mean"]:
        checked_mean(f"{where}: mean", text["metric"], text["mean"])
    return text | numbers


def _number(text: str) -> float:
    """Return a number, NaN if the text is empty or is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _cell(text: str) -> str:
    return printable(text) or "an empty cell"


def checked_mean(where: str, metric: str, mean: Any) -> float:
    """Return a mean; raise ProtocolError unless it is finite and in the range of its metric, if that is known."""
    lowest, highest = metric_range(metric)
    value = math.nan if isinstance(mean, bool) else _number(mean)
    if not (math.isfinite(value) and lowest - TOLERANCE <= value <= highest + TOLERANCE):
        bounds = f" from {lowest:g} to {highest:g}" if highest < math.inf else f" >= {lowest:g}"
        expected = f"a finite number{bounds if lowest > -math.inf else ''}"
        raise ProtocolError(f"{where} must be {expected}, got {_cell(str(mean))}.")
    return value
