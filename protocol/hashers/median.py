"""Median: one bit for each feature, with the median of the training values as the threshold."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.sign import Sign
from protocol.registry import HasherRecord


@HasherRecord.declared
class Median(Sign):
    """Binary quantisation at the median: a bit is 1 if its feature is above the median of the training values.

    ``bit_j(x) = [x_j > median_j]`` for the first n_bits features, where median_j is the median of the training rows.

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
        The medians; with an even number of training rows, the mean of the two middle values.

    Raises
    ------
    ProtocolError
        In fit, if n_bits exceeds the number of features.

    Notes
    -----
    Each bit is 1 for at most half of the training rows, and for exactly half of them if their number is even and the
    values are distinct; the entropy of a bit is then maximal. A value that many rows share, such as 0 in sparse
    features, makes the halves unequal. Preprocessing by ``centre`` has no effect, because it also shifts the median.

    References
    ----------
    NVIDIA cuVS, documentation, *Binary quantizer* (``bit_threshold``).
    Caspari et al., *CoRECT: A Framework for Evaluating Embedding Compression Techniques at Scale*, arXiv:2510.19340.
    Zhang, Wang, Cai, Lu, *Self-Taught Hashing for Fast Similarity Search*, SIGIR 2010 (medians of an eigenmap).
    Kusupati et al., *Matryoshka Representation Learning*, NeurIPS 2022 (embeddings that may be truncated).

    Examples
    --------
    >>> X = [[1.0, 0.0], [2.0, 0.0], [30.0, 9.0], [40.0, 8.0]]
    >>> Median(n_bits=1).fit(X).transform(X).ravel()
    array([False, False,  True,  True])
    """

    def _thresholds(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        values = X.astype(np.float64)  # the sum of the two middle values may overflow in float32
        return np.median(values, axis=0, overwrite_input=True).astype(np.float32)
