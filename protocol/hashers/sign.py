"""Sign: the binary quantisation of embeddings, with one bit for each feature."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.base import Hasher
from protocol.hashers.training_set import FLOAT32, TrainingSet
from protocol.registry import HasherRecord


@HasherRecord.declared
class Sign(Hasher):
    """Binary quantisation: each bit is the sign of one feature.

    ``bit_j(x) = [x_j > 0]`` for the first n_bits features.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to the number of features. With fewer bits than features, the first n_bits features are
        used, and the others have no influence.
    seed : int, default 0
        No effect, because nothing is random.

    Attributes
    ----------
    threshold_ : ndarray of float32, shape (n_bits,)
        Zeros.

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    There is no learning. With the preprocessing step ``centre``, the threshold is the training mean of a feature
    instead of 0. Non-negative features, such as GIST and SIFT, require that step, because otherwise almost all bits are
    1.

    The first features are the best choice only for principal components and for embeddings that were trained for this
    purpose (Matryoshka). Otherwise the choice is arbitrary.

    References
    ----------
    sentence-transformers, documentation, *Embedding Quantization*.
    Kusupati et al., *Matryoshka Representation Learning*, NeurIPS 2022 (embeddings that may be truncated).

    Examples
    --------
    >>> Sign(n_bits=2).fit([[0.0, 0.0, 0.0]]).transform([[0.5, -0.5, 2.0], [0.0, 1.0, -2.0]])
    array([[ True, False],
           [False,  True]])
    """

    learned = {"threshold_": ("float32", "n_bits")}
    magnitudes = FLOAT32

    def _thresholds(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the threshold of each column of the training rows."""
        return np.zeros(X.shape[1], dtype=np.float32)

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        self.threshold_ = self._thresholds(training.X[:, : self.n_bits])
        return {}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return X[:, : self.n_bits] > self.threshold_
