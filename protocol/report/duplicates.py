"""The mean scores over the runs, with all queries and without the queries that have a near-duplicate."""

from typing import TYPE_CHECKING

from protocol import registry
from protocol.scores.summary import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_KEYS = list(COLUMNS[:-1])
_PLACE = ["dataset", "feature", "ground_truth", "split", "n_bits", "metric"]
_CELL = ["dataset", "feature", "ground_truth", "split", "n_bits", "hasher", "metric"]


def with_and_without(scores: "pd.DataFrame", without: "pd.DataFrame") -> "pd.DataFrame":
    """Return every metric with all queries and without some of them, and the ranks of the hashers.

    Parameters
    ----------
    scores, without : DataFrame
        The scores of all queries and of the remaining queries, as `protocol.report.collect` returns them. Rows that
        only one of the two tables has, such as those of extended codes, are left out.

    Returns
    -------
    DataFrame
        A row for each dataset, feature, ground truth, split, code length, hasher and metric, sorted: ``n_runs``; the
        mean numbers of queries ``n_queries`` and ``n_affected``; the means over the runs ``all_queries``, ``without``
        and their ``difference``, with its sample standard deviation ``difference_std`` (missing for a single run); and
        ``rank_all`` and ``rank_without``, the ranks of the hasher by these means. Rank 1 is the best; equal means share
        the better rank, and undefined means have none.
    """
    both = scores.merge(without[[*_KEYS, "n_queries", "value"]], on=_KEYS, suffixes=("", "_without"))
    both = both.assign(
        difference=both["value_without"] - both["value"], n_affected=both["n_queries"] - both["n_queries_without"]
    )
    table = (
        both.groupby(_CELL, sort=True)
        .agg(
            n_runs=("run", "size"),
            n_queries=("n_queries", "mean"),
            n_affected=("n_affected", "mean"),
            all_queries=("value", "mean"),
            without=("value_without", "mean"),
            difference=("difference", "mean"),
            difference_std=("difference", "std"),
        )
        .reset_index()
    )
    lower = table["metric"].map(lambda metric: registry.METRICS.entry(metric).better == "lower")
    for column, rank in (("all_queries", "rank_all"), ("without", "rank_without")):
        values = table[column].where(lower, -table[column])
        table[rank] = values.groupby([table[name] for name in _PLACE]).rank(method="min").astype("Int64")
    return table
