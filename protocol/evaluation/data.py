"""The scores of an evaluation as data; `Evaluation` adds the methods that print and draw them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.evaluation.cost import Cost
from protocol.evaluation.exclusion import WithoutQueries
from protocol.evaluation.rescoring import Rescoring
from protocol.evaluation.spread import SpreadRow
from protocol.evaluation.trec import Trec
from protocol.evaluation.vectors import NearestItems


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationData:
    """The scores that `evaluate` returns.

    Parameters
    ----------
    n_queries, n_database, n_bits : int
    ranking : str
        How the database is ordered: one of `protocol.scores.identity.RANKINGS`.
    relevance : str
        The kind of relevance, as in `protocol.scores.identity`.
    convention : str
        The name of the convention.
    metrics : dict of str to float
        The mean of each metric over the queries; NaN if the convention leaves out every query.
    per_query : dict of str to ndarray of float64
        The values of each query, NaN where a query is left out: (n_queries,), or (1,) for metrics of the pooled queries
        or of the database.
    undefined : dict of str to int
        The number of queries for which each metric is undefined (0/0), whether they count as 0 or are left out. If a
        metric of the pooled queries is undefined, this is the number of all queries.
    pr_curves : dict of str to PRCurve
        Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``; empty if the ranking is not Hamming.
    top_n : TopNCurve
        Mean precision and recall of the top N items for ``n`` up to 1,000, as expected values over ties.
    spread : tuple of SpreadRow
        All values that some convention calls mAP, largest first; empty unless requested.
    bucket_search : dict of str to dict of str to float
        For each requested kind of tables, such as ``16x4``: ``precision_micro``, ``recall_micro`` and ``F1_micro`` of
        the items that the tables return.
    lookup_seconds : tuple of float
        Mean seconds per query of a lookup in an inverted index at radius 0, 1, ...; empty unless requested. These are
        times on this machine, not a metric.
    trec : Trec or None
        The TREC files that were written, and the effect of trec_eval's order of ties on their mAP.
    queries_without_relevant : int
        The number of queries without relevant database items.
    labels_not_in_database : tuple of int or str, or None
        The labels of queries that no database item has, ascending; for a label matrix, the column numbers from 0.
        None if relevance was given instead of labels.
    relevant_per_query : tuple of int
        The smallest and the largest number of relevant database items of a query.
    levels : tuple of int
        The smallest and the largest relevance level; a larger level is more relevant.
    binarize : str or None
        How real-valued outputs were binarised; None if codes were given.
    name, dataset, split, ground_truth : str or None
        The user's names for the codes, the dataset, the split and the ground truth; None if not given.
    ground_truth_sha256 : str or None
        Digest of the relevance of items to queries: values per query are compared only if it is equal.
    nearest : NearestItems or None
        The definition of the nearest items, and how the codes were made; None unless vectors were given.
    rescoring : tuple of Rescoring
        The share of the nearest items after re-ranking by the vectors, and by a second code if there is one; empty
        unless vectors were given.
    cost : Cost or None
        The storage that an item takes; None unless vectors were given.
    without : WithoutQueries or None
        The scores without the excluded queries; None unless some were given. All other fields are about all queries.
    """

    n_queries: int
    n_database: int
    n_bits: int
    ranking: str
    relevance: str
    convention: str
    metrics: dict[str, float]
    per_query: dict[str, NDArray[np.float64]]
    undefined: dict[str, int]
    pr_curves: dict[str, scoring.PRCurve]
    top_n: scoring.TopNCurve
    queries_without_relevant: int
    labels_not_in_database: tuple[int | str, ...] | None
    relevant_per_query: tuple[int, int]
    levels: tuple[int, int]
    spread: tuple[SpreadRow, ...] = ()
    bucket_search: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lookup_seconds: tuple[float, ...] = ()
    trec: Trec | None = None
    binarize: str | None = None
    name: str | None = None
    dataset: str | None = None
    split: str | None = None
    ground_truth: str | None = None
    ground_truth_sha256: str | None = None
    nearest: NearestItems | None = None
    rescoring: tuple[Rescoring, ...] = ()
    cost: Cost | None = None
    without: WithoutQueries | None = None
