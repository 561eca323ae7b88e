"""Matrix products that several hashers share: projections, distances, rotations, and the map of an anchor kernel."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_TILE = 2048  # rows projected at once: a tile of 512 features has 4 MB, so it is still in the cache after centring
_ROTATED_TILE = 512  # rows: a tile, its projection and its signs fit in the cache


def project(X: NDArray[np.float32], mean: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``(X - mean) @ directions``, shape (n, n_components), tile by tile."""
    projected = np.empty((len(X), directions.shape[1]), dtype=np.float32)
    for start in range(0, len(X), _TILE):
        tile = slice(start, start + _TILE)
        np.matmul(X[tile] - mean, directions, out=projected[tile])
    return projected


def squared_distances(centres: NDArray, X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``||c - x||^2 = ||c||^2 - 2 c.x + ||x||^2`` for every centre c and row x.

    Parameters
    ----------
    centres : ndarray of float, shape (k, d)
    X : ndarray of float32, shape (n, d)
        Rows, which should be centred: a common offset would reduce the precision of the subtraction.

    Returns
    -------
    ndarray of float32, shape (k, n)
        Never below zero.
    """
    centres = centres.astype(np.float32, copy=False)
    distances = (-2 * centres) @ X.T
    distances += np.einsum("ij,ij->i", centres, centres)[:, None]
    distances += np.einsum("ij,ij->i", X, X)
    return np.maximum(distances, 0, out=distances)


def random_rotation(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random orthogonal matrix: the left singular vectors of a standard normal (size, size) matrix."""
    return np.linalg.svd(rng.standard_normal((size, size)))[0]


def quantizing_rotation(V: NDArray[np.float32], n_iter: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return ITQ's orthogonal R, which moves the rows of V R close to the corners of a cube, from a random start.

    Parameters
    ----------
    V : ndarray of float32, shape (n, size)
    n_iter : int
        Number of updates, at least 1.
    rng : Generator

    Returns
    -------
    ndarray of float64, shape (size, size)

    References
    ----------
    Gong, Lazebnik, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes*, CVPR 2011, section 2.2.
    """
    total = V.sum(axis=0, dtype=np.float64)
    rotation = random_rotation(V.shape[1], rng)
    for _ in range(n_iter):
        R = rotation.astype(np.float32)
        above = np.zeros(rotation.shape)  # H'V, with H = 1 where V R >= 0, else 0: cheaper than with B = 2 H - 1
        for start in range(0, len(V), _ROTATED_TILE):
            tile = V[start : start + _ROTATED_TILE]
            above += (tile @ R >= 0).astype(np.float32).T @ tile
        U, _, At = np.linalg.svd(2 * above - total)  # B'V
        rotation = (U @ At).T  # the orthogonal R that best maps V to the signs B of V R
    return rotation


class Kernel(NamedTuple):
    """The map ``phi_j(x) = exp(-||x - a_j||^2 / (2 w_j^2)) - offset_j`` with m anchors a_j.

    Attributes
    ----------
    anchors : ndarray of float32, shape (m, d)
        The anchors, which are training rows.
    width : ndarray of float32, shape (m,)
        The widths w, above 0.
    offset : ndarray of float32, shape (m,)
        The offsets, for which the mean of phi over the training rows is 0.
    """

    anchors: NDArray[np.float32]
    width: NDArray[np.float32]
    offset: NDArray[np.float32]

    def map(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return phi of rows (n, d), shape (n, m)."""
        near = self._squared_distances(X)
        near /= -2 * self.width[:, None] ** 2
        return np.exp(near, out=near).T - self.offset

    def _squared_distances(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        centre = self.anchors.mean(axis=0, dtype=np.float64).astype(np.float32)
        return squared_distances(self.anchors - centre, X - centre)


def arrays_of_kernel(side: str = "", d: str = "d") -> dict[str, tuple[str, ...]]:
    """Return the declaration of the arrays of a `Kernel`, and of the projection of its map to n_bits functions.

    The names begin with `side`, and a row has `d` features.

    Examples
    --------
    >>> arrays_of_kernel("database_", "d_database")["database_anchors_"]
    ('float32', 'n_anchors', 'd_database')
    """
    m = "n_anchors"
    shapes = {"anchors": (m, d), "width": (m,), "offset": (m,), "projection": (m, "n_bits")}
    return {f"{side}{name}_": ("float32", *shape) for name, shape in shapes.items()}


def fit_kernel(X: NDArray[np.float32], rows: NDArray[np.int64], *, width: float | None = None) -> Kernel:
    """Return the map for training rows (n, d) with the anchors `rows`, (m,).

    The width of an anchor is its mean distance from the training rows, or 1 if that is 0. If `width` is given, it is
    the same for all anchors, as in the code of Liu et al.: `width` times the root mean square of the distances between
    training rows and anchors, or 1 if these are all 0.

    References
    ----------
    Liu, Wang, Ji, Jiang, Chang, *Supervised Hashing with Kernels*, CVPR 2012, section 2.1: hash functions of the
    centred kernel with training rows drawn at random.
    """
    plain = Kernel(X[rows], np.ones(len(rows), dtype=np.float32), np.zeros(len(rows), dtype=np.float32))
    squared = plain._squared_distances(X)
    if width is None:
        mean = np.sqrt(squared).mean(axis=1, dtype=np.float64).astype(np.float32)
        wide = plain._replace(width=np.where(mean > 0, mean, plain.width))
    else:
        mean_square = float(squared.mean(dtype=np.float64))
        wide = plain._replace(width=plain.width * np.float32(width * np.sqrt(mean_square) or 1))
    return wide._replace(offset=wide.map(X).mean(axis=0, dtype=np.float64).astype(np.float32))
