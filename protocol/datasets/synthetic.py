"""Random vectors in clusters, of any number and dimension, for scalability tests; nothing is downloaded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer, number
from protocol.datasets import Data, LazyRows, Paths, numbered_ids
from protocol.registry import DatasetRecord

_BLOCK = 4096  # vectors per random generator; another value would change the vectors
_CENTRES, _LABELS, _NOISE = range(3)


def _statistics(n: int, dimension: int, n_clusters: int, spread: float, seed: int) -> dict[str, Any]:
    integer(n, "n")
    integer(dimension, "dimension")
    integer(n_clusters, "n_clusters", maximum=n)
    number(spread, "spread")
    integer(seed, "seed", minimum=0)
    return {"n": n, "classes": n_clusters, "dimensions": {"features": dimension}}


@DatasetRecord.declared_with(statistics=_statistics)
def load(
    paths: Paths, *, n: int = 10_000, dimension: int = 128, n_clusters: int = 100, spread: float = 0.5, seed: int = 0
) -> Data:
    """Random vectors in clusters, of any number and dimension, for scalability tests.

    Vector i is c + spread * e: c is the centre of its cluster, standard normal, and e is standard normal noise.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: there are no files.
    n : int, default=10000
        Number of vectors.
    dimension : int, default=128
        Number of dimensions of the vectors.
    n_clusters : int, default=100
        Number of clusters, at most `n`. The sizes of the clusters differ by at most one.
    spread : float, default=0.5
        Standard deviation within a cluster along each dimension; that of the centres is 1.
    seed : int, default=0
        Seed of the centres and of the noise.

    Returns
    -------
    Data
        Vectors ``features``, float32, shape (n, dimension), computed on demand; labels, int64, the clusters.

    Raises
    ------
    ProtocolError
        If an option is out of its range.
    """
    _statistics(n, dimension, n_clusters, spread, seed)
    centres = np.random.default_rng([seed, _CENTRES]).standard_normal((n_clusters, dimension), dtype=np.float32)
    labels = np.random.default_rng([seed, _LABELS]).permutation(np.arange(n) % n_clusters)

    def block(number: int) -> NDArray[np.float32]:
        means = centres[labels[number * _BLOCK : (number + 1) * _BLOCK]]
        noise = np.random.default_rng([seed, _NOISE, number]).standard_normal(means.shape, dtype=np.float32)
        return means + np.float32(spread) * noise

    def read(start: int, stop: int) -> NDArray[np.float32]:
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        parts = [block(number) for number in range(first, max(last, first + 1))]
        return np.concatenate(parts)[start - first * _BLOCK : stop - first * _BLOCK]

    class_names = tuple(f"cluster {number}" for number in range(n_clusters))
    vectors = {"features": LazyRows((n, dimension), np.float32, read)}
    return Data(numbered_ids(n), labels, class_names, vectors=vectors)
