"""Compressed representations of vectors: by quantisers, which decode items when they are read, and by hashers."""

import ast
import contextlib
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.counting import HammingCounts, Relevance, count, count_by_distance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.ground_truth import check_dimension
from protocol.evaluation.hashing import Hashing, blocks, encoded, training_rows
from protocol.evaluation.progress import Progress, stage
from protocol.hashers.training_set import MAGNITUDES, check_magnitude
from protocol.quantisers import COMPARED, Quantiser
from protocol.truth import Distance, balanced, check_rows, nearest

VECTORS = "float"
"""The name of the vectors themselves in a cascade."""
_MOST_QUERIES = 100
"""The number of queries used to measure the speed of a scan by vectors."""
_SECONDS = 0.5
"""Scans are repeated until they have taken this many seconds."""
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Quantisers:
    """Representations that are compared with the codes, and a cascade of some of them.

    Parameters
    ----------
    names : sequence of str
        Registered quantisers, and hashers that learn from vectors alone, with options in the form ``pq:m=16``. The
        code length of a hasher is an option as well, as in ``itq:n_bits=256``; by default, it is the dimension.
    n_bytes : int, optional
        The number of bytes per vector for which the best representation is reported. If None, that of one bit for each
        dimension.
    cascade : sequence of str, default=()
        Representations in the form of `names`, or ``float`` for the vectors themselves. The first retrieves items, and
        each further one re-ranks those that remain.
    factors : sequence of int, default=()
        For each stage of the cascade but the last, the factor c of the c x K items that it returns. The last stage
        returns K items.
    seed : int, default=0
        The seed of the quantisers and hashers, and of the sample of the database.
    train : array_like, str or Path, optional
        As for `Hashing`.

    Raises
    ------
    ProtocolError
        If a name or an option is unknown, an option is out of its range, or the factors don't fit the cascade.
    """

    names: Sequence[str] = ()
    n_bytes: int | None = None
    cascade: Sequence[str] = ()
    factors: Sequence[int] = ()
    seed: int = 0
    train: Any = None

    def __post_init__(self) -> None:
        for name in (*self.names, *(one for one in self.cascade if one != VECTORS)):
            self.plugin(name)
        integer(self.seed, "seed", minimum=0)
        if self.n_bytes is not None:
            integer(self.n_bytes, "n_bytes")
        for factor in self.factors:
            integer(factor, "factors")
        n_stages, n_factors = len(self.cascade), len(self.factors)
        if n_stages == 1:
            raise ProtocolError("cascade needs at least two stages, got 1.")
        if n_factors != max(0, n_stages - 1):
            raise ProtocolError(
                f"factors: {n_factors} for {counted(n_stages, 'stage')}; each stage but the last needs one."
            )
        if list(self.factors) != sorted(self.factors, reverse=True):
            raise ProtocolError(f"factors must not increase: {' '.join(map(str, self.factors))}.")

    def plugin(self, name: str) -> Quantiser | Hashing:
        """Return the quantiser, or the hasher, with the options in a name.

        Raises
        ------
        ProtocolError
            As on construction.
        """
        plugin, _, text = name.partition(":")
        options: dict[str, Any] = {}
        for pair in filter(None, text.split(",")):
            option, mark, value = pair.partition("=")
            if not (option and mark):
                raise ProtocolError(f"quantiser {name!r}: write options as {plugin}:NAME=VALUE,NAME=VALUE.")
            options[option] = value
            with contextlib.suppress(ValueError, SyntaxError):
                options[option] = ast.literal_eval(value)
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
        """Return some rows."""
        return self._decode(np.asarray(self.stored[rows]))

    __getitem__ = decoded


class Times(NamedTuple):
    """Seconds to train on the training vectors and to encode the database, and queries per second of our exact scan."""

    train: float
    encode: float
    queries_per_second: float


