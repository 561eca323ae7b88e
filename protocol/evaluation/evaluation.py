"""One call from codes and a ground truth to named numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol.checks import ProtocolError, need
from protocol.evaluation import plots, results
from protocol.evaluation.buckets import Tables, search
from protocol.evaluation.conventions import Convention, find
from protocol.evaluation.cost import Cost
from protocol.evaluation.inputs import code_pair, relevance_from
from protocol.evaluation.labels import label_pair
from protocol.evaluation.loss import VectorInputs, check_rows, loss_of, made_codes, nearest_of, vector_inputs
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.rescoring import Rescoring
from protocol.evaluation.second_stage import CodePair
from protocol.evaluation.spread import SpreadRow, spread_of
from protocol.evaluation.trec import Trec, TrecOptions, write_trec
from protocol.evaluation.vectors import NearestItems, constant_bits, neighbour_metrics, of_nearest
from protocol.groundtruth import Distance
from protocol.ranking import (
    SHARD_ITEMS,
    HammingCounts,
    LabelRelevance,
    Relevance,
    count_in_shards,
    ground_truth_sha256,
    lookup_time,
)

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The scores that `evaluate` returns; printed, the table of the command line.

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
    undefined : dict of str to int
        The number of queries for which each metric is undefined (0/0), whether they count as 0 or are left out; all
        queries where the one value of a metric of the pooled queries is undefined.
    pr_curves : dict of str to PRCurve
        Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``.
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
    nearest : NearestItems or None
        Which items are the nearest ones, and how the codes were made; None unless vectors were given.
    rescoring : tuple of Rescoring
        The share of the nearest items that re-ranking by the vectors reaches, and that by a second code if there is
        one; empty unless vectors were given.
    cost : Cost or None
        What an item takes; None unless vectors were given.
    """

    n_queries: int
    n_database: int
    n_bits: int
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
        kind : {"precision-recall", "precision@N", "recall@N", "rescoring"}
            The precision-recall curve over the Hamming radius, of the pooled queries (micro) and as the mean of the
            queries' own (macro); precision or recall of the top N items over N, the mean of the queries' own; the
            share of the K nearest items after re-ranking over the factor c.

        Raises
        ------
        ProtocolError
            If there is no such figure, the evaluation has no such curve, or the package altair is not installed.
        """
        return plots.plot(self, kind)


def evaluate(
    query_codes: Any = None,
    database_codes: Any = None,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    relevance: Any = None,
    query_vectors: Any = None,
    database_vectors: Any = None,
    distance: Distance | None = None,
    neighbours: int | Sequence[int] | None = None,
    relevant_neighbours: int | None = None,
    hasher: str | None = None,
    hasher_options: Mapping[str, Any] | None = None,
    train_vectors: Any = None,
    seed: int = 0,
    rescore_codes: tuple[Any, Any] | None = None,
    rescore_hasher: str | None = None,
    rescore_bits: int | None = None,
    target: float | None = None,
    largest_factor: int | None = None,
    measure_speed: bool = False,
    n_bits: int | None = None,
    bit_order: str = "little",
    binarize: str | None = None,
    metrics: str | Sequence[str] | None = None,
    convention: str = "protocol",
    spread: bool = False,
    tables: str | Sequence[str] = (),
    lookup_radius: int | None = None,
    trec: str | Path | TrecOptions | None = None,
    threads: int = 1,
    progress: Progress = None,
    name: str | None = None,
    dataset: str | None = None,
    split: str | None = None,
    ground_truth: str | None = None,
) -> Evaluation:
    """Score the Hamming ranking of a database by the queries' codes.

    Every input is an array of NumPy, PyTorch (on any device), JAX, CuPy or pandas, a nested list, or the name of a file
    as on the command line. Indices of pandas are ignored: items are matched by position.

    Parameters
    ----------
    query_codes, database_codes : array_like, str or Path
        0 and 1, -1 and +1 or bool, (n, n_bits), of any numeric dtype; or packed integers, (n, ceil(n_bits / 8)), with
        `n_bits` given; or real-valued outputs of a network, (n, n_bits), with `binarize` given. With vectors, codes may
        be left out; a hasher then makes them.
    query_labels, database_labels : array_like, str or Path, optional
        Integers or strings (n,), or a 0/1 matrix (n, n_classes), which may be sparse. Items that share a label are
        relevant to each other; the level of relevance is the number of labels they share. At least one query has to
        share a label with a database item.
    relevance : Relevance, sparse or Boolean matrix, iterable of array_like, str or Path, optional
        In place of labels: a matrix (n_queries, n_database), Boolean or of levels with a ``tocsr`` method; or each
        query's relevant database positions, from 0.
    query_vectors, database_vectors : array_like, str or Path, optional
        In place of labels: the vectors that the codes stand for, (n, d). The items nearest to a query are relevant to
        it. Files in NumPy's format and in those of big-ann-benchmarks and TEXMEX are read in blocks.
    distance : {"cosine", "euclidean", "dot"}, default="cosine"
        By which items are near; ``dot`` is the inner product, larger is nearer.
    neighbours : int or sequence of int, optional
        The numbers K of nearest items: ``neighbours@K``, ``1-recall@K`` and re-ranking are computed for each. 1, 10 and
        100 if None, as far as the database has so many.
    relevant_neighbours : int, optional
        The number of nearest items that are relevant in all other metrics; the largest of `neighbours` if None.
    hasher : str, optional
        The registered hasher that makes codes of the vectors, ``sign`` if None; `n_bits` is the code length, by default
        the dimension of the vectors.
    hasher_options : mapping of str to value, optional
        Its options.
    train_vectors : array_like, str or Path, optional
        What it is fitted on. If None, the database, or 10,000 of its rows if it has more, drawn with `seed`.
    seed : int, default=0
        Of the hasher and of the sample.
    rescore_codes : pair of array_like, str or Path, optional
        The queries' and the database's second codes: re-ranking by these is computed as well as by the vectors.
    rescore_hasher : str, optional
        The hasher that makes the second codes, `hasher` if None; `rescore_bits` has to be given.
    rescore_bits : int, optional
        The code length of the second codes.
    target : float, default=0.95
        The share of the nearest items for which the smallest factor c is looked up: c x K items are retrieved by code,
        ranked again, and K are kept.
    largest_factor : int, default=64
        The largest factor c of the curve.
    measure_speed : bool, default=False
        Measure the queries per second of our own exact scan, with one thread.
    n_bits : int, optional
        Taken from the codes' columns if None. Of codes that are made of vectors: their length.
    bit_order : {"little", "big", "big-128"}, default="little"
        Of packed codes: the first bit of a byte has weight 1 (MATLAB toolkits, ``np.packbits(bitorder="little")``), or
        128 (``np.packbits``, the precision ``ubinary`` of sentence-transformers). ``big-128`` is the latter with 128
        subtracted from each byte: the signed ``binary`` of sentence-transformers.
    binarize : {"sign", "median"}, optional
        How real values become bits. ``sign``: a value above 0 is 1; 0 itself is 0, as negative values are. ``median``:
        a value above the median that its bit has over the database is 1, on both sides; a value equal to the median
        is 0. Codes are not binarised unless this is given.
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
        For the search of the nearest items and the counting.
    progress : callable, optional
        Called with how much is done, with the total, and with what is done, such as ``"counting"``, whenever the first
        has grown.
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
    chosen = _checked(metrics)
    searches = [Tables.parse(text) for text in ([tables] if isinstance(tables, str) else tables)]
    files = TrecOptions(trec) if isinstance(trec, (str, Path)) else trec
    inputs = vector_inputs(
        query_vectors,
        database_vectors,
        codes=(query_codes, database_codes),
        n_bits=n_bits,
        bit_order=bit_order,
        binarize=binarize,
        seed=seed,
        distance=distance,
        neighbours=(neighbours,) if isinstance(neighbours, int) else neighbours,
        relevant_neighbours=relevant_neighbours,
        hasher=hasher,
        hasher_options=hasher_options,
        train_vectors=train_vectors,
        rescore_codes=rescore_codes,
        rescore_hasher=rescore_hasher,
        rescore_bits=rescore_bits,
        target=target,
        largest_factor=largest_factor,
        measure_speed=measure_speed or None,
    )
    truths = {"query labels": query_labels, "database labels": database_labels, "relevance": relevance}
    read = partial(_codes, query_codes, database_codes, n_bits=n_bits, bit_order=bit_order, binarize=binarize)
    if inputs is None:
        task = _of_relevance(read(), truths)
    else:
        _check_truth(truths, "vectors")
        task = _of_vectors(read, inputs, chosen or (), threads=threads, progress=progress)
    query, database, length = task.codes
    names = _named(chosen, rules, task)
    for kind in searches:
        kind.check(length)
    seconds = np.empty(0) if lookup_radius is None else lookup_time(query, database, length, radius=lookup_radius)
    needed = scoring.needs(names)
    index_order = spread or "index_average_precision" in needed
    by_truth = count_in_shards(
        query,
        database,
        length,
        {str(number): truth for number, truth in task.truths.items()},
        shard_items=None if index_order else SHARD_ITEMS,  # ties in the order of the database don't add up over shards
        bucket_sizes="bucket_sizes" in needed,
        largest_bucket="largest_bucket" in needed,
        index_order=index_order,
        threads=threads,
        progress=stage(progress, "counting", len(query)),
    )
    truth, counts = task.truths[task.scored], by_truth[str(task.scored)]
    n_relevant = counts.n_relevant
    if not n_relevant.any():
        raise ProtocolError("relevance: expected a relevant item for at least one query, got none.")
    values = {metric: scoring.evaluate(counts, [metric], empty=rules.empty(metric))[metric] for metric in names}
    undefined = {metric: _undefined(counts, metric, of_queries) for metric, of_queries in values.items()}
    rescoring: tuple[Rescoring, ...] = ()
    cost = None
    if inputs is not None and task.nearest is not None:
        by_number = {number: by_truth[str(number)] for number in task.truths}
        found = neighbour_metrics(by_number, task.nearest.numbers)
        values, undefined = found | values, dict.fromkeys(found, 0) | undefined
        rescoring, cost = loss_of(inputs, task.nearest, task.codes, task.truths, by_number, progress=progress)
    return Evaluation(
        n_queries=len(query),
        n_database=len(database),
        n_bits=length,
        relevance=truth.kind,
        convention=convention,
        metrics={metric: scoring.mean(of_queries) for metric, of_queries in values.items()},
        per_query=values,
        undefined=undefined,
        pr_curves={
            average: scoring.pr_curve(counts, average=average, empty=rules.empty("precision@rR"))
            for average in scoring.AVERAGES
        },
        top_n=scoring.top_n_curve(counts, empty=rules.empty("R@K")),
        queries_without_relevant=int((n_relevant == 0).sum()),
        labels_not_in_database=task.lacking,
        relevant_per_query=(int(n_relevant.min()), int(n_relevant.max())),
        levels=_levels(counts),
        spread=spread_of(counts) if spread else (),
        bucket_search={
            str(kind): search(query, database, length, truth, kind, empty=rules.empty("precision_micro@rR"))
            for kind in searches
        },
        lookup_seconds=tuple(seconds.tolist()),
        trec=write_trec(query, database, counts, truth, files, empty=rules.empty("mAP"), tag=name) if files else None,
        binarize=binarize,
        name=name,
        dataset=dataset,
        split=split,
        ground_truth=task.nearest.ground_truth if ground_truth is None and task.nearest else ground_truth,
        ground_truth_sha256=ground_truth_sha256(truth),
        nearest=task.nearest,
        rescoring=rescoring,
        cost=cost,
    )


