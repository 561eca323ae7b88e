"""Squared Euclidean distances by one matrix product, shared by the hashers that learn centres."""

import numpy as np
from numpy.typing import NDArray


def squared_distances(centres: NDArray, X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``||c - x||^2 = ||c||^2 - 2 c.x + ||x||^2`` of every centre c and row x.

    Parameters
    ----------
    centres : ndarray of float, shape (k, d)
    X : ndarray of float32, shape (n, d)
        Centred rows: a common offset would cost digits in the subtraction.

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
