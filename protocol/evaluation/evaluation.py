"""Scores of codes against a ground truth: the function `evaluate`, and `Evaluator` for codes that come in batches."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import checks
from protocol.checks import ProtocolError, suggesting
from protocol.counting import joined
from protocol.evaluation.code_pairs import CodePair, Codes, Outputs, packed_batch, read_codes
from protocol.evaluation.conventions import Scoring
from protocol.evaluation.ground_truth import GroundTruth, Labels, Nearest, Truth, ground_truth, only_truth
from protocol.evaluation.progress import Progress
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import counted, score, with_nearest
from protocol.inputs.arrays import as_numpy
from protocol.truth.relevance import ground_truth_sha256


@partial(suggesting, parts=(Codes, Labels, Nearest, Outputs))
def evaluate(
    query_codes: Any,
    database_codes: Any,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Truth | None = None,
    metrics: str | Sequence[str] | None = None,
    convention: str = "default",
    leave_one_out: bool = False,
    threads: int = 1,
    progress: Progress = None,
) -> Evaluation:
    """Score the ranking of a database by Hamming distance, or by the real-valued outputs of the queries.

    Every input is an array of NumPy, PyTorch (on any device), JAX or pandas, a nested list, or the name of a file
    as on the command line. Items are matched by position; codes and labels in pandas are refused if their indexes have
    the same values in another order, or different words.

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
    truth : Labels, Relevant, Judgments or Nearest, optional
        Instead of labels: labels with the ids of the codes; the relevant items of each query; relevance judgments; or
        vectors, in which case the items nearest to a query are relevant to it.
    metrics : str or sequence of str, optional
        Registered metrics with radii up to `n_bits`, for example ``["mAP", "precision@r2"]``; or ``["all"]`` for every
        metric with K = 1000 and R = 0, 1, 2. If None, those of the convention. ``["all"]`` and the conventions omit
        metrics whose radius exceeds `n_bits`. Metrics of the Hamming radius or of the buckets require the Hamming
        ranking.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics; ``protocol list conventions`` lists all
        conventions.
    leave_one_out : bool, default=False
        Whether the queries are the database items, in the same order, and each query leaves its own row out of the
        database. The values equal those of a call for each query, with a database that lacks this row. Metrics that
        need the buckets of the database, such as mLGAP, are not computed.
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
    scoring = Scoring(metrics, convention, leave_one_out)
    codes = read_codes(query_codes, database_codes)
    _check_index(query_codes, query_labels, "query")
    _check_index(database_codes, database_labels, "database")
    source = only_truth(query_labels, database_labels, truth)
    relevant = ground_truth(source, *codes.sizes, scoring, threads=threads, progress=progress, code_files=codes.files)
    return scored(codes, relevant, scoring, threads=threads, progress=progress)


def _check_index(codes: Any, labels: Any, side: str) -> None:
    """Raise ProtocolError if codes and labels are in pandas, and the index of the labels is that of other rows."""
    codes = codes.values if isinstance(codes, Codes | Outputs) else codes
    indexes = [list(map(str, one.index)) for one in (codes, labels) if hasattr(one, "iloc")]
    are_named = not any(name.isdecimal() for index in indexes for name in index)  # numbers may count the rows
    if len(indexes) > 1 and indexes[0] != indexes[1] and (are_named or sorted(indexes[0]) == sorted(indexes[1])):
        problem = "their index is not that of the codes, or in another order"
        advice = f"{side}_labels.loc[{side}_codes.index] to match them by index, or {side}_labels.to_numpy()"
        raise ProtocolError(f"{side} labels: {problem}. Pass {advice} by position.")


def scored(
    codes: CodePair, truth: GroundTruth, scoring: Scoring, *, threads: int = 1, progress: Progress = None
) -> Evaluation:
    """Score codes and a ground truth that were read, as `evaluate`."""
    leave_one_out, nearest = scoring.leave_one_out, truth.nearest
    n_database = len(codes.database) - leave_one_out
    names = scoring.names(codes.n_bits, codes.ranking, n_database)
    blocks = counted(codes, truth, names, leave_one_out=leave_one_out, threads=threads, progress=progress)
    nearest_counts = {} if nearest is None else {k: joined(of_number) for k, of_number in blocks.items()}
    of_scored = blocks[truth.scored] if nearest is None else [nearest_counts[truth.scored]]
    scores = score(of_scored, names, scoring.convention)
    digest = ground_truth_sha256(truth.relevance)
    if leave_one_out:  # other items are ranked than without it
        digest = hashlib.sha256(f"{digest} leave one out".encode()).hexdigest()
    return Evaluation(
        **vars(scores if nearest is None else with_nearest(scores, nearest_counts, nearest.numbers)),
        codes=codes,
        truth=truth,
        counts=next(iter(of_scored)) if codes.ranking == "hamming" else None,
        nearest_counts=nearest_counts,
        n_queries=len(codes.query),
        n_database=n_database,
        n_bits=codes.n_bits,
        ranking=codes.ranking,
        binarize=codes.binarize,
        relevance=truth.relevance.kind,
        convention=scoring.convention,
        labels_not_in_database=truth.labels_not_in_database,
        nearest=nearest,
        ground_truth_sha256=digest,
        ground_truth=None if nearest is None else f"{nearest.relevant} nearest by {nearest.distance}",
        inputs={**codes.files, **truth.files},
        query_ids=truth.query_ids,
        leave_one_out=leave_one_out,
    )