class _Task(NamedTuple):
    """What is scored.

    Parameters
    ----------
    codes : CodePair
    truths : mapping of int to Relevance
        By number of nearest items; one, by 0, without vectors.
    scored : int
        Which of them the metrics of any relevance read.
    lacking : tuple of int or str, or None
        Which labels of queries the database lacks; None without labels.
    nearest : NearestItems or None
        None without vectors.
    """

    codes: CodePair
    truths: Mapping[int, Relevance]
    scored: int = 0
    lacking: tuple[int | str, ...] | None = None
    nearest: NearestItems | None = None


def _codes(query: Any, database: Any, **form: Any) -> CodePair:
    """Return the codes that were given; `form` as of `code_pair`."""
    missing = [role for role, values in (("query codes", query), ("database codes", database)) if values is None]
    if missing:
        raise ProtocolError(f"{missing[0]}: expected an array or a file, got none. Only vectors can do without codes.")
    return CodePair(*code_pair(query, database, **form))


def _of_relevance(codes: CodePair, truths: Mapping[str, Any]) -> _Task:
    """Return codes to be scored by labels or by relevance."""
    _check_truth(truths)
    sizes = len(codes.query), len(codes.database)
    of_query, of_database, relevance = truths.values()
    if relevance is not None:
        return _Task(codes, {0: relevance_from(relevance, *sizes)})
    of_query, of_database, lacking = label_pair(of_query, of_database, *sizes)
    return _Task(codes, {0: LabelRelevance(of_query, of_database)}, lacking=lacking)


