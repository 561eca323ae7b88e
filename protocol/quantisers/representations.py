"""Compressed representations of vectors: by hashers, and by quantisers, which decode items when they are read."""

import ast
import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, integer, one_of
from protocol.counting import HammingCounts, Relevance, count, count_by_distance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.ground_truth import check_dimension
from protocol.evaluation.progress import Progress, stage
from protocol.hashers.training_set import MAGNITUDES, check_magnitude
from protocol.inputs.arrays import matrix_from, named
from protocol.quantisers._quantiser import Quantiser
from protocol.truth import Distance, balanced, check_rows

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
        if not self.options.keys().isdisjoint(("n_bits", "seed")):
            raise ProtocolError("n_bits and seed are no options of the hasher: give them separately.")
        self._model(1 if self.n_bits is None else integer(self.n_bits, "n_bits")).check()

    def _model(self, n_bits: int) -> "Hasher":
        model: Hasher = registry.get("hasher", self.hasher)(n_bits=n_bits, seed=self.seed)
        return model.set_params(**self.options)

    def check(self, n_features: int) -> "Hasher":
        """Return the hasher, unfitted, for vectors of `n_features` dimensions, or raise the errors of `fit`."""
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

    def codes(self, query: NDArray, database: NDArray, progress: Progress) -> tuple[CodePair, "HashedBy"]:
        """Fit the hasher, and return the codes with a record of its options and training vectors.

        Raises
        ------
        ProtocolError
            If the training vectors are unusable, or the hasher can't be fitted.
        """
        from protocol.hashers import packed_codes

        model = self.check(database.shape[1])
        rows, fitted_on = training_rows(self.train, database, self.seed)
        try:
            model.fit(np.asarray(rows))
        except ProtocolError as error:
            raise ProtocolError(f"hasher {self.hasher}: {error}") from error
        n_available = len(database) if self.train is None else len(rows)
        hashed = HashedBy(self.hasher, model.n_bits, dict(self.options), self.seed, fitted_on, len(rows), n_available)
        done = stage(progress, "encoding", len(query) + len(database))
        of_query = packed_codes({0: model}, blocks(query, done))[0]
        of_database = packed_codes({0: model}, blocks(database, done), of_database=True)[0]
        return CodePair(of_query, of_database, model.n_bits), hashed


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
        fitted = f"{self.n_fitted:,} of the {self.n_available:,} {vectors}"
        drawn = "" if self.n_fitted == self.n_available else f", drawn with seed {self.seed}"
        return f"{self.hasher}{options}, {self.n_bits} bits, fitted on {fitted}{drawn}"


def blocks(vectors: NDArray, progress: Callable[[int], object] | None) -> Iterator[NDArray]:
    """Yield the rows in blocks of at most 16 MB in float32, but unchanged, because float32 may not hold the values."""
    size = max(1, _BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), size):
        block = np.asarray(vectors[start : start + size])
        yield block
        if progress is not None:
            progress(len(block))


