"""Orthogonal matrices, shared by the hashers that rotate: random ones, and those that bring points near to codes."""

import numpy as np
from numpy.typing import NDArray

_TILE = 512  # rows: a tile, its projection and its signs stay in the cache


def random_rotation(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random orthogonal matrix: the left singular vectors of a standard normal (size, size) matrix."""
    return np.linalg.svd(rng.standard_normal((size, size)))[0]


def quantizing_rotation(V: NDArray[np.float32], rotation: NDArray[np.float64], n_iter: int) -> NDArray[np.float64]:
    """Return the rotation after `n_iter` updates, each of which brings ``V @ rotation`` nearer to its signs (`ITQ`)."""
    total = V.sum(axis=0, dtype=np.float64)
    for _ in range(n_iter):
        rotation = _update(V, total, rotation)
    return rotation


def _update(V: NDArray[np.float32], total: NDArray[np.float64], rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the orthogonal R nearest to taking `V`, whose rows sum to `total`, to the signs of ``V @ rotation``."""
    R = rotation.astype(np.float32)
    above = np.zeros(rotation.shape)  # H'V, with H = 1 where V R >= 0, else 0: cheaper to make than B = 2 H - 1
    for start in range(0, len(V), _TILE):
        tile = V[start : start + _TILE]
        above += (tile @ R >= 0).astype(np.float32).T @ tile
    U, _, At = np.linalg.svd(2 * above - total)  # B'V
    return (U @ At).T