def _of_vectors(
    read: Callable[[], CodePair],
    inputs: VectorInputs,
    chosen: Sequence[str],
    *,
    threads: int,
    progress: Progress,
) -> _Task:
    """Return codes, made of the vectors where none are given, to be scored by the items nearest by the vectors."""
    made = None
    if inputs.hashing is None:
        codes = read()
        check_rows(codes, inputs)
    numbers, scored, truths = nearest_of(
        inputs, [name for name in chosen if of_nearest(name)], threads=threads, progress=progress
    )
    if inputs.hashing is not None:
        codes, made = made_codes(inputs, inputs.hashing, progress)
    nearest = NearestItems(
        inputs.options.distance,
        inputs.database.shape[1],
        str(inputs.database.dtype),
        numbers,
        scored,
        made,
        constant_bits(codes.database, codes.n_bits),
    )
    return _Task(codes, truths, scored, nearest=nearest)


def _check_truth(truths: Mapping[str, Any], *others: str) -> None:
    """Raise ProtocolError unless there is one ground truth: labels, relevance, or one of the `others`."""
    given = [*(role for role, values in truths.items() if values is not None), *others]
    if given not in (["query labels", "database labels"], ["relevance"], ["vectors"]):
        raise ProtocolError(
            "ground truth: expected query labels and database labels, relevance, or query vectors and database "
            f"vectors, got {' and '.join(given) or 'none'}."
        )


