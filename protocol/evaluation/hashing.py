"""Codes computed from vectors by a hasher that is fitted on training vectors or on a sample of the database."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, integer, one_of
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.ground_truth import check_dimension
from protocol.evaluation.progress import Progress, stage
from protocol.inputs.conversion import matrix_from, named
from protocol.truth import check_rows

if TYPE_CHECKING:
    from protocol.hashers import Hasher

SAMPLE = 10_000
"""The number of database rows on which a hasher is fitted if there are no training vectors."""
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Hashing:
    """The hasher that computes codes from vectors, its options, and the vectors on which it is fitted.

    Parameters
    ----------
    hasher : str, default="sign"
        The name of a registered hasher that learns from vectors alone. ``sign`` has one bit for each dimension, 1 if
        the value is above 0.
    n_bits : int, optional
        Code length; the dimension of the vectors if None.
    options : mapping of str to value
        Options of the hasher.
    seed : int, default=0
        The seed of the hasher and of the sample of the database.
    train : array_like, str or Path, optional
        The vectors (n, d) on which the hasher is fitted. If None, the database, or a sample of 10,000 of its rows if it
        has more.

    Raises
    ------
    ProtocolError
        If there is no such hasher, it needs labels, or an option is unknown or out of its range.
    """

    hasher: str = "sign"
    n_bits: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    train: Any = None

    def __post_init__(self) -> None:
        allowed = [record.name for record in registry.HASHERS.entries() if record.plugin.supervision is None]
        if self.hasher in registry.names("hasher") and self.hasher not in allowed:
            raise ProtocolError(
                f"hasher {self.hasher!r} needs labels or pairs. Choose one that learns from vectors alone "
                f"({', '.join(allowed)}), or pass its codes."
            )
        one_of(self.hasher, allowed, "hasher")
        integer(self.seed, "seed", minimum=0)
        for name in ("n_bits", "seed"):
            if name in self.options:
                raise ProtocolError(f"{name!r} is not an option of the hasher: give it separately.")
        self._model(1 if self.n_bits is None else integer(self.n_bits, "n_bits")).check()

    def _model(self, n_bits: int) -> "Hasher":
        plugin = registry.get("hasher", self.hasher)
        model: Hasher = plugin(n_bits=n_bits, seed=self.seed).set_params(**self.options)
        return model

    def check(self, n_features: int) -> "Hasher":
        """Return the hasher, unfitted, for vectors of `n_features` dimensions.

        Raises
        ------
        ProtocolError
            If the training vectors are unusable, or the hasher can't compute codes of that length from such vectors.
        """
        n_bits = n_features if self.n_bits is None else self.n_bits
        if registry.HASHERS.entry(self.hasher).bits_within_features and n_bits > n_features:
            raise ProtocolError(
                f"n_bits must be at most {n_features}, the dimension of the vectors, for the hasher {self.hasher}, got "
                f"{n_bits}."
            )
        model = self._model(n_bits)
        try:
            model.check_features(n_features)
        except ProtocolError as error:
            raise ProtocolError(f"hasher {self.hasher}: {error}") from error
        if self.train is not None:
            name, rows = named(self.train, "training vectors"), matrix_from(self.train, "training vectors")
            check_dimension(rows, n_features, name)
            check_rows(rows, f"{name}:")
        return model

    def fit(self, database: NDArray) -> tuple["Hasher", "HashedBy"]:
        """Return the fitted hasher, and a record of its options and training vectors.

        Raises
        ------
        ProtocolError
            If the training vectors are unusable, or the hasher can't be fitted.
        """
        model = self.check(database.shape[1])
        rows, fitted_on = training_rows(self.train, database, self.seed)
        try:
            model.fit(np.asarray(rows))
        except ProtocolError as error:
            raise ProtocolError(f"hasher {self.hasher}: {error}") from error
        n_available = len(database) if self.train is None else len(rows)
        hashed = HashedBy(self.hasher, model.n_bits, dict(self.options), self.seed, fitted_on, len(rows), n_available)
        return model, hashed

    def codes(self, query: NDArray, database: NDArray, *, progress: Progress = None) -> tuple[CodePair, "HashedBy"]:
        """Return the codes of queries and database, and a record of how they were computed.

        Parameters
        ----------
        query : ndarray, shape (n, d)
            The vectors of the queries, which are read in blocks.
        database : ndarray, shape (n, d)
            The vectors of the database, which are read in blocks as well.
        progress : callable, optional
            As for `evaluate`.

        Raises
        ------
        ProtocolError
            As for `fit`.
        """
        model, hashed = self.fit(database)
        return encoded(model, query, database, progress), hashed


def encoded(model: "Hasher", query: NDArray, database: NDArray, progress: Progress = None) -> CodePair:
    """Return the codes of a fitted hasher."""
    from protocol.hashers import packed_codes

    done = stage(progress, "encoding", len(query) + len(database))
    return CodePair(
        packed_codes({0: model}, blocks(query, done))[0],
        packed_codes({0: model}, blocks(database, done), of_database=True)[0],
        model.n_bits,
    )


def training_rows(train: Any, database: NDArray, seed: int) -> tuple[NDArray, str]:
    """Return the training vectors, or else the database or a sample of it, and which of these they are."""
    if train is not None:
        return matrix_from(train, "training vectors"), "training vectors"
    if len(database) <= SAMPLE:
        return database, "database"
    drawn = np.sort(np.random.default_rng(seed).choice(len(database), SAMPLE, replace=False))
    return database[drawn], "sample of the database"


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
    n_fitted : int
        The number of vectors on which the hasher was fitted.
    n_available : int
        The number of vectors from which these were sampled.
    """

    hasher: str
    n_bits: int
    options: Mapping[str, Any]
    seed: int
    fitted_on: str
    n_fitted: int
    n_available: int

    def spec(self, dimension: int) -> str:
        """Return the hasher with its options in the form of `Quantisers.names`; without a code length if it is d."""
        options = ({} if self.n_bits == dimension else {"n_bits": self.n_bits}) | dict(self.options)
        text = ",".join(f"{name}={value}" for name, value in options.items())
        return f"{self.hasher}:{text}" if text else self.hasher

    def __str__(self) -> str:
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        vectors = "training vectors" if self.fitted_on == "training vectors" else "vectors of the database"
        if self.n_fitted == self.n_available:
            fitted = f"all {self.n_fitted:,} {vectors}"
        else:
            fitted = f"{self.n_fitted:,} of the {self.n_available:,} {vectors}, drawn with seed {self.seed}"
        return f"{self.hasher}{options}, {self.n_bits} bits, fitted on {fitted}"


def blocks(vectors: NDArray, progress: Callable[[int], object] | None) -> Iterator[NDArray]:
    """Yield the rows in blocks of at most 16 MB in float32, but unchanged, because float32 may not hold the values."""
    size = max(1, _BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), size):
        block = np.asarray(vectors[start : start + size])
        yield block
        if progress is not None:
            progress(len(block))
