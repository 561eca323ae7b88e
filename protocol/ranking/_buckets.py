"""The buckets of a database: the items that share one code."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Buckets:
    """What counting needs to know of the buckets.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_buckets,)
        Their items, descending.
    repeated_words : ndarray of uint64, shape (n_words, n_repeated)
        Codes of the buckets of several items, those of most items first.
    """

    sizes: NDArray[np.int64]
    repeated_words: NDArray[np.uint64]

    @property
    def repeated_sizes(self) -> NDArray[np.int64]:
        """Items of the buckets of several items, descending, (n_repeated,)."""
        return self.sizes[: self.repeated_words.shape[1]]

    @classmethod
    def of(cls, database: NDArray[np.uint64]) -> Self:
        """Return the buckets of a database (n_words, n_database)."""
        ordered = np.sort(database) if len(database) == 1 else database[:, np.lexsort(database)]
        first = np.flatnonzero(np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)))
        sizes = np.diff(first, append=database.shape[1])
        descending = np.argsort(-sizes, kind="stable")
        repeated = descending[: np.count_nonzero(sizes > 1)]
        return cls(sizes[descending], np.ascontiguousarray(ordered[:, first[repeated]]))
