"""Bucket search: precision, recall and F1 of the items that hash tables return."""

import re
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts, bucket_search
from protocol.truth.relevance import Relevance

_METRICS = {"precision_micro": "precision_micro@r0", "recall_micro": "recall_micro@r0", "F1_micro": "F1_micro@r0"}


class Tables(NamedTuple):
    """L hash tables over segments of K bits, written ``KxL``."""

    bits_per_table: int
    n_tables: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse tables that are written as in ``16x4``.

        Raises
        ------
        ProtocolError
            If the text has a different form, or a number is 0.
        """
        parts = re.fullmatch("([1-9][0-9]*)x([1-9][0-9]*)", text)
        if not parts:
            raise ProtocolError(f"tables: expected KxL (bits per table, number of tables), such as 16x4, got {text!r}.")
        return cls(int(parts[1]), int(parts[2]))

    def check(self, n_bits: int) -> None:
        """Raise ProtocolError if codes are too short for the tables."""
        if self.bits_per_table * self.n_tables > n_bits:
            bits, tables = self
            raise ProtocolError(
                f"tables {self}: expected K x L <= {n_bits} bits (the code length), got {bits} x {tables} = "
                f"{bits * tables}."
            )

    def __str__(self) -> str:
        return f"{self.bits_per_table}x{self.n_tables}"


def search(
    query: NDArray[np.uint8],
    database: NDArray[np.uint8],
    n_bits: int,
    truth: Relevance,
    tables: Tables,
    *,
    empty: str,
) -> dict[str, float]:
    """Return the pooled (micro) precision, recall and F1 of the items in the union of each query's buckets.

    Parameters
    ----------
    query, database : ndarray of uint8, shape (n, ceil(n_bits / 8))
    n_bits : int
    truth : Relevance
    tables : Tables
    empty : {"zero", "drop"}
        The value of 0/0: 0 or NaN.

    References
    ----------
    Moran 2016, thesis, sections 3.4.2, 3.4.3 and 3.6.1.
    """
    found = bucket_search(query, database, n_bits, truth, **tables._asdict())
    # Found items count as distance 0 and all others as distance 1, so that metrics of a Hamming ball can be used.
    split = HammingCounts.from_histograms(
        np.stack([found.retrieved, len(database) - found.retrieved], axis=1),
        np.stack([found.true_positives, found.relevant - found.true_positives], axis=1),
    )
    return {
        name: metrics.mean(metrics.evaluate(split, [metric], empty=empty)[metric]) for name, metric in _METRICS.items()
    }
