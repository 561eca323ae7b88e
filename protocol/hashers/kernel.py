"""The anchor kernel map: it represents a row by its similarity to anchors, so few features suffice for many bits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.linear_algebra import squared_distances


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


def fit_kernel(X: NDArray[np.float32], rows: NDArray[np.int64]) -> Kernel:
    """Return the map for training rows (n, d) with the anchors `rows`, (m,).

    The width of an anchor is its mean distance from the training rows, or 1 if that is 0.

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
    """Return the map like `fit_kernel`, but with the same width for all anchors, as in the code of Liu et al.

    The width is `width` times the root mean square of the distances between training rows and anchors, or 1 if these
    are all 0.
    """
    ones = np.ones(len(rows), dtype=np.float32)
    plain = Kernel(X[rows], ones, 0 * ones)
    mean_square = float(plain._squared_distances(X).mean(dtype=np.float64))
    return _centred(plain._replace(width=ones * np.float32(width * np.sqrt(mean_square) or 1)), X)


def _centred(plain: Kernel, X: NDArray[np.float32]) -> Kernel:
    return plain._replace(offset=plain.map(X).mean(axis=0, dtype=np.float64).astype(np.float32))
