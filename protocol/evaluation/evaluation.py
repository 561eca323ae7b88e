"""The function `evaluate`, which scores codes against a ground truth, and its result."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from protocol import metrics as scoring
from protocol.checks import ProtocolError, need
from protocol.counting import HammingCounts, lookup_time
from protocol.evaluation import plots, results
from protocol.evaluation.buckets import Tables, search
from protocol.evaluation.conventions import Convention, find
from protocol.evaluation.data import EvaluationData
from protocol.evaluation.exclusion import excluded_rows, without_queries
from protocol.evaluation.loss import loss_of, vector_inputs
from protocol.evaluation.progress import Progress
from protocol.evaluation.ranked import check_ranking, is_defined, score
from protocol.evaluation.rescoring import Rescoring
from protocol.evaluation.task import Task, counted, joined, task_of
from protocol.evaluation.trec import TrecOptions, write_trec
from protocol.evaluation.vectors import check_lists, neighbour_metrics, of_nearest
from protocol.truth import Distance
from protocol.truth.relevance import ground_truth_sha256

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


class Evaluation(EvaluationData):
    """The scores that `evaluate` returns, as `EvaluationData`. They are printed as the table of the command line."""

    def __repr__(self) -> str:
        return results.table(self)

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return results.html_table(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with a row for each metric: its mean, and the fields that identify the score."""
        return need("pandas", "report").DataFrame(results.rows(self))

    def to_json(self) -> str:
        """Return the means and the fields that identify them as JSON, the text that ``--json`` writes."""
        return results.to_json(self)

    def plot(self, kind: str = "precision-recall") -> "alt.Chart":
        """Return a figure.

        Parameters
        ----------
        kind : {"precision-recall", "precision@N", "recall@N", "rescoring"}
            The precision-recall curve over the Hamming radius, for the pooled queries (micro) and as the mean over the
            queries (macro); the mean precision or recall of the top N items over N; the share of the K nearest items
            after re-ranking over the factor c.

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
    ranking: str = "hamming",
    metrics: str | Sequence[str] | None = None,
    convention: str = "protocol",
    spread: bool = False,
    tables: str | Sequence[str] = (),
    lookup_radius: int | None = None,
    trec: str | Path | TrecOptions | None = None,
    exclude_queries: Any = None,
    threads: int = 1,
    progress: Progress = None,
    name: str | None = None,
    dataset: str | None = None,
    split: str | None = None,
    ground_truth: str | None = None,
) -> Evaluation:
    """Score the ranking of a database by Hamming distance, or by the real-valued outputs of the queries.

    Every input is an array of NumPy, PyTorch (on any device), JAX, CuPy or pandas, a nested list, or the name of a file
    as on the command line. The index of a pandas object is ignored: items are matched by position.

    Parameters
    ----------
    query_codes, database_codes : array_like, str or Path
        Bits (n, n_bits) as 0 and 1, -1 and +1 or bool, of any numeric dtype; or packed integers (n, ceil(n_bits / 8)),
        with `n_bits` given; or real-valued outputs of a network (n, n_bits), with `binarize` given. If vectors are
        given, the codes may be omitted; a hasher then computes them.
    query_labels, database_labels : array_like, str or Path, optional
        Integers or strings (n,), or a 0/1 matrix (n, n_classes), which may be sparse. Items that share a class label
        are relevant; the relevance level is the number of shared labels. At least one query must share a label with a
        database item.
    relevance : Relevance, sparse or Boolean matrix, iterable of array_like, str or Path, optional
        Instead of labels: a Boolean matrix (n_queries, n_database), or a sparse matrix of relevance levels with a
        ``tocsr`` method; or, for each query, the positions of its relevant database items, from 0.
    query_vectors, database_vectors : array_like, str or Path, optional
        Instead of labels: the vectors (n, d) that the codes represent. The nearest items of a query are relevant to it.
        Files in the formats of NumPy, big-ann-benchmarks and TEXMEX are read in blocks.
    distance : {"cosine", "euclidean", "dot"}, default="cosine"
        The distance that defines the nearest items; for ``dot``, a larger inner product is nearer.
    neighbours : int or sequence of int, optional
        The numbers K of nearest items for which ``neighbours@K``, ``1-recall@K`` and re-ranking are computed. If None,
        those of 1, 10 and 100 that do not exceed the size of the database.
    relevant_neighbours : int, optional
        The number of nearest items that are relevant for all other metrics, independent of cutoffs in their names. If
        None, the largest of `neighbours`.
    hasher : str, optional
        The registered hasher that computes codes from the vectors, ``sign`` if None. The code length is `n_bits`, by
        default the dimension of the vectors.
    hasher_options : mapping of str to value, optional
        Options of the hasher.
    train_vectors : array_like, str or Path, optional
        The vectors on which the hasher is fitted. If None, the database, or 10,000 of its rows drawn with `seed` if it
        has more.
    seed : int, default=0
        The seed of the hasher and of the sample.
    rescore_codes : pair of array_like, str or Path, optional
        Second codes of queries and database. Re-ranking is then computed by these codes as well as by the vectors.
    rescore_hasher : str, optional
        The hasher that computes the second codes; it gets `hasher_options` only if it is the same as `hasher`. If None
        and `rescore_bits` is given, `hasher`.
    rescore_bits : int, optional
        The code length of the second codes. If None and `rescore_hasher` is given, the dimension of the vectors.
    target : float, default=0.95
        The share of the K nearest items that the smallest reported factor c must reach, where c x K items are retrieved
        by code and re-ranked, and the first K of them are returned.
    largest_factor : int, default=64
        The largest factor c of the curve.
    measure_speed : bool, default=False
        Whether to measure the queries per second of our own exact scan with one thread.
    n_bits : int, optional
        The code length. If None, the number of columns of the codes, or the default of `hasher`.
    bit_order : {"little", "big", "big-128"}, default="little"
        The bit order of packed codes. ``little``: the first bit of a byte has weight 1 (MATLAB toolkits,
        ``np.packbits(bitorder="little")``). ``big``: it has weight 128 (``np.packbits``, the precision ``ubinary`` of
        sentence-transformers). ``big-128``: like ``big``, with 128 subtracted from each byte (the signed precision
        ``binary`` of sentence-transformers).
    binarize : {"sign", "median"}, optional
        How real values become bits. ``sign``: values above 0 become 1, all others 0. ``median``: values above the
        median of their column over the database become 1, all others 0, for queries and database alike. Values are not
        binarised unless this is given.
    ranking : {"hamming", "asymmetric"}, default="hamming"
        How the database is ordered. ``asymmetric``: by the inner product of each query's real values, which are not
        binarised, with the database codes as -1 and +1, see `protocol.counting.asymmetric`. The database consists of
        codes, or of real values that are binarised by `binarize`. The thresholds of `binarize` are also subtracted
        from the queries' values, so that their signs agree with the bits of the queries' codes. Metrics of the Hamming
        radius or of the buckets, `tables`, `lookup_radius` and `trec` require the Hamming ranking.
    metrics : sequence of str, optional
        Registered metrics with radii up to `n_bits`, for example ``["mAP", "precision@r2"]``; or ``["all"]`` for every
        metric with K = 1000 and R = 0, 1, 2. If None, those of the convention. ``["all"]`` and the conventions omit
        metrics whose radius exceeds `n_bits`.
    convention : str, default="protocol"
        Determines how undefined values count, and the default metrics; ``protocol list conventions`` lists all
        conventions.
    spread : bool, default=False
        Whether to compute, in addition, all values that some convention calls mAP.
    tables : sequence of str, default=()
        Bucket searches to score, each as ``KxL``: L hash tables over segments of K bits, for example ``16x4``.
    lookup_radius : int, optional
        Measure the time that an inverted index takes to retrieve the items within radius 0, 1, ..., `lookup_radius`.
    trec : str, Path or TrecOptions, optional
        The folder for the run and qrels files of TREC, or `TrecOptions` with the folder, depth, order of ties and seed.
    exclude_queries : array_like of int, str or Path, optional
        Distinct row numbers of queries, from 0. Every metric is also computed without these queries, for example
        without those that have a near-duplicate in the database (``protocol audit --write-affected``). All other
        results still include them.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    progress : callable, optional
        Called as ``progress(done, total, stage)`` whenever ``done`` has grown; the stage is a name such as
        ``"counting"``.
    name : str, optional
        The name of the method in a comparison.
    dataset, split, ground_truth : str, optional
        Names of the data on which the codes were scored: only scores with equal names are compared.

    Returns
    -------
    Evaluation

    Raises
    ------
    ProtocolError
        If an input is unusable. The message is one line with the input, what was expected and the actual value.

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
    check_ranking(
        ranking,
        chosen or (),
        tables=bool(tables),
        lookup_radius=lookup_radius is not None,
        trec=trec is not None,
        rescore_codes=rescore_codes is not None,
        rescore_hasher=rescore_hasher is not None,
        rescore_bits=rescore_bits is not None,
        measure_speed=measure_speed,
    )
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
        neighbours=None if neighbours is None else np.atleast_1d(neighbours).tolist(),
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
    task = task_of(
        (query_codes, database_codes),
        {"query labels": query_labels, "database labels": database_labels, "relevance": relevance},
        inputs,
        ranking=ranking,
        form={"n_bits": n_bits, "bit_order": bit_order, "binarize": binarize},
        metrics=chosen or (),
        threads=threads,
        progress=progress,
    )
    query, database, length = task.codes
    excluded = None if exclude_queries is None else excluded_rows(exclude_queries, len(query))
    truth = task.truths[task.scored]
    names = _named(chosen, rules, task, ranking)
    for kind in searches:
        kind.check(length)
    seconds = np.empty(0) if lookup_radius is None else lookup_time(query, database, length, radius=lookup_radius)
    blocks = counted(task, names, ranking=ranking, spread=spread, threads=threads, progress=progress)
    by_number = (
        {number: joined(of_number) for number, of_number in blocks.items()}
        if task.nearest or ranking == "hamming"
        else {}
    )
    counts = by_number[task.scored] if ranking == "hamming" else None
    found = score(
        [by_number[task.scored]] if by_number else blocks[task.scored], names, rules, spread=ranking if spread else None
    )
    values, undefined = found.per_query, found.undefined
    rescoring: tuple[Rescoring, ...] = ()
    cost = None
    if inputs is not None and task.nearest is not None:
        of_neighbours = neighbour_metrics(by_number, task.nearest.numbers)
        values, undefined = of_neighbours | values, dict.fromkeys(of_neighbours, 0) | undefined
        rescoring, cost = loss_of(inputs, task.nearest, task.codes, task.truths, by_number, progress=progress)
    without = None
    if excluded is not None:
        without = without_queries(excluded, values, found.is_undefined, counts, rules)
    return Evaluation(
        n_queries=len(query),
        n_database=len(database),
        n_bits=length,
        ranking=ranking,
        relevance=truth.kind,
        convention=convention,
        metrics={metric: scoring.mean(of_queries) for metric, of_queries in values.items()},
        per_query=values,
        undefined=undefined,
        pr_curves=_pr_curves(counts, rules) if counts else {},
        top_n=found.top_n,
        queries_without_relevant=int((found.n_relevant == 0).sum()),
        labels_not_in_database=task.lacking,
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
        ground_truth=task.nearest.ground_truth if ground_truth is None and task.nearest else ground_truth,
        ground_truth_sha256=ground_truth_sha256(truth),
        nearest=task.nearest,
        rescoring=rescoring,
        cost=cost,
        without=without,
    )


