"""One call from codes and a ground truth to named numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.checks import ProtocolError, need
from protocol.evaluation import plots, results
from protocol.evaluation.buckets import Tables, search
from protocol.evaluation.conventions import Convention, find
from protocol.evaluation.inputs import code_pair, outputs_and_codes, relevance_from
from protocol.evaluation.labels import label_pair
from protocol.evaluation.ranked import check_ranking, is_defined, score
from protocol.evaluation.spread import SpreadRow
from protocol.evaluation.trec import Trec, TrecOptions, write_trec
from protocol.ranking import (
    HammingCounts,
    LabelRelevance,
    Relevance,
    asymmetric_counts,
    count,
    ground_truth_sha256,
    lookup_time,
)

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_READ: Mapping[str, Callable[..., tuple[NDArray[Any], NDArray[np.uint8], int]]] = {
    "hamming": code_pair,
    "asymmetric": outputs_and_codes,
}
"""What reads the queries and the database for each ranking."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The scores that `evaluate` returns; printed, the table of the command line.

    Parameters
    ----------
    n_queries, n_database, n_bits : int
    ranking : str
        How the database is ordered: one of `protocol.identity.RANKINGS`.
    relevance : str
        What makes an item relevant, as in `protocol.identity`.
    convention : str
        The name of the convention.
    metrics : dict of str to float
        The mean of each metric over the queries; NaN where the convention leaves every query out.
    per_query : dict of str to ndarray of float64
        The values behind the means, NaN where a query is left out; (n_queries,), or (1,) where a metric is about the
        pooled queries or the database.
    undefined : dict of str to int
        The number of queries for which each metric is undefined (0/0), whether they count as 0 or are left out; all
        queries where the one value of a metric of the pooled queries is undefined.
    pr_curves : dict of str to PRCurve
        Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``; empty if the ranking is not Hamming.
    top_n : TopNCurve
        Precision and recall of the top N items, ``n`` up to 1,000, expected over ties, means over the queries.
    spread : tuple of SpreadRow
        The values that are called mAP, largest first; empty unless requested.
    bucket_search : dict of str to dict of str to float
        For each requested kind of tables, such as ``16x4``: ``precision_micro``, ``recall_micro`` and ``F1_micro`` of
        the items that the tables return.
    lookup_seconds : tuple of float
        Mean seconds per query that an inverted index took at radius 0, 1, ...; empty unless requested. A time of this
        machine, not a metric.
    trec : Trec or None
        The TREC files that were written, and how far trec_eval's order of ties moves their mAP.
    queries_without_relevant : int
        The number of queries that no database item is relevant to.
    labels_not_in_database : tuple of int or str, or None
        The labels of queries that no database item has, ascending; columns of a label matrix by their number, from 0.
        None if relevance was given in place of labels.
    relevant_per_query : tuple of int
        The smallest and the largest number of database items that are relevant to a query.
    levels : tuple of int
        The smallest and the largest level of relevance; a larger one is more relevant.
    binarize : str or None
        How real-valued outputs became codes; None if codes were given.
    name, dataset, split, ground_truth : str or None
        The user's name of the codes, and what they were scored on; None if not given.
    ground_truth_sha256 : str or None
        Identifies what is relevant to which query: values per query are compared only where it is the same.
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

    def __repr__(self) -> str:
        return results.table(self)

    def _repr_html_(self) -> str:
        """Return the table as HTML, which notebooks show."""
        return results.html_table(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with a row for each metric: its mean, and everything that identifies it."""
        return need("pandas", "report").DataFrame(results.rows(self))

    def to_json(self) -> str:
        """Return the means and everything that identifies them as JSON, the text that ``--json`` writes."""
        return results.to_json(self)

    def plot(self, kind: str = "precision-recall") -> "alt.Chart":
        """Return a figure.

        Parameters
        ----------
        kind : {"precision-recall", "precision@N", "recall@N"}
            The precision-recall curve over the Hamming radius, of the pooled queries (micro) and as the mean of the
            queries' own (macro); precision or recall of the top N items over N, the mean of the queries' own.

        Raises
        ------
        ProtocolError
            If there is no such figure, or the package altair is not installed.
        """
        return plots.plot(self, kind)


def evaluate(
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    relevance: Any = None,
    n_bits: int | None = None,
    bit_order: str = "little",
    binarize: str | None = None,
    ranking: str = "hamming",
    metrics: str | Sequence[str] | None = None,
    convention: str = "protocol",
    spread: bool = False,
    tables: str | Sequence[str] = (),
    lookup_radius: int | None = None,
    trec: str | Path | TrecOptions | None = None,
    threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
    name: str | None = None,
    dataset: str | None = None,
    split: str | None = None,
    ground_truth: str | None = None,
) -> Evaluation:
    """Score the ranking of a database by the queries' codes, or by their real-valued outputs.

    Every input is an array of NumPy, PyTorch (on any device), JAX, CuPy or pandas, a nested list, or the name of a file
    as on the command line. Indices of pandas are ignored: items are matched by position.

    Parameters
    ----------
    query_codes, database_codes : array_like, str or Path
        0 and 1, -1 and +1 or bool, (n, n_bits), of any numeric dtype; or packed integers, (n, ceil(n_bits / 8)), with
        `n_bits` given; or real-valued outputs of a network, (n, n_bits), with `binarize` given.
    query_labels, database_labels : array_like, str or Path, optional
        Integers or strings (n,), or a 0/1 matrix (n, n_classes), which may be sparse. Items that share a label are
        relevant to each other; the level of relevance is the number of labels they share. At least one query has to
        share a label with a database item.
    relevance : Relevance, sparse or Boolean matrix, iterable of array_like, str or Path, optional
        In place of labels: a matrix (n_queries, n_database), Boolean or of levels with a ``tocsr`` method; or each
        query's relevant database positions, from 0.
    n_bits : int, optional
        Taken from the codes' columns if None.
    bit_order : {"little", "big", "big-128"}, default="little"
        Of packed codes: the first bit of a byte has weight 1 (MATLAB toolkits, ``np.packbits(bitorder="little")``), or
        128 (``np.packbits``, the precision ``ubinary`` of sentence-transformers). ``big-128`` is the latter with 128
        subtracted from each byte: the signed ``binary`` of sentence-transformers.
    binarize : {"sign", "median"}, optional
        How real values become bits. ``sign``: a value above 0 is 1; 0 itself is 0, as negative values are. ``median``:
        a value above the median that its bit has over the database is 1, on both sides; a value equal to the median
        is 0. Codes are not binarised unless this is given.
    ranking : {"hamming", "asymmetric"}, default="hamming"
        How the database is ordered. ``asymmetric``: by the inner product of each query's real values, which are not
        binarised, with the codes of the database as -1 and +1, see `protocol.ranking.asymmetric`. The database is
        codes, or real values that `binarize` makes codes of; the thresholds of `binarize` are subtracted from the
        query's values, so that their signs are the bits that the query would have. Metrics of the Hamming radius or of
        the buckets, `tables`, `lookup_radius` and `trec` need Hamming distances.
    metrics : sequence of str, optional
        Registered metrics, for example ``["mAP", "precision@r2"]``, their radii at most `n_bits`, or ``["all"]``: every
        one, with K = 1000 and
        R = 0, 1, 2. Those of the convention if None. Of the last two, without the ones with a radius above `n_bits`.
    convention : str, default="protocol"
        Decides how undefined values count, and the metrics by default; ``protocol list conventions`` lists them.
    spread : bool, default=False
        Whether to compute the values that the conventions call mAP as well.
    tables : sequence of str, default=()
        Bucket searches, each ``KxL``: L hash tables over segments of K bits, such as ``16x4``.
    lookup_radius : int, optional
        Measure how long an inverted index takes to retrieve the items within radius 0, 1, ..., `lookup_radius`.
    trec : str, Path or TrecOptions, optional
        The folder for the run and qrels files of TREC, or that folder with a depth, an order of ties and a seed.
    threads : int, default=1
        For the counting.
    progress : callable, optional
        Called with the number of queries counted so far and the number of all queries, whenever the first has grown.
    name : str, optional
        The name of the codes in a comparison.
    dataset, split, ground_truth : str, optional
        Names of what the codes were scored on: only scores that agree in these names are compared.

    Returns
    -------
    Evaluation

    Raises
    ------
    ProtocolError
        If an input can't be used: one line that says which, what was expected and what the input is instead.

    Examples
    --------
    >>> found = evaluate([[0, 0]], [[0, 0], [0, 1], [1, 0], [1, 1]], query_labels=[7], database_labels=[7, 7, 8, 8],
    ...                  metrics=["mAP", "precision@r0"])
    >>> found.n_bits, found.metrics["precision@r0"], round(found.metrics["mAP"], 4)
    (2, 1.0, 0.9167)
    """
    rules = find(convention)
    chosen = [metrics] if isinstance(metrics, str) else metrics
    if chosen is not None and not len(chosen):
        raise ProtocolError("metrics: expected at least one metric, or None for those of the convention, got none.")
    for metric in chosen or ():
        if metric != scoring.ALL:
            scoring.keywords(metric)  # refuses an unknown one before any file is read
    searches = [Tables.parse(text) for text in ([tables] if isinstance(tables, str) else tables)]
    check_ranking(
        ranking, chosen or (), tables=bool(tables), lookup_radius=lookup_radius is not None, trec=trec is not None
    )
    files = TrecOptions(trec) if isinstance(trec, (str, Path)) else trec
    query, database, length = _READ[ranking](
        query_codes, database_codes, n_bits=n_bits, bit_order=bit_order, binarize=binarize
    )
    names = _named(chosen, rules, length, ranking)
    truth, lacking = _truth(query_labels, database_labels, relevance, len(query), len(database))
    for kind in searches:
        kind.check(length)
    seconds = np.empty(0) if lookup_radius is None else lookup_time(query, database, length, radius=lookup_radius)
    how: dict[str, Any] = {
        "index_order": spread or scoring.need_index_order(names),
        "threads": threads,
        "progress": _told(progress, len(query)) if progress else None,
    }
    counts = count(query, database, length, {"": truth}, **how)[""] if ranking == "hamming" else None
    blocks = [counts] if counts else asymmetric_counts(query, database, length, truth, **how)
    found = score(blocks, names, rules, spread=ranking if spread else None)
    return Evaluation(
        n_queries=len(query),
        n_database=len(database),
        n_bits=length,
        ranking=ranking,
        relevance=truth.kind,
        convention=convention,
        metrics={metric: scoring.mean(of_queries) for metric, of_queries in found.per_query.items()},
        per_query=found.per_query,
        undefined=found.undefined,
        pr_curves=_pr_curves(counts, rules) if counts else {},
        top_n=found.top_n,
        queries_without_relevant=int((found.n_relevant == 0).sum()),
        labels_not_in_database=lacking,
        relevant_per_query=(int(found.n_relevant.min()), int(found.n_relevant.max())),
        levels=found.levels,
        spread=found.spread,
        bucket_search={
            str(kind): search(query, database, length, truth, kind, empty=rules.empty("precision_micro@rR"))
            for kind in searches
        },
        lookup_seconds=tuple(seconds.tolist()),
        trec=(
            write_trec(query, database, counts, truth, files, empty=rules.empty("mAP"), tag=name)
            if files and counts
            else None
        ),
        binarize=binarize,
        name=name,
        dataset=dataset,
        split=split,
        ground_truth=ground_truth,
        ground_truth_sha256=ground_truth_sha256(truth),
    )


def _named(chosen: Sequence[str] | None, rules: Convention, n_bits: int, ranking: str) -> list[str]:
    """Return the metrics to compute; lists for any codes and rankings are without the radii that these don't have."""
    if chosen is None:
        names = [name for name in rules.metrics if _radius(name) <= n_bits and is_defined(name, ranking)]
        if not names:
            raise ProtocolError(
                f"convention {rules.name!r}: expected a metric of the order of items for the ranking {ranking}, got "
                "only metrics of the Hamming radius."
            )
        return names
    for name in chosen:
        if name != scoring.ALL and _radius(name) > n_bits:
            raise ProtocolError(
                f"metric {name!r}: expected a radius from 0 to {n_bits}, the code length, got {_radius(name):g}."
            )
    if scoring.ALL not in chosen:
        return list(chosen)
    return [name for name in scoring.everything(n_bits) if is_defined(name, ranking)]


def _radius(metric: str) -> float:
    return scoring.keywords(metric).get("radius", 0)


def _pr_curves(counts: HammingCounts, rules: Convention) -> dict[str, scoring.PRCurve]:
    empty = rules.empty("precision@rR")
    return {average: scoring.pr_curve(counts, average=average, empty=empty) for average in scoring.AVERAGES}


def _told(progress: Callable[[int, int], object], total: int) -> Callable[[int], object]:
    """Return what counting calls with the queries just done."""
    done = 0

    def add(just_done: int) -> None:
        nonlocal done
        done += just_done
        progress(done, total)

    return add


def _truth(
    query_labels: Any, database_labels: Any, relevance: Any, n_queries: int, n_database: int
) -> tuple[Relevance, tuple[int | str, ...] | None]:
    """Return the ground truth, of which there must be one, and which labels of queries the database lacks."""
    inputs = {"query labels": query_labels, "database labels": database_labels, "relevance": relevance}
    given = [role for role, values in inputs.items() if values is not None]
    if given == ["relevance"]:
        return relevance_from(relevance, n_queries, n_database), None
    if given != ["query labels", "database labels"]:
        raise ProtocolError(
            "ground truth: expected query labels and database labels, or relevance, "
            f"got {' and '.join(given) or 'none'}."
        )
    of_query, of_database, lacking = label_pair(query_labels, database_labels, n_queries, n_database)
    return LabelRelevance(of_query, of_database), lacking
