"""Canonical correlation analysis: the directions in which two modalities of the same items are most correlated."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class CanonicalDirections(NamedTuple):
    """Pairs of directions, the highest correlation first.

    Attributes
    ----------
    x : ndarray of float64, shape (d, n_directions)
        Directions of the first modality. The entry of each column with the largest absolute value is positive, so that
        the sign does not depend on the linear-algebra library.
    y : ndarray of float64, shape (d', n_directions)
        Directions of the second modality; ``x[:, j]`` and ``y[:, j]`` form a pair.
    correlations : ndarray of float64, shape (n_directions,)
        Regularised correlation of each pair over the training rows, from 0 to 1.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    correlations: NDArray[np.float64]


def canonical_directions(
    X: NDArray[np.float32], Y: NDArray[np.float32], n_directions: int, *, regularisation: float
) -> CanonicalDirections:
    """Solve ``[0 C_xy; C_yx 0] w = correlation [C_xx + r_x I, 0; 0, C_yy + r_y I] w`` with ``w = (x, y)``.

    C are covariances of the training rows, and r is `regularisation` times the mean variance of a modality.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d)
        Rows of the first modality, centred.
    Y : ndarray of float32, shape (n, d')
        Rows of the second modality, centred; row i of both is the same item.
    n_directions : int
        At most the smaller of d and d'.
    regularisation : float
        Above 0.

    References
    ----------
    Hardoon, Szedmak, Shawe-Taylor, *Canonical Correlation Analysis: An Overview with Application to Learning Methods*,
    Neural Computation 2004, sections 2 and 3.2.
    """
    from scipy.linalg import eigh

    d = X.shape[1]
    both = np.hstack([X, Y]).astype(np.float64)
    covariance = both.T @ both / len(both)
    between, within = np.zeros_like(covariance), np.zeros_like(covariance)
    between[:d, d:], between[d:, :d] = covariance[:d, d:], covariance[d:, :d]
    for part in (slice(d), slice(d, None)):
        block = covariance[part, part]
        variance = np.trace(block) / len(block)
        within[part, part] = block + regularisation * (variance or 1) * np.eye(len(block))
    n = len(within)
    correlations, pairs = eigh(between, within, subset_by_index=(n - n_directions, n - 1))
    pairs = pairs[:, ::-1]
    largest = np.take_along_axis(pairs, np.abs(pairs[:d]).argmax(axis=0)[None], axis=0)
    pairs = pairs * np.where(largest < 0, -1, 1)
    return CanonicalDirections(pairs[:d], pairs[d:], np.clip(correlations[::-1], 0, 1))