class Representation(NamedTuple):
    """Queries and items, whose distance ranks the items. With codes, this is the order of the Hamming distance."""

    name: str
    n_bytes: int
    query: NDArray
    items: Any
    distance: Distance
    ranked_by: str
    """What ranks the items, in words."""
    codes: CodePair | None = None
    seconds: tuple[float, float] = (0.0, 0.0)
    """To train and to encode."""

    def counts(self, relevances: Mapping[int, Relevance], threads: int, progress: Progress) -> dict[int, HammingCounts]:
        """Return the counts of the ranking for each relevance."""
        n = len(self.query) * (len(self.items) if self.codes is None else 1)
        done = stage(progress, f"ranking by {self.name}", n)
        if self.codes is None:
            return count_by_distance(
                self.query, self.items, relevances, distance=self.distance, threads=threads, progress=done
            )
        named = {str(k): relevance for k, relevance in relevances.items()}
        counts = count(*self.codes[:3], named, bucket_sizes=False, largest_bucket=False, threads=threads, progress=done)
        return {k: counts[str(k)] for k in relevances}

    def times(self, k: int) -> Times:
        """Return the times; that of the search of the nearest `k` is measured now."""
        few, pair = self.query[:_MOST_QUERIES], self.codes
        if pair is None:
            search = lambda: nearest(few, self.items, k, distance=self.distance)  # noqa: E731
            return Times(*self.seconds, per_second(search, len(few), warm_up=False))
        return Times(*self.seconds, scans_per_second(pair))


Fitted = Callable[[NDArray, NDArray, Progress], Representation]
"""Returns the representation of queries and database."""


def fit(quantisers: Quantisers, name: str, database: NDArray, distance: Distance) -> Fitted:
    """Fit a quantiser or a hasher on training vectors or on a sample of the database.

    Raises
    ------
    ProtocolError
        If the training vectors are unusable, or it can't be fitted on such vectors.
    """
    if name == VECTORS:
        n_bytes, ranked_by = database.shape[1] * database.itemsize, f"{COMPARED[distance]} the vectors"
        return lambda query, database, _: Representation(name, n_bytes, query, database, distance, ranked_by)
    plugin = quantisers.plugin(name)
    if isinstance(plugin, Hashing):
        (hasher, _), train = timed(lambda: plugin.fit(database))

        def coded(query: NDArray, database: NDArray, progress: Progress) -> Representation:
            pair, encode = timed(lambda: encoded(hasher, query, database, progress))
            return of_codes(name, pair)._replace(seconds=(train, encode))

        return coded
    rows = training_rows(quantisers.train, database, quantisers.seed)[0]
    check_dimension(rows, database.shape[1], "training vectors")
    check_rows(rows, "training vectors:")
    rows = _scaled(rows, distance, smallest=MAGNITUDES[0])
    model, train = timed(lambda: plugin.fit(rows, distance, quantisers.seed))
    ranking = plugin.ranking(distance)

    def restored(codes: NDArray) -> NDArray[np.floating]:
        vectors = plugin.decode(codes, model)
        return _unit(vectors) if ranking == "cosine" else vectors

    def quantised(query: NDArray, database: NDArray, progress: Progress) -> Representation:
        vectors = blocks(database, stage(progress, f"encoding by {name}", len(database)))
        parts = (plugin.encode(_scaled(block, distance), model) for block in vectors)
        stored, encode = timed(lambda: _stored(parts, len(database)))
        return Representation(
            name,
            stored.shape[1] * stored.itemsize,
            plugin.queries(_scaled(query, distance), model),
            Decoded(stored, restored),
            "dot" if ranking == "cosine" else ranking,
            plugin.ranked_by(distance),
            seconds=(train, encode),
        )

    return quantised


def of_codes(name: str, pair: CodePair) -> Representation:
    """Return the representation by codes: -1 and +1, whose inner product orders items as the Hamming distance does."""

    def signs(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.where(codes.unpack(packed, pair.n_bits), np.float32(1), np.float32(-1))

    is_hamming = pair.ranking == "hamming"
    query = signs(pair.query) if is_hamming else pair.query
    items = Decoded(pair.database, signs)
    ranked_by = ranking_of(pair)
    return Representation(name, pair.database.shape[1], query, items, "dot", ranked_by, pair if is_hamming else None)


def ranking_of(pair: CodePair) -> str:
    """Return in words what ranks the items of codes."""
    return "the Hamming distance" if pair.ranking == "hamming" else "the inner product of outputs and codes"


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


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """Return a result and the seconds that it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def scans_per_second(pair: CodePair) -> float:
    """Return the queries per second of the scan by code, which counts the Hamming distances of all items."""
    return per_second(lambda: count(*pair[:3], {}, bucket_sizes=False, largest_bucket=False), len(pair.query))


def per_second(scan: Callable[[], object], n_queries: int, *, warm_up: bool = True) -> float:
    """Return the queries per second of the fastest of several scans."""
    if warm_up:
        scan()  # loads compiled code
    fastest, total = float("inf"), 0.0
    while total < _SECONDS:
        seconds = timed(scan)[1]
        fastest, total = min(fastest, seconds), total + seconds
    return n_queries / fastest


def machine() -> str:
    """Return the model of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.processor() or platform.machine())
