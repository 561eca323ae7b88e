"""Compressed representations of vectors: by hashers, and by quantisers, which decode items when they are read."""

import ast
import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.counting import HammingCounts, Relevance, count, count_by_distance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.ground_truth import check_dimension
from protocol.evaluation.progress import Progress, stage
from protocol.hashers.training_set import MAGNITUDES, check_magnitude
from protocol.inputs.arrays import matrix_from
from protocol.parallel import Step
from protocol.quantisers._quantiser import COMPARED, Quantiser
from protocol.truth import DISTANCES, Distance, balanced, check_rows, pair_distances

if TYPE_CHECKING:
    from protocol.hashers import Hasher

SAMPLE = 10_000
"""The number of database rows on which a hasher is fitted if there are no training vectors."""
_BLOCK_BYTES = 16 << 20
_SAME_LENGTH = 1e-3
"""Vectors have one length if all agree up to this share of it, which float16 and text may have lost."""


def plugin_of(name: str, dimension: int | None = None, seed: int = 0) -> "Quantiser | Hasher":
    """Return the quantiser, or the unfitted hasher, that a name with options means, as in ``pq:m=16``.

    The code length of a hasher is an option as well, as in ``itq:n_bits=256``; by default, it is the dimension.

    Raises
    ------
    ProtocolError
        If the name or an option is unknown, an option is out of its range, or a hasher needs labels.
    """
    base, _, text = name.partition(":")
    options: dict[str, Any] = {}
    for pair in filter(None, text.split(",")):
        option, mark, value = pair.partition("=")
        if not (option and mark):
            raise ProtocolError(f"quantiser {name!r}: options must be NAME=VALUE, got {pair!r}.")
        options[option] = value  # a string unless it is another Python literal
        with contextlib.suppress(ValueError, SyntaxError):
            options[option] = ast.literal_eval(value)
    hashers = registry.names("hasher")
    listing = "protocol list quantisers` and `protocol list hashers"
    if one_of(base, [*registry.names("quantiser"), *hashers], "quantiser or hasher", listing=listing) in hashers:
        return _hasher(base, {"n_bits": dimension or 1, "seed": seed} | options, dimension)
    plugin = registry.QUANTISERS.entry(base).plugin
    for option in options:
        one_of(option, plugin.defaults(), f"option of quantiser {base!r}")
    try:
        return plugin(**options)
    except ProtocolError as error:
        raise ProtocolError(f"quantiser {base}:{error}") from error


def _hasher(name: str, options: Mapping[str, Any], dimension: int | None) -> "Hasher":
    """Return an unfitted hasher that learns from vectors alone, of a dimension if that is known."""
    record = registry.HASHERS.entry(name)
    if record.plugin.supervision is not None:
        allowed = ", ".join(each.name for each in registry.HASHERS.entries() if each.plugin.supervision is None)
        advice = f"Choose one that learns from vectors alone ({allowed}), or pass its codes."
        raise ProtocolError(f"hasher {name!r} needs labels or pairs. {advice}")
    model: Hasher = record.plugin().set_params(**options)
    try:
        model.check()
    except ProtocolError as error:
        raise ProtocolError(f"hasher {name}:{error}") from error
    if dimension is not None:
        model.check_features(dimension, f"hasher {name}:")
    return model


def training_rows(train: Any, database: NDArray, seed: int) -> tuple[NDArray, str]:
    """Return the training vectors, or else the database or a sample of it, and in words which of these they are."""
    rows, name = database, "vectors of the database"
    if train is not None:
        rows, name = matrix_from(train, "training vectors"), "training vectors"
        check_dimension(rows, database, name)
        check_rows(rows, f"{name}:")
    elif len(database) > SAMPLE:
        rows = database[np.sort(np.random.default_rng(seed).choice(len(database), SAMPLE, replace=False))]
    n_available = len(rows) if train is not None else len(database)
    drawn = "" if len(rows) == n_available else f", drawn with seed {seed}"
    return rows, f"{len(rows):,} of the {n_available:,} {name}{drawn}"


def blocks(vectors: NDArray, progress: Step) -> Iterator[NDArray]:
    """Yield the rows in blocks of at most 16 MB in float32, but unchanged, because float32 may not hold the values."""
    size = max(1, _BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), size):
        block = np.asarray(vectors[start : start + size])
        yield block
        progress(len(block))


class Decoded:
    """A matrix of which only the codes are stored: rows are decoded when they are read."""

    def __init__(self, stored: NDArray, decode: Callable[[NDArray], NDArray]) -> None:
        self.stored, self._decode = stored, decode
        first = self[:1]
        self.shape, self.dtype, self.ndim = (len(stored), first.shape[1]), first.dtype, 2

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, rows: Any) -> NDArray:
        """Return some rows; `protocol.truth.nearest` reads them in blocks."""
        return self._decode(np.asarray(self.stored[rows]))