class Evaluator:
    """Collect batches of codes and labels, and score them with the same results as `evaluate`.

    The order of the batches does not matter, except that metrics with ties in database order take the items in the
    order in which they were added. Codes are stored packed, eight bits per byte.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        Registered metrics, as for `evaluate`.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics.
    leave_one_out : bool, default=False
        Whether the queries are the database items, added in the same order, and each query leaves its own row out, as
        for `evaluate`.
    threads : int, default=1
        Threads for counting.
    n_bits : int, optional
        The code length of packed codes, as for `Codes`.
    bit_order : {"little", "big", "big-128"}, optional
        The order of the bits in packed codes, as for `Codes`.
    binarize : str, optional
        ``"sign"`` for real-valued outputs of a network. The thresholds ``median`` require the complete database, so
        they can't be used.

    Raises
    ------
    ProtocolError
        If an option is unusable.

    Examples
    --------
    >>> evaluator = Evaluator(binarize="sign", metrics=["mAP"])
    >>> evaluator.add_database([[0.3, 0.1], [0.2, -0.4]], [7, 7])
    >>> evaluator.add_database([[-0.9, 0.2], [-0.1, -0.1]], [8, 8])
    >>> evaluator.add_queries([[0.5, 0.5]], [7])
    >>> round(evaluator.evaluate().metrics["mAP"], 4)
    0.9167
    """

    def __init__(
        self,
        *,
        n_bits: int | None = None,
        bit_order: str | None = None,
        binarize: str | None = None,
        metrics: Any = None,
        convention: str = "default",
        leave_one_out: bool = False,
        threads: int = 1,
    ) -> None:
        self._scoring, self._threads = Scoring(metrics, convention, leave_one_out), threads
        self._encoding = Codes(None, n_bits, bit_order, binarize)
        if binarize == "median":
            raise ProtocolError('binarize="median" needs the complete database; batches allow only binarize="sign".')
        self.clear()

    def clear(self) -> None:
        """Remove all batches, for example at the start of an epoch."""
        self._codes: dict[str, list[NDArray[np.uint8]]] = {"query": [], "database": []}
        self._labels: dict[str, list[NDArray]] = {"query": [], "database": []}
        self._n_bits: int | None = None

    def add_queries(self, codes: Any, labels: Any) -> None:
        """Add a batch of queries: codes (n, n_bits) and labels (n,) or (n, n_classes), as for `evaluate`."""
        self._add("query", codes, labels)

    def add_database(self, codes: Any, labels: Any) -> None:
        """Add a batch of database items: codes (n, n_bits) and labels (n,) or (n, n_classes), as for `evaluate`."""
        self._add("database", codes, labels)

    def _add(self, side: str, codes: Any, labels: Any) -> None:
        packed, n_bits = packed_batch(codes, self._encoding, f"{side} codes")
        array, before = np.atleast_1d(as_numpy(labels, f"{side} labels")), self._labels[side]
        if len(array) != len(packed):
            n_labels = checks.counted(len(array), "label")
            raise ProtocolError(f"{side} labels: {n_labels} for {checks.counted(len(packed), 'item')}.")
        if n_bits != (self._n_bits or n_bits):
            raise ProtocolError(f"{side} codes: {checks.counted(n_bits, 'bit')}, but {self._n_bits} in other batches.")
        if before and (array.dtype.kind, array.shape[1:]) != (before[0].dtype.kind, before[0].shape[1:]):
            got = f"{array.dtype} of shape {array.shape}, but {before[0].dtype} of shape {before[0].shape}"
            raise ProtocolError(f"{side} labels: {got} in an earlier batch.")
        self._n_bits = n_bits
        self._codes[side].append(packed)
        before.append(array.copy())

    def evaluate(self) -> Evaluation:
        """Return the scores of all batches since the start or the last `clear`.

        Raises
        ------
        ProtocolError
            If there are no queries or no database items, or the labels are unusable.
        """
        for side, parts in self._codes.items():
            if not parts:
                raise ProtocolError(f"{side} codes are missing: no batch was added.")
        query, database = (np.concatenate(parts) for parts in self._codes.values())
        pair = CodePair(query, database, self._n_bits or 0, binarize=self._encoding.binarize)
        labels = Labels(*(np.concatenate(parts) for parts in self._labels.values()))
        return scored(pair, ground_truth(labels, *pair.sizes, self._scoring), self._scoring, threads=self._threads)
