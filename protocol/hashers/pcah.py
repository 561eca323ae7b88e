"""PCAH: the signs of the leading principal components."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers import LinearHasher, TrainingSet
from protocol.registry import HasherRecord


@HasherRecord.declared
class PCAH(LinearHasher):
    """PCA hashing: each bit is the sign of one principal component.

    ``bit_j(x) = [(x - mean) . w_j > 0]``, with w_j the eigenvector of the j-th largest eigenvalue of the covariance.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to the number of features.
    seed : int, default 0
        No effect, because nothing is random.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The eigenvectors w_j as columns.
    fit_record_ : dict
        ``directions_without_variance``: the number of directions that are only rounding noise (because of constant
        features, or fewer training rows than bits). Their bits of training rows are noise.

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    The sign of an eigenvector is arbitrary; we make its entry with the largest absolute value positive. Hamming
    distances do not depend on it. If all training rows are equal, all bits of their codes are 0.

    References
    ----------
    Wang, Zhang, Jing, Ma, *AnnoSearch: Image Auto-Annotation by Search*, CVPR 2006.
    Gong, Lazebnik, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes*, CVPR 2011, section 2.1.

    Examples
    --------
    These points lie along the first axis:

    >>> X = [[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    >>> PCAH(n_bits=1).fit(X).transform(X).ravel()
    array([False, False,  True,  True])
    """

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        components = training.components(self.n_bits)
        self.mean_ = training.mean
        self.projection_ = self._rotated(components.directions, training, rng)
        return {"directions_without_variance": components.n_without_variance}

    def _rotated(self, W: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the directions of the bits, which subclasses rotate, from those of the components."""
        return W