def _checked(metrics: str | Sequence[str] | None) -> list[str] | None:
    """Return the requested metrics as a list; raise ProtocolError for unknown ones before any file is read."""
    if metrics is None:
        return None
    chosen = [metrics] if isinstance(metrics, str) else list(metrics)
    if not chosen:
        raise ProtocolError("metrics: expected at least one metric, or None for those of the convention, got none.")
    for metric in chosen:
        if metric != scoring.ALL:
            scoring.keywords(metric)
    return chosen


def _named(chosen: Sequence[str] | None, rules: Convention, task: Task, ranking: str) -> list[str]:
    """Return the metrics to compute for one ground truth; with vectors, those of the nearest items are not included.

    From the metrics of a convention and from "all", those that the codes or the ranking do not support are omitted.
    """
    n_bits = task.codes.n_bits
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
        if of_nearest(name) and task.nearest is None:
            check_lists(name, task.truths[task.scored])
    if scoring.ALL in chosen:
        chosen = [name for name in scoring.everything(n_bits) if is_defined(name, ranking)]
    return [name for name in chosen if task.nearest is None or not of_nearest(name)]


def _radius(metric: str) -> float:
    return scoring.keywords(metric).get("radius", 0)


def _pr_curves(counts: HammingCounts, rules: Convention) -> dict[str, scoring.PRCurve]:
    empty = rules.empty("precision@rR")
    return {average: scoring.pr_curve(counts, average=average, empty=empty) for average in scoring.AVERAGES}
