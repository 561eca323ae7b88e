"""ITQ: principal components with a rotation that minimises the quantisation error."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.linear_algebra import project, quantizing_rotation
from protocol.hashers.pcah import PCAH
from protocol.hashers.training_set import TrainingSet
from protocol.registry import Count, HasherRecord


@HasherRecord.declared
class ITQ(PCAH):
    """Iterative quantization: PCA, followed by the rotation that brings the points closest to the vertices of a cube.

    ``min over B in {-1, 1}^(n x n_bits) and orthogonal R of ||B - V R||_F^2``, with V the n_bits leading principal
    components of the training rows; ``bit_j(x) = [((x - mean) W R)_j > 0]``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to the number of features.
    seed : int, default 0
        Seed of the initial random rotation, see `PCARR`.
    n_iter : int, default 50
        Number of updates of R, at least 1.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        W R, with W the eigenvectors as columns.
    fit_record_ : dict
        ``directions_without_variance``: the number of columns of W that are only rounding noise (because of constant
        features, or fewer training rows than bits).

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    One update is ``B = sign(V R)`` with sign(0) = 1, then ``R = A U'`` from the singular value decomposition
    ``B' V = U S A'``. There are exactly n_iter updates, and no update of B follows the last one. FAISS also makes 50.
    The reference MATLAB code counts from 0 to 50 and therefore makes 51, like ``n_iter=51``.
    If all training rows are equal, all bits of their codes are 0.

    References
    ----------
    Gong, Lazebnik, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes*, CVPR 2011, section 2.2.

    Examples
    --------
    For the corners of a tilted square, all codes are distinct, and opposite corners differ in both bits:

    >>> X = [[3.0, 1.0], [-1.0, 3.0], [-3.0, -1.0], [1.0, -3.0]]
    >>> codes = ITQ(n_bits=2).fit(X).transform(X)
    >>> [int((codes[0] != code).sum()) for code in codes]
    [0, 1, 2, 1]
    """

    n_iter: Count = 50

    def _rotated(self, W: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> NDArray[np.float32]:
        V = project(training.X, training.mean, W)
        return (W @ quantizing_rotation(V, self.n_iter, rng)).astype(np.float32)
