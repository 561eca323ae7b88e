"""One call from codes and a ground truth to named numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.checks import ProtocolError
from protocol.evaluation.buckets import Tables, search
from protocol.evaluation.conventions import Convention, find
from protocol.evaluation.inputs import codes_from, labels_from, named, relevance_from
from protocol.evaluation.spread import SpreadRow, spread_of
from protocol.ranking import LabelRelevance, Relevance, count, ground_truth_sha256, lookup_time


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` found.

    Parameters
    ----------
    n_queries, n_database, n_bits : int
    relevance : str
        What makes an item relevant, as in `protocol.identity`.
    convention : str
        The name of the convention.
    metrics : dict of str to float
        The mean of each metric over the queries; NaN where the convention leaves every query out.
    per_query : dict of str to ndarray of float64
        The values behind the means, NaN where a query is left out; (n_queries,), or (1,) where a metric is about the
        pooled queries or the database.
    pr_curves : dict of str to PRCurve
        Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``.
    spread : tuple of SpreadRow
        What else goes by the name of mAP, largest first; empty unless asked for.
    bucket_search : dict of str to dict of str to float
        Of each kind of tables asked for, such as ``16x4``: ``precision_micro``, ``recall_micro`` and ``F1_micro`` of
        what the tables return.
    lookup_seconds : tuple of float
        Mean seconds a query that an inverted index took at radius 0, 1, ...; empty unless asked for. A time of this
        machine, not a metric.
    name, dataset, split, ground_truth : str or None
        What the user called the codes and what they were scored on; None if not given.
    ground_truth_sha256 : str or None
        Identifies what is relevant to which query: values per query are compared only where it is the same.
    """

    n_queries: int
    n_database: int
    n_bits: int
    relevance: str
    convention: str
    metrics: dict[str, float]
    per_query: dict[str, NDArray[np.float64]]
    pr_curves: dict[str, scoring.PRCurve]
    spread: tuple[SpreadRow, ...] = ()
    bucket_search: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lookup_seconds: tuple[float, ...] = ()
    name: str | None = None
    dataset: str | None = None
    split: str | None = None
    ground_truth: str | None = None
    ground_truth_sha256: str | None = None


