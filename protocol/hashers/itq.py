"""ITQ: principal components, rotated so that their signs lose least."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer
from protocol.hashers.base import Hasher
from protocol.hashers.linear_algebra import project, quantizing_rotation
from protocol.hashers.training_set import TrainingSet
from protocol.registry import HasherRecord, Iterations


@HasherRecord(
    "itq",
    printed="ITQ",
    source="Gong and Lazebnik, Iterative Quantization, CVPR 2011, section 2.2, eq. 2",
    deviations="Exactly n_iter = 50 updates of the rotation, as the paper and FAISS say; the reference MATLAB code "
    "(HABIR toolkit) makes 51. The training mean is subtracted here, where that code relies on centred input, and "
    "n_bits above the number of features is refused.",
    bits_within_features=True,
    random=True,
    iterations=Iterations(option="n_iter", ms=0.25, grows=True),
)
class ITQ(Hasher):
    """Iterative quantization: PCA, then the rotation that brings the points nearest to the corners of a cube.

    ``min over B in {-1, 1}^(n x n_bits) and orthogonal R of ||B - V R||_F^2``, with V the n_bits leading principal
    components of the training rows; ``bit_j(x) = [((x - mean) W R)_j > 0]``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to the number of features.
    seed : int, default 0
        Seed of the first rotation, a random one as in `PCARR`.
    n_iter : int, default 50
        Number of updates of R, at least 1.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        W R, with W the eigenvectors as columns.
    fit_record_ : dict
        ``directions_without_variance``: how many columns of W carry only rounding (constant features, or fewer
        training rows than bits).

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    One update is ``B = sign(V R)`` with sign(0) = 1, then ``R = A U'`` from the singular value decomposition
    ``B' V = U S A'``. Exactly n_iter updates are made, and no update of B follows the last. FAISS makes 50 as well.
    The reference MATLAB code counts from 0 to 50, so it makes 51: ``n_iter=51`` repeats it.
    If all training rows are the same, so are all their codes: zeros.

    References
    ----------
    Gong, Lazebnik, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes*, CVPR 2011, section 2.2.

    Examples
    --------
    The corners of a square, tilted: every corner gets its own code, and opposite corners differ in both bits.

    >>> X = [[3.0, 1.0], [-1.0, 3.0], [-3.0, -1.0], [1.0, -3.0]]
    >>> codes = ITQ(n_bits=2).fit(X).transform(X)
    >>> [int((codes[0] != code).sum()) for code in codes]
    [0, 1, 2, 1]
    """

    learned = {"mean_": ("float32", "d"), "projection_": ("float32", "d", "n_bits")}

    def __init__(self, n_bits: int = 32, *, seed: int = 0, n_iter: int = 50) -> None:
        super().__init__(n_bits, seed=seed)
        self.n_iter = n_iter

    def _check(self) -> None:
        integer(self.n_iter, "n_iter")

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        components = training.components(self.n_bits)
        V = project(training.X, components.mean, components.directions)
        rotation = quantizing_rotation(V, self.n_iter, rng)
        self.mean_ = components.mean
        self.projection_ = (components.directions @ rotation).astype(np.float32)
        return {"directions_without_variance": components.n_without_variance}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return project(X, self.mean_, self.projection_) > 0
