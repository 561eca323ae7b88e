"""Principal components, shared by the hashers that project on them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

_TILE = 2048  # rows: a tile of 512 features is 4 MB, so centring it costs no trip to memory


class PrincipalComponents(NamedTuple):
    """Leading eigenvectors of the training covariance, ``cov(X) W = W diag(variance)``.

    Attributes
    ----------
    mean : ndarray of float32, shape (d,)
    directions : ndarray of float32, shape (d, n_components)
        W: orthonormal columns, the largest variance first. Of each column the entry largest in absolute value is
        positive, so the sign does not hang on the linear-algebra library.
    n_without_variance : int
        How many of the directions carry nothing but rounding: constant or dependent features, or fewer rows than
        components. Bits made from them are noise.
    """

    mean: NDArray[np.float32]
    directions: NDArray[np.float32]
    n_without_variance: int


def principal_components(X: NDArray[np.float32], n_components: int) -> PrincipalComponents:
    """Return the `n_components` leading principal components of `X`.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d)
    n_components : int
        At most d.

    Returns
    -------
    PrincipalComponents

    Raises
    ------
    ProtocolError
        If there are fewer features than components.

    Notes
    -----
    Products are float32 within a tile of rows and float64 across tiles, so the rounding does not grow with n.
    The covariance is not divided by n - 1: its eigenvectors are the same.
    """
    from scipy.linalg import eigh

    n_features = X.shape[1]
    if n_components > n_features:
        raise ProtocolError(
            f"n_bits: {n_components} bits need as many principal components, but there are {n_features} features; "
            f"take n_bits <= {n_features}"
        )
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    scatter = np.zeros((n_features, n_features))
    for start in range(0, len(X), _TILE):
        centred = X[start : start + _TILE] - mean
        scatter += centred.T @ centred
    variance, vectors = eigh(scatter, subset_by_index=[n_features - n_components, n_features - 1])
    directions = vectors[:, ::-1]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    rounding = np.finfo(np.float32).eps * np.trace(scatter)
    return PrincipalComponents(
        mean, (directions * np.sign(largest)).astype(np.float32), int((variance <= rounding).sum())
    )


def project(X: NDArray[np.float32], mean: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``(X - mean) @ directions``, shape (n, n_components), tile by tile."""
    projected = np.empty((len(X), directions.shape[1]), dtype=np.float32)
    for start in range(0, len(X), _TILE):
        tile = slice(start, start + _TILE)
        np.matmul(X[tile] - mean, directions, out=projected[tile])
    return projected