def evaluate(
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    relevance: Any = None,
    n_bits: int | None = None,
    bit_order: str = "little",
    metrics: Sequence[str] | None = None,
    convention: str = "protocol",
    spread: bool = False,
    tables: Sequence[str] = (),
    lookup_radius: int | None = None,
    threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
    name: str | None = None,
    dataset: str | None = None,
    split: str | None = None,
    ground_truth: str | None = None,
) -> Evaluation:
    """Score the Hamming ranking of a database by some queries' codes.

    Every input is an array, whatever has ``__array__`` (a tensor on the CPU), or a file's name as on the command line.

    Parameters
    ----------
    query_codes, database_codes : array_like, str or Path
        0 and 1, -1 and +1 or bool, (n, n_bits), of any numeric dtype; or packed integers, (n, ceil(n_bits / 8)), with
        `n_bits` given.
    query_labels, database_labels : array_like, str or Path, optional
        Integers (n,), or a 0/1 matrix (n, n_classes). Items that share a label are relevant to each other, at the
        level of the number they share.
    relevance : Relevance, sparse matrix, iterable of array_like, str or Path, optional
        In place of labels: a matrix (n_queries, n_database) of levels with a ``tocsr`` method, or each query's relevant
        database positions, from 0.
    n_bits : int, optional
        Taken from the codes' columns if None.
    bit_order : {"little", "big"}, default="little"
        Of packed codes: the first bit of a byte has weight 1 (MATLAB toolkits, ``np.packbits(bitorder="little")``), or
        128 (``np.packbits``).
    metrics : sequence of str, optional
        Registered metrics, for example ``["mAP", "precision@r2"]``, or ``["all"]``: every one, with K = 1000 and
        R = 0, 1, 2. Those of the convention if None. Of the last two, without the ones with a radius above `n_bits`.
    convention : str, default="protocol"
        What becomes of undefined values, and which metrics there are; ``protocol list conventions`` lists them.
    spread : bool, default=False
        Whether to compute what every convention calls mAP, too.
    tables : sequence of str, default=()
        Bucket searches to do, ``KxL`` each: L hash tables over segments of K bits, as ``16x4``.
    lookup_radius : int, optional
        Measure how long an inverted index takes to retrieve what is within radius 0, 1, ..., this one.
    threads : int, default=1
        For the counting.
    progress : callable, optional
        Called with the number of queries counted so far, and that of all, whenever it has grown.
    name : str, optional
        What the codes are called in a comparison.
    dataset, split, ground_truth : str, optional
        What the codes were scored on: only scores that agree in these names are compared.

    Returns
    -------
    Evaluation

    Raises
    ------
    ProtocolError
        If an input can't be used: one line that says which, what was wanted and what came.

    Examples
    --------
    >>> found = evaluate([[0, 0]], [[0, 0], [0, 1], [1, 0], [1, 1]], query_labels=[7], database_labels=[7, 7, 8, 8],
    ...                  metrics=["mAP", "precision@r0"])
    >>> found.n_bits, found.metrics["precision@r0"], round(found.metrics["mAP"], 4)
    (2, 1.0, 0.9167)
    """
    rules = find(convention)
    chosen = [metrics] if isinstance(metrics, str) else metrics
    for metric in chosen or ():
        if metric != scoring.ALL:
            scoring.keywords(metric)  # refuses an unknown one before any file is read
    searches = [Tables.parse(text) for text in tables]
    query, length = codes_from(query_codes, "query codes", n_bits=n_bits, bit_order=bit_order)
    database, of_database = codes_from(database_codes, "database codes", n_bits=n_bits, bit_order=bit_order)
    if of_database != length:
        where = named(database_codes, "database codes")
        raise ProtocolError(f"{where}: wanted {length} bits as the query codes have, came {of_database}")
    truth = _truth(query_labels, database_labels, relevance, len(query), len(database))
    for wanted in searches:
        wanted.check(length)
    seconds = np.empty(0) if lookup_radius is None else lookup_time(query, database, length, radius=lookup_radius)
    names = _named(chosen, rules, length)
    counts = count(
        query,
        database,
        length,
        {"truth": truth},
        index_order=spread or scoring.need_index_order(names),
        threads=threads,
        progress=_told(progress, len(query)) if progress else None,
    )["truth"]
    values = {metric: scoring.evaluate(counts, [metric], empty=rules.empty(metric))[metric] for metric in names}
    return Evaluation(
        n_queries=len(query),
        n_database=len(database),
        n_bits=length,
        relevance=truth.kind,
        convention=convention,
        metrics={metric: scoring.mean(of_queries) for metric, of_queries in values.items()},
        per_query=values,
        pr_curves={
            average: scoring.pr_curve(counts, average=average, empty=rules.empty("precision@rR"))
            for average in scoring.AVERAGES
        },
        spread=spread_of(counts) if spread else (),
        bucket_search={
            str(wanted): search(query, database, length, truth, wanted, empty=rules.empty("precision_micro@rR"))
            for wanted in searches
        },
        lookup_seconds=tuple(seconds.tolist()),
        name=name,
        dataset=dataset,
        split=split,
        ground_truth=ground_truth,
        ground_truth_sha256=ground_truth_sha256(truth),
    )


def _named(chosen: Sequence[str] | None, rules: Convention, n_bits: int) -> list[str]:
    """Return the metrics to compute; lists made for codes of any length are without the radii that these don't have."""
    if chosen is None:
        return [name for name in rules.metrics if scoring.keywords(name).get("radius", 0) <= n_bits]
    return scoring.everything(n_bits) if scoring.ALL in chosen else list(chosen)


def _told(progress: Callable[[int, int], object], total: int) -> Callable[[int], object]:
    """Return what counting calls with the queries just done."""
    done = 0

    def add(just_done: int) -> None:
        nonlocal done
        done += just_done
        progress(done, total)

    return add


def _truth(query_labels: Any, database_labels: Any, relevance: Any, n_queries: int, n_database: int) -> Relevance:
    """Return the ground truth, of which there must be one."""
    inputs = {"query labels": query_labels, "database labels": database_labels, "relevance": relevance}
    given = [role for role, values in inputs.items() if values is not None]
    if given == ["relevance"]:
        return relevance_from(relevance, n_queries, n_database)
    if given != ["query labels", "database labels"]:
        raise ProtocolError(
            f"ground truth: wanted query labels and database labels, or relevance, came {' and '.join(given) or 'none'}"
        )
    of_queries = labels_from(query_labels, "query labels", n_queries)
    of_database = labels_from(database_labels, "database labels", n_database)
    if of_queries.shape[1:] != of_database.shape[1:]:
        name, wanted, came = named(database_labels, "database labels"), _kind(of_queries), _kind(of_database)
        raise ProtocolError(f"{name}: wanted {wanted} as the query labels have, came {came}")
    return LabelRelevance(of_queries, of_database)


def _kind(labels: NDArray) -> str:
    return "one integer each" if labels.ndim == 1 else f"{labels.shape[1]} columns"