class Representation(NamedTuple):
    """Queries and items, which are ranked by the Hamming distance if they are `codes`, or else by `distance`."""

    name: str
    n_bytes: int
    query: NDArray
    items: Any
    distance: Distance
    ranked_by: str
    """What ranks the items, in words."""
    fitted_on: str | None
    """The training vectors, in words; None if codes were given."""
    codes: CodePair | None = None

    @classmethod
    def of_codes(cls, name: str, pair: CodePair, fitted_on: str | None = None) -> Self:
        """Return the representation by codes."""
        by_codes = {"hamming": "the Hamming distance", "asymmetric": "the inner product of outputs and codes"}
        ranked_by = by_codes.get(pair.ranking) or f"{COMPARED[pair.ranking]} the outputs of the database"
        return cls(name, pair.database[0].nbytes, *pair[:2], "dot", ranked_by, fitted_on, pair)

    def counts(self, relevances: Mapping[int, Relevance], threads: int, progress: Progress) -> dict[int, HammingCounts]:
        """Return the counts of the ranking for each relevance."""
        n = len(self.query) * (len(self.items) if self.codes is None else 1)
        done = stage(progress, f"ranking by {self.name}", n)
        if self.codes is None:
            ranking = (self.query, self.items, relevances)
            return count_by_distance(*ranking, distance=self.distance, threads=threads, progress=done)
        named = {str(k): relevance for k, relevance in relevances.items()}
        counts = count(*self.codes[:3], named, buckets=False, threads=threads, progress=done)
        return {int(k): of_number for k, of_number in counts.items()}


def lengths(vectors: NDArray) -> NDArray[np.float64]:
    """Return the Euclidean lengths of vectors, (n,)."""
    every = np.arange(len(vectors))
    return np.sqrt(-pair_distances(vectors, vectors, every, every, distance="dot"))


def ranked_otherwise(
    ranking: str, outputs: tuple[NDArray, NDArray], distance: str | None, database: NDArray
) -> tuple[str, ...]:
    """Return a warning if outputs, of queries and database, are ranked by another distance than the vectors.

    There is none if the vectors of the database have one length, because each distance then gives the same order; and
    none for the cosine if a side of the outputs has one length, because they were scaled to it: vectors that are
    restored from compressed ones differ a little in length.
    """
    sides, others = [database, *outputs[: 2 * (distance == "cosine")]], {*DISTANCES} - {distance}
    if ranking not in others or any(np.ptp(of := lengths(side)) <= _SAME_LENGTH * of.max() for side in sides):
        return ()
    options = f"--distance {ranking}, or --ranking {distance} (in Python, of hp.Nearest and hp.Outputs)"
    return (f"ranked by {ranking}, but the truth is by {distance}: {options}?",)


def represent(
    name: str,
    query: NDArray,
    database: NDArray,
    distance: Distance,
    training: tuple[NDArray, str],
    *,
    seed: int = 0,
    progress: Progress = None,
) -> Representation:
    """Fit a quantiser or a hasher on the vectors of `training_rows`, and encode queries and database.

    Raises
    ------
    ProtocolError
        If it can't be fitted on such vectors.
    """
    plugin = plugin_of(name, database.shape[1], seed)
    rows, fitted_on = training
    if not isinstance(plugin, Quantiser):
        from protocol.hashers import packed_codes

        try:
            plugin.fit(np.asarray(rows))
        except ProtocolError as error:
            raise ProtocolError(f"hasher {name}: {error}") from error
        done = stage(progress, "encoding", len(query) + len(database))
        of_query = packed_codes({0: plugin}, blocks(query, done))[0]
        of_database = packed_codes({0: plugin}, blocks(database, done), of_database=True)[0]
        return Representation.of_codes(name, CodePair(of_query, of_database, plugin.n_bits), fitted_on)
    model = plugin.fit(_scaled(rows, distance, smallest=MAGNITUDES[0]), distance, seed)
    ranking = plugin.ranking(distance)

    def restored(codes: NDArray) -> NDArray[np.floating]:
        vectors = plugin.decode(codes, model)
        return _unit(vectors) if ranking == "cosine" else vectors

    vectors = blocks(database, stage(progress, f"encoding by {name}", len(database)))
    parts = (plugin.encode(_scaled(block, distance), model) for block in vectors)
    first, start = next(parts), 0
    with tempfile.TemporaryFile() as file:  # which disappears with the array
        stored = np.memmap(file, dtype=first.dtype, mode="w+", shape=(len(database), first.shape[1]))
    for part in chain([first], parts):
        stored[start : start + len(part)] = part
        start += len(part)
    n_bytes, queries = stored.shape[1] * stored.itemsize, plugin.queries(_scaled(query, distance), model)
    by: Distance = "dot" if ranking == "cosine" else ranking
    return Representation(name, n_bytes, queries, Decoded(stored, restored), by, plugin.ranked_by(distance), fitted_on)


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
