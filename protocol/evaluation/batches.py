"""Evaluation of codes that arrive in batches, as in a training loop."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.evaluation.code_pairs import CodePair, Codes, packed_batch
from protocol.evaluation.evaluation import scored
from protocol.evaluation.ground_truth import Labels, ground_truth
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import Scoring
from protocol.inputs.conversion import as_numpy


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
    spread : bool, default=False
        Whether to compute, in addition, all values that published conventions report as mAP.
    leave_one_out : bool, default=False
        Whether the queries are the database items, added in the same order, and each query leaves its own row out, as
        for `evaluate`.
    threads : int, default=1
        Threads for counting.
    n_bits : int, optional
        The code length of packed codes, as for `Codes`.
    bit_order : {"little", "big", "big-128"}, default="little"
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
        bit_order: str = "little",
        binarize: str | None = None,
        metrics: Any = None,
        convention: str = "default",
        spread: bool = False,
        leave_one_out: bool = False,
        threads: int = 1,
    ) -> None:
        self._scoring, self._threads = Scoring(metrics, convention, spread, leave_one_out), threads
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
        array, before = as_numpy(labels, f"{side} labels"), self._labels[side]
        if not array.ndim:
            raise ProtocolError(f"{side} labels: expected a label for each item, got {array}.")
        if len(array) != len(packed):
            raise ProtocolError(f"{side} labels: {counted(len(array), 'label')} for {counted(len(packed), 'item')}.")
        if n_bits != (self._n_bits or n_bits):
            raise ProtocolError(f"{side} codes: {counted(n_bits, 'bit')}, but {self._n_bits} in other batches.")
        if before and (array.dtype.kind, array.shape[1:]) != (before[0].dtype.kind, before[0].shape[1:]):
            raise ProtocolError(
                f"{side} labels: {array.dtype} of shape {array.shape}, but {before[0].dtype} of shape "
                f"{before[0].shape} in an earlier batch."
            )
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
        truth = ground_truth(
            labels,
            *pair.sizes,
            metrics=self._scoring.of_nearest,
            leave_one_out=self._scoring.leave_one_out,
            threads=self._threads,
        )
        return scored(pair, truth, self._scoring, threads=self._threads)