def parsed_options(pairs: Iterable[str], role: str) -> dict[str, Any]:
    """Return options written as NAME=VALUE; values that are not Python literals are strings.

    Raises
    ------
    ProtocolError
        If a pair has another form.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not (name and mark):
            raise ProtocolError(f"{role} must be NAME=VALUE, got {pair!r}.")
        options[name] = value
        with contextlib.suppress(ValueError, SyntaxError):
            options[name] = ast.literal_eval(value)
    return options


@dataclass(frozen=True, eq=False)
class Quantisers:
    """Representations that are compared with the codes.

    Parameters
    ----------
    names : sequence of str
        Registered quantisers, and hashers that learn from vectors alone, with options in the form ``pq:m=16``. The
        code length of a hasher is an option as well, as in ``itq:n_bits=256``; by default, it is the dimension.
    seed : int, default=0
        The seed of the quantisers and hashers, and of the sample of the database.
    train : array_like, str or Path, optional
        As for `Hashing`.

    Raises
    ------
    ProtocolError
        If a name or an option is unknown, or an option is out of its range.
    """

    names: Sequence[str] = ()
    seed: int = 0
    train: Any = None

    def __post_init__(self) -> None:
        for name in self.names:
            self.plugin(name)
        integer(self.seed, "seed", minimum=0)

    def plugin(self, name: str) -> Quantiser | Hashing:
        """Return the quantiser, or the hasher, with the options in a name.

        Raises
        ------
        ProtocolError
            As on construction.
        """
        plugin, _, text = name.partition(":")
        options = parsed_options(filter(None, text.split(",")), f"quantiser {name!r}: options")
        hashers = registry.names("hasher")
        if plugin in hashers:
            return Hashing(plugin, options.pop("n_bits", None), options, self.seed, self.train)
        known = [*registry.names("quantiser"), *hashers]
        record = registry.QUANTISERS.entry(one_of(plugin, known, "quantiser", listing="protocol list quantisers"))
        for option in options:
            one_of(option, record.plugin.defaults(), f"option of quantiser {plugin!r}")
        try:
            return record.plugin(**options)
        except ProtocolError as error:
            raise ProtocolError(f"quantiser {name!r}: {error}") from error


class Decoded:
    """A matrix of which only the codes are stored: rows are decoded when they are read."""

    def __init__(self, stored: NDArray, decode: Callable[[NDArray], NDArray]) -> None:
        self.stored, self._decode = stored, decode
        first = self.decoded(slice(1))
        self.shape, self.dtype, self.ndim = (len(stored), first.shape[1]), first.dtype, 2

    def __len__(self) -> int:
        return len(self.stored)

    def decoded(self, rows: Any) -> NDArray:
        """Return some rows; `protocol.truth.nearest` reads them in blocks."""
        return self._decode(np.asarray(self.stored[rows]))

    __getitem__ = decoded


class Representation(NamedTuple):
    """Queries and items, which are ranked by the Hamming distance if they are `codes`, or else by `distance`."""

    name: str
    n_bytes: int
    query: NDArray
    items: Any
    distance: Distance
    ranked_by: str
    """What ranks the items, in words."""
    codes: CodePair | None = None

    @classmethod
    def of_codes(cls, name: str, pair: CodePair) -> Self:
        """Return the representation by codes."""
        ranked_by = "the Hamming distance" if pair.ranking == "hamming" else "the inner product of outputs and codes"
        return cls(name, pair.database.shape[1], *pair[:2], "dot", ranked_by, pair)

    def counts(self, relevances: Mapping[int, Relevance], threads: int, progress: Progress) -> dict[int, HammingCounts]:
        """Return the counts of the ranking for each relevance."""
        n = len(self.query) * (len(self.items) if self.codes is None else 1)
        done = stage(progress, f"ranking by {self.name}", n)
        if self.codes is None:
            return count_by_distance(
                self.query, self.items, relevances, distance=self.distance, threads=threads, progress=done
            )
        named = {str(k): relevance for k, relevance in relevances.items()}
        counts = count(*self.codes[:3], named, buckets=False, threads=threads, progress=done)
        return {int(k): of_number for k, of_number in counts.items()}


def represent(
    quantisers: Quantisers,
    name: str,
    query: NDArray,
    database: NDArray,
    distance: Distance,
    progress: Progress = None,
) -> Representation:
    """Fit a quantiser or a hasher on training vectors or on a sample of the database, and encode queries and database.

    Raises
    ------
    ProtocolError
        If the training vectors are unusable, or it can't be fitted on such vectors.
    """
    plugin = quantisers.plugin(name)
    if isinstance(plugin, Hashing):
        return Representation.of_codes(name, plugin.codes(query, database, progress)[0])
    rows = training_rows(quantisers.train, database, quantisers.seed)[0]
    check_dimension(rows, database.shape[1], "training vectors")
    check_rows(rows, "training vectors:")
    model = plugin.fit(_scaled(rows, distance, smallest=MAGNITUDES[0]), distance, quantisers.seed)
    ranking = plugin.ranking(distance)

    def restored(codes: NDArray) -> NDArray[np.floating]:
        vectors = plugin.decode(codes, model)
        return _unit(vectors) if ranking == "cosine" else vectors

    vectors = blocks(database, stage(progress, f"encoding by {name}", len(database)))
    stored = _stored((plugin.encode(_scaled(block, distance), model) for block in vectors), len(database))
    return Representation(
        name,
        stored.shape[1] * stored.itemsize,
        plugin.queries(_scaled(query, distance), model),
        Decoded(stored, restored),
        "dot" if ranking == "cosine" else ranking,
        plugin.ranked_by(distance),
    )


def _scaled(vectors: NDArray, distance: Distance, *, smallest: float = 0) -> NDArray[np.float32]:
    """Return vectors in float32, of unit length for the cosine, if float32 can hold their squares."""
    rows = _unit(vectors) if distance == "cosine" else vectors
    check_magnitude(rows, "vectors", smallest, MAGNITUDES[1])
    return np.asarray(rows, dtype=np.float32)


def _unit(vectors: NDArray) -> NDArray[np.float64]:
    """Return vectors of unit length; those of zeros stay."""
    rows = balanced(np.asarray(vectors))[0]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _stored(parts: Iterator[NDArray], n: int) -> NDArray:
    """Return the rows of all parts in a memory-mapped temporary file, which disappears with the array."""
    first, start = next(parts), 0
    with tempfile.TemporaryFile() as file:
        stored = np.memmap(file, dtype=first.dtype, mode="w+", shape=(n, first.shape[1]))
    for part in chain([first], parts):
        stored[start : start + len(part)] = part
        start += len(part)
    return stored
