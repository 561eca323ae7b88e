"""Anchor kernel map: a row by how near it is to some training rows, so that few features can carry many bits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.linear_algebra import squared_distances


class Kernel(NamedTuple):
    """``phi_j(x) = exp(-||x - a_j||^2 / (2 w_j^2)) - offset_j``, of m anchors a_j.

    Attributes
    ----------
    anchors : ndarray of float32, shape (m, d)
        Training rows.
    width : ndarray of float32, shape (m,)
        Above 0.
    offset : ndarray of float32, shape (m,)
        What makes the mean of phi over the training rows 0.
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


def fit_kernel(X: NDArray[np.float32], rows: NDArray[np.int64]) -> Kernel:
    """Return the map of training rows (n, d), of which `rows`, (m,), are the anchors.

    The width of an anchor is the mean distance of the training rows to it, 1 where that is 0.

    References
    ----------
    Liu, Wang, Ji, Jiang, Chang, *Supervised Hashing with Kernels*, CVPR 2012, section 2.1: hash functions of the
    centred kernel with training rows drawn at random.
    """
    ones = np.ones(len(rows), dtype=np.float32)
    plain = Kernel(X[rows], ones, 0 * ones)
    width = np.sqrt(plain._squared_distances(X)).mean(axis=1, dtype=np.float64).astype(np.float32)
    plain = plain._replace(width=np.where(width > 0, width, ones))
    return _centred(plain, X)


def fit_kernel_of_one_width(X: NDArray[np.float32], rows: NDArray[np.int64], width: float) -> Kernel:
    """Return the map as `fit_kernel` does, but with one width for all anchors, as the code of Liu et al. has it.

    The width is `width` times the root mean square of the distances between training rows and anchors, or 1 where these
    are all 0.
    """
    ones = np.ones(len(rows), dtype=np.float32)
    plain = Kernel(X[rows], ones, 0 * ones)
    mean_square = float(plain._squared_distances(X).mean(dtype=np.float64))
    return _centred(plain._replace(width=ones * np.float32(width * np.sqrt(mean_square) or 1)), X)


def _centred(plain: Kernel, X: NDArray[np.float32]) -> Kernel:
    return plain._replace(offset=plain.map(X).mean(axis=0, dtype=np.float64).astype(np.float32))
