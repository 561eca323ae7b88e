"""The buckets of a database. A bucket is the set of items that have the same code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Buckets:
    """The buckets of a database, as far as counting needs them.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_buckets,)
        The numbers of items, descending.
    repeated_words : ndarray of uint64, shape (n_repeated, n_words)
        Codes of the buckets with several items, largest bucket first.
    """

    sizes: NDArray[np.int64]
    repeated_words: NDArray[np.uint64]

    @property
    def repeated_sizes(self) -> NDArray[np.int64]:
        """The sizes of the buckets with several items, descending, (n_repeated,)."""
        return self.sizes[: len(self.repeated_words)]

    @classmethod
    def of(cls, database: NDArray[np.uint64]) -> Self:
        """Return the buckets of a database, (n_database, n_words)."""
        if database.shape[1] == 1:
            ordered = np.sort(database[:, 0])
            return cls._of_runs(ordered[1:] != ordered[:-1], lambda first: ordered[first, None])
        keys = hashes(database)  # sorting them is faster than sorting codes
        order = np.argsort(keys)
        differs = keys[order[1:]] != keys[order[:-1]]
        same = np.flatnonzero(~differs)
        if (database[order[same]] != database[order[same + 1]]).any():  # different codes with the same hash
            order = np.lexsort(database.T)
            differs = (database[order[1:]] != database[order[:-1]]).any(axis=1)
        return cls._of_runs(differs, lambda first: database[order[first]])

    @classmethod
    def _of_runs(cls, differs: NDArray[np.bool_], code_at: Callable[[NDArray[np.int64]], NDArray[np.uint64]]) -> Self:
        """Return the buckets, given where items that are sorted by code differ from the item before."""
        first = np.append(0, np.flatnonzero(differs) + 1)
        sizes = np.diff(first, append=differs.size + 1)
        repeated = np.flatnonzero(sizes > 1)
        repeated = repeated[np.argsort(-sizes[repeated], kind="stable")]
        ones = np.ones(sizes.size - repeated.size, dtype=np.int64)
        return cls(np.append(sizes[repeated], ones), np.ascontiguousarray(code_at(first[repeated])))


def hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each code (n_database, n_words): equal codes have equal hashes, others hardly ever."""
    mixed = np.zeros(len(words), dtype=np.uint64)
    for word in words.T:
        mixed ^= word
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return mixed
