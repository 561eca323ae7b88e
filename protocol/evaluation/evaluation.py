"""The function `evaluate`, which scores codes against a ground truth."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts, asymmetric_counts, count, count_in_shards, count_leave_one_out
from protocol.evaluation.code_pairs import CodePair, read_codes, sources
from protocol.evaluation.ground_truth import GroundTruth, Truth, files_of, ground_truth, only_truth
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import Scoring, score, with_nearest
from protocol.metrics import in_database_order, needs
from protocol.truth.relevance import Relevance, ground_truth_sha256


def evaluate(
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Truth | None = None,
    metrics: str | Sequence[str] | None = None,
    convention: str = "default",
    spread: bool = False,
    leave_one_out: bool = False,
    threads: int = 1,
    progress: Progress = None,
) -> Evaluation:
    """Score the ranking of a database by Hamming distance, or by the real-valued outputs of the queries.

    Every input is an array of NumPy, PyTorch (on any device), JAX, CuPy or pandas, a nested list, or the name of a file
    as on the command line. The index of a pandas object is ignored: items are matched by position.

    Parameters
    ----------
    query_codes : array_like, str, Path, Codes or Outputs
        The codes of the queries: bits (n, n_bits) as 0 and 1, -1 and +1 or bool, of any numeric dtype. `Codes`
        describes other encodings: packed integers, and real-valued outputs of a network that are binarised. With
        `Outputs`, real values that are not binarised, the database is ordered by their inner product with its codes as
        -1 and +1: the asymmetric ranking.
    database_codes : array_like, str, Path or Codes
        The codes of the database, with as many bits. An encoding that is given for one side only also applies to the
        other.
    query_labels : array_like, str or Path, optional
        The labels of the queries: integers or strings (n,), or a 0/1 matrix (n, n_classes), which may be sparse. Items
        that share a class label are relevant; the relevance level is the number of shared labels.
    database_labels : array_like, str or Path, optional
        The labels of the database, of the same kind. At least one item must share a label with a query.
    truth : Relevant, Judgments or Nearest, optional
        Instead of labels: the relevant items of each query; relevance judgments; or vectors, in which case the items
        nearest to a query are relevant to it.
    metrics : str or sequence of str, optional
        Registered metrics with radii up to `n_bits`, for example ``["mAP", "precision@r2"]``; or ``["all"]`` for every
        metric with K = 1000 and R = 0, 1, 2. If None, those of the convention. ``["all"]`` and the conventions omit
        metrics whose radius exceeds `n_bits`. Metrics of the Hamming radius or of the buckets require the Hamming
        ranking.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics; ``protocol list conventions`` lists all
        conventions.
    spread : bool, default=False
        Whether to compute, in addition, all values that published conventions report as mAP.
    leave_one_out : bool, default=False
        Whether the queries are the database items, in the same order, and each query leaves its own row out of the
        database. The values are those of a call for each query, with a database that lacks this row. Metrics of the
        buckets describe the complete database, so they are not computed.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    progress : callable, optional
        Called as ``progress(done, total, stage)`` whenever ``done`` has grown; the stage is a name such as
        ``"counting"``.

    Returns
    -------
    Evaluation

    Raises
    ------
    ProtocolError
        If an input is unusable. The message is one line that names the input and the problem.

    Examples
    --------
    >>> result = evaluate([[0, 0]], [[0, 0], [0, 1], [1, 0], [1, 1]], query_labels=[7], database_labels=[7, 7, 8, 8],
    ...                   metrics=["mAP", "precision@r0"])
    >>> result.n_bits, result.metrics["precision@r0"], round(result.metrics["mAP"], 4)
    (2, 1.0, 0.9167)
    """
    scoring = Scoring(metrics, convention, spread, leave_one_out)
    codes = read_codes(query_codes, database_codes)
    source = only_truth(query_labels, database_labels, truth)
    relevant = ground_truth(
        source,
        *codes.sizes,
        metrics=scoring.of_nearest,
        leave_one_out=leave_one_out,
        threads=threads,
        progress=progress,
    )
    evaluation = scored(codes, relevant, scoring, threads=threads, progress=progress)
    return replace(evaluation, inputs=sources(query_codes, database_codes) | files_of(source))


def scored(
    codes: CodePair, truth: GroundTruth, scoring: Scoring, *, threads: int = 1, progress: Progress = None
) -> Evaluation:
    """Score codes and a ground truth that were read, as `evaluate`."""
    names = scoring.names(codes.n_bits, codes.ranking, without=scoring.of_nearest if truth.nearest else ())
    blocks = _counted(codes, truth, names, scoring, threads, progress)
    nearest_counts = {k: _joined(of_number) for k, of_number in blocks.items()} if truth.nearest else {}
    of_scored = [nearest_counts[truth.scored]] if nearest_counts else blocks[truth.scored]
    scores, default_name = score(of_scored, names, scoring, codes.ranking), None
    if truth.nearest is not None:
        scores = with_nearest(scores, nearest_counts, truth.nearest.numbers)
        default_name = f"{truth.nearest.relevant} nearest by {truth.nearest.distance}"
    return Evaluation(
        **vars(scores),
        codes=codes,
        truth=truth,
        counts=next(iter(of_scored)) if codes.ranking == "hamming" else None,
        nearest_counts=nearest_counts,
        n_queries=len(codes.query),
        n_database=len(codes.database) - scoring.leave_one_out,
        n_bits=codes.n_bits,
        ranking=codes.ranking,
        binarize=codes.binarize,
        relevance=truth.relevance.kind,
        convention=scoring.convention,
        labels_not_in_database=truth.labels_not_in_database,
        nearest=truth.nearest,
        ground_truth_sha256=_sha256(truth.relevance, scoring.leave_one_out),
        ground_truth=default_name,
        leave_one_out=scoring.leave_one_out,
    )


def _sha256(relevance: Relevance, leave_one_out: bool) -> str:
    """Return the digest of the relevance, another one if each query leaves out its own item."""
    digest = ground_truth_sha256(relevance)
    return hashlib.sha256(f"{digest} leave one out".encode()).hexdigest() if leave_one_out else digest


def _counted(
    codes: CodePair, truth: GroundTruth, names: Sequence[str], scoring: Scoring, threads: int, progress: Progress
) -> dict[int, Iterable[HammingCounts]]:
    """Return the counts of blocks of queries for each ground truth; a single block for the Hamming ranking."""
    needed = needs(names)
    index_order = scoring.spread or in_database_order(names)
    if codes.ranking != "hamming":
        report = stage(progress, "counting", len(codes.query) * len(truth.by_number))
        return {
            number: asymmetric_counts(
                *codes[:3],
                relevance,
                index_order=index_order,
                leave_one_out=scoring.leave_one_out,
                threads=threads,
                progress=report,
            )
            for number, relevance in truth.by_number.items()
        }
    counter: Callable[..., dict[str, HammingCounts]]
    if scoring.leave_one_out:
        counter = partial(count_leave_one_out, index_order=index_order)
    else:  # precisions with ties in database order can't be added up over shards
        counter = partial(count, index_order=True) if index_order else count_in_shards
        counter = partial(counter, bucket_sizes="bucket_sizes" in needed)
    counts = counter(
        *codes[:3],
        {str(number): relevance for number, relevance in truth.by_number.items()},
        largest_bucket="largest_bucket" in needed,
        threads=threads,
        progress=stage(progress, "counting", len(codes.query)),
    )
    return {number: [counts[str(number)]] for number in truth.by_number}


def _joined(blocks: Iterable[HammingCounts]) -> HammingCounts:
    """Return the counts of all queries, with the last axis padded by empty distances."""
    parts = list(blocks)
    if len(parts) == 1:
        return parts[0]
    n_distances = max(part.retrieved.shape[-1] for part in parts)

    def padded(array: NDArray) -> NDArray:
        return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, n_distances - array.shape[-1])])

    precisions = [padded(part.index_precisions) for part in parts if part.index_precisions is not None]
    top = [part.index_top for part in parts if part.index_top is not None]
    return HammingCounts(
        retrieved=np.concatenate([padded(part.retrieved) for part in parts]),
        at_level=np.concatenate([padded(part.at_level) for part in parts]),
        levels=parts[0].levels,
        bucket_sizes=parts[0].bucket_sizes,
        index_precisions=np.concatenate(precisions) if precisions else None,
        index_top=np.concatenate(top) if top else None,
    )