def _checked(metrics: str | Sequence[str] | None) -> list[str] | None:
    """Return the names of metrics that were given; refuse an unknown one before any file is read."""
    if metrics is None:
        return None
    chosen = [metrics] if isinstance(metrics, str) else list(metrics)
    if not chosen:
        raise ProtocolError("metrics: expected at least one metric, or None for those of the convention, got none.")
    for metric in chosen:
        if metric != scoring.ALL:
            scoring.keywords(metric)
    return chosen


def _named(chosen: Sequence[str] | None, rules: Convention, task: _Task) -> list[str]:
    """Return the metrics to compute of one ground truth, without those of the nearest items where there are vectors.

    Lists made for codes of any length are without the radii that these codes don't have.
    """
    n_bits = task.codes.n_bits
    if chosen is None:
        return [name for name in rules.metrics if _radius(name) <= n_bits]
    for name in chosen:
        if name != scoring.ALL and _radius(name) > n_bits:
            raise ProtocolError(
                f"metric {name!r}: expected a radius from 0 to {n_bits}, the code length, got {_radius(name):g}."
            )
        if of_nearest(name) and task.truths[task.scored].kind != "neighbours":
            raise ProtocolError(
                f"metric {name!r}: expected query vectors and database vectors, or relevance that lists the nearest "
                f"items, got {task.truths[task.scored].kind}."
            )
    listed = scoring.everything(n_bits) if scoring.ALL in chosen else chosen
    return [name for name in listed if task.nearest is None or not of_nearest(name)]


def _radius(metric: str) -> float:
    return scoring.keywords(metric).get("radius", 0)


def _levels(counts: HammingCounts) -> tuple[int, int]:
    """Return the smallest and the largest level that some item has for some query."""
    occurring = counts.levels[counts.at_level.any(axis=(0, 2))]
    return int(occurring.min()), int(occurring.max())


def _undefined(counts: HammingCounts, metric: str, values: NDArray[np.float64]) -> int:
    """Return the number of queries for which a metric is undefined; `values` are 0 or NaN there."""
    if (values == 0).any():
        values = scoring.evaluate(counts, [metric], empty="drop")[metric]
    return int(np.isnan(values).sum()) * (len(counts.retrieved) // values.size)
