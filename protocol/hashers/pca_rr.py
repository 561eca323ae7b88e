"""PCA-RR: signs of principal components after a random rotation."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.linear_algebra import random_rotation
from protocol.hashers.pcah import PCAH
from protocol.hashers.training_set import TrainingSet
from protocol.registry import HasherRecord


@HasherRecord.declared
class PCARR(PCAH):
    """PCA with a random rotation, which spreads the variance evenly over the bits.

    ``bit_j(x) = [((x - mean) W R)_j > 0]``, with W the n_bits leading eigenvectors of the covariance and R a random
    orthogonal matrix: the left singular vectors of a Gaussian one.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to the number of features.
    seed : int, default 0
        Seed of the rotation.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        W R.
    fit_record_ : dict
        ``directions_without_variance``: the number of columns of W that are only rounding noise (because of constant
        features, or fewer training rows than bits); they contribute nothing to the rotated projections.

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    If all training rows are equal, all bits of their codes are 0.

    References
    ----------
    Gong, Lazebnik, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes*, CVPR 2011, section 2.2.

    Examples
    --------
    A rotation about the mean keeps opposite points opposite:

    >>> X = [[3.0, 1.0], [-3.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
    >>> codes = PCARR(n_bits=2).fit(X).transform(X)
    >>> bool((codes[0] != codes[1]).all() and (codes[2] != codes[3]).all())
    True
    """

    def _rotated(self, W: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> NDArray[np.float32]:
        return (W @ random_rotation(self.n_bits, rng)).astype(np.float32)
