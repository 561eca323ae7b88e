"""Codes computed from vectors by a hasher that is fitted on training vectors or on a sample of the database."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, integer, one_of
from protocol.hashers import Hasher, packed_codes

DEFAULT = "sign"
"""The default hasher: one bit for each dimension, 1 if the value is above 0."""
SAMPLE = 10_000
"""The number of database rows on which a hasher is fitted if there are no training vectors."""
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class HashingOptions:
    """The hasher that computes the codes, and its options.

    Parameters
    ----------
    hasher : str
        The name of a registered hasher that learns from vectors alone.
    n_bits : int, optional
        Code length; the dimension of the vectors if None.
    options : mapping of str to value
        Options of the hasher.
    seed : int, default=0
        The seed of the hasher and of the sample of the database.

    Raises
    ------
    ProtocolError
        If there is no such hasher, it needs labels, or an option is unknown or out of its range.
    """

    hasher: str = DEFAULT
    n_bits: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        allowed = [record.name for record in registry.HASHERS.entries() if _learns_from_vectors(record)]
        if self.hasher in registry.names("hasher") and self.hasher not in allowed:
            raise ProtocolError(
                f"hasher: expected one that learns from vectors alone ({', '.join(allowed)}), got {self.hasher!r}, "
                "which needs labels or pairs. Give its codes instead."
            )
        one_of(self.hasher, allowed, "hasher")
        integer(self.seed, "seed", minimum=0)
        self.make(1 if self.n_bits is None else integer(self.n_bits, "n_bits")).check()

    def make(self, n_bits: int) -> Hasher:
        """Return the hasher, unfitted."""
        plugin = registry.get("hasher", self.hasher)
        reserved = [name for name in ("n_bits", "seed") if name in self.options]
        if reserved:
            raise ProtocolError(f"hasher_options: expected {reserved[0]} as a separate argument, got it as an option.")
        made: Hasher = plugin(n_bits=n_bits, seed=self.seed).set_params(**self.options)
        return made

    def fitting(self, n_features: int) -> Hasher:
        """Return the hasher for vectors of `n_features` dimensions, unfitted.

        Raises
        ------
        ProtocolError
            If it can't compute codes of that length from such vectors.
        """
        n_bits = n_features if self.n_bits is None else self.n_bits
        if registry.HASHERS.entry(self.hasher).bits_within_features and n_bits > n_features:
            raise ProtocolError(
                f"n_bits: expected at most {n_features}, the dimension of the vectors, for the hasher {self.hasher}, "
                f"got {n_bits}."
            )
        made = self.make(n_bits)
        try:
            made.check_features(n_features)
        except ProtocolError as error:
            raise ProtocolError(f"hasher {self.hasher}: {error}") from error
        return made


@dataclass(frozen=True)
class HashedBy:
    """How codes were computed from vectors.

    Parameters
    ----------
    hasher : str
    n_bits : int
    options : mapping of str to value
        The options that were given.
    seed : int
    fitted_on : {"training vectors", "database", "sample of the database"}
    n_fitted, n_available : int
        The number of vectors on which the hasher was fitted, and from how many they were drawn.
    """

    hasher: str
    n_bits: int
    options: Mapping[str, Any]
    seed: int
    fitted_on: str
    n_fitted: int
    n_available: int

    def __str__(self) -> str:
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        n_items = f"all {self.n_fitted:,}" if self.n_fitted == self.n_available else f"{self.n_fitted:,}"
        fitted = {
            "training vectors": f"{n_items} training vectors",
            "database": f"{n_items} vectors of the database",
            "sample of the database": f"{n_items} of the {self.n_available:,} vectors of the database, drawn with seed "
            f"{self.seed}",
        }[self.fitted_on]
        return f"{self.hasher}{options}, {self.n_bits} bits, fitted on {fitted}"


def codes_of(
    query: NDArray,
    database: NDArray,
    train: NDArray | None,
    options: HashingOptions,
    *,
    progress: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], HashedBy]:
    """Return the packed codes of queries and database, and a record of how they were computed.

    Parameters
    ----------
    query, database : ndarray, shape (n, d)
        Vectors, which are read in blocks.
    train : ndarray, shape (n, d), optional
        Vectors on which the hasher is fitted. If None, at most `SAMPLE` rows of the database, drawn with the seed.
    options : HashingOptions
    progress : callable, optional
        Called with the number of items just encoded.

    Raises
    ------
    ProtocolError
        If the hasher can't be fitted.
    """
    model = options.fitting(database.shape[1])
    rows, fitted_on = _training_rows(database, train, options.seed)
    try:
        model.fit(rows)
    except ProtocolError as error:
        raise ProtocolError(f"hasher {options.hasher}: {error}") from error
    of_query = packed_codes({0: model}, _blocks(query, progress))[0]
    of_database = packed_codes({0: model}, _blocks(database, progress), of_database=True)[0]
    return (
        of_query,
        of_database,
        HashedBy(
            options.hasher,
            model.n_bits,
            dict(options.options),
            options.seed,
            fitted_on,
            len(rows),
            len(database if train is None else train),
        ),
    )


def _training_rows(database: NDArray, train: NDArray | None, seed: int) -> tuple[NDArray[np.float32], str]:
    if train is not None:
        return np.asarray(train, dtype=np.float32), "training vectors"
    if len(database) <= SAMPLE:
        return np.asarray(database, dtype=np.float32), "database"
    drawn = np.sort(np.random.default_rng(seed).choice(len(database), SAMPLE, replace=False))
    return np.asarray(database[drawn], dtype=np.float32), "sample of the database"


def _blocks(vectors: NDArray, progress: Callable[[int], object] | None) -> Iterator[NDArray[np.float32]]:
    size = max(1, _BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), size):
        block = np.asarray(vectors[start : start + size], dtype=np.float32)
        yield block
        if progress is not None:
            progress(len(block))


def _learns_from_vectors(record: registry.HasherRecord) -> bool:
    return record.plugin.supervision is None
