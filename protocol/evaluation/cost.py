"""The cost of a code: bytes per item and, if requested, the speed of our own exact scan."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.counting import count
from protocol.truth import Distance, nearest

_MOST_QUERIES = 100
"""The number of queries used to measure the speed of the scan by vectors."""
_SECONDS = 0.5
"""Scans by code are repeated until they have taken this many seconds."""


@dataclass(frozen=True)
class Speed:
    """Queries per second of our own exact scan of the database with one thread, on one machine and without an index.

    Parameters
    ----------
    codes : float
        Of the scan by code, which counts the Hamming distances of all items.
    vectors : float
        Of the search of the nearest items by the vectors.
    machine : str
        The model of the CPU.
    """

    codes: float
    vectors: float
    machine: str


@dataclass(frozen=True)
class Cost:
    """The storage that an item takes, and the speed of a scan.

    Parameters
    ----------
    code_bytes : int
        Bytes of the code.
    rescore_code_bytes : int or None
        Bytes of the second code; None without one.
    vector_bytes : int
        Bytes of the vector in its stored dtype.
    speed : Speed or None
        None if it was not measured.
    """

    code_bytes: int
    rescore_code_bytes: int | None
    vector_bytes: int
    speed: Speed | None = None


def measured(
    query: NDArray[np.uint8],
    database: NDArray[np.uint8],
    n_bits: int,
    query_vectors: NDArray,
    database_vectors: NDArray,
    *,
    neighbours: int,
    distance: Distance,
) -> Speed:
    """Measure the speed of a scan by code, and of one by the vectors that searches for the nearest `neighbours`."""
    few = query_vectors[:_MOST_QUERIES]
    by_code = _per_second(
        lambda: count(query, database, n_bits, {}, bucket_sizes=False, largest_bucket=False), len(query)
    )
    by_vectors = _per_second(
        lambda: nearest(few, database_vectors, neighbours, distance=distance), len(few), warm_up=False
    )
    return Speed(by_code, by_vectors, machine())


def _per_second(scan: Callable[[], object], n_queries: int, *, warm_up: bool = True) -> float:
    """Return the queries per second of the fastest of several scans."""
    if warm_up:
        scan()  # loads compiled code
    fastest, total = float("inf"), 0.0
    while total < _SECONDS:
        start = time.perf_counter()
        scan()
        seconds = time.perf_counter() - start
        fastest, total = min(fastest, seconds), total + seconds
    return n_queries / fastest


def machine() -> str:
    """Return the model of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.processor() or platform.machine())
