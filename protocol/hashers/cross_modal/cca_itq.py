"""CCA-ITQ: canonical directions of two modalities with a common rotation that minimises the quantisation error."""

import numpy as np

from protocol.hashers.cross_modal.base import CanonicalDirections, CrossModalHasher, Sides
from protocol.hashers.linear_algebra import quantizing_rotation
from protocol.registry import Count, HasherRecord


@HasherRecord.declared
class CCAITQ(CrossModalHasher):
    """Canonical correlation analysis of two modalities, followed by a common rotation.

    ``bit_j(x) = [(phi_x(x) W_x diag(correlations) R)_j > 0]``, and the same with phi_y and W_y for the database: phi is
    an anchor kernel map, W are canonical directions, and R is ITQ's rotation of the projected training rows of both.

    Parameters and attributes are as for `CrossModalHasher`; the seed also determines the initial rotation.

    Parameters
    ----------
    n_iter : int, default 50
        Number of updates of the rotation, at least 1.

    References
    ----------
    Gong, Lazebnik, Gordo, Perronnin, *Iterative Quantization: A Procrustean Approach to Learning Binary Codes for
    Large-Scale Image Retrieval*, TPAMI 2013, section 3.2.

    Examples
    --------
    If the two modalities are equal, both items of a pair have the same code:

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = CCAITQ(n_bits=4).fit(X, X)
    >>> bool((model.transform(X) == model.transform_database(X)).all())
    True
    """

    n_iter: Count = 50

    def _projections(self, directions: CanonicalDirections, mapped: Sides, rng: np.random.Generator) -> Sides:
        scaled = directions.x * directions.correlations, directions.y * directions.correlations
        V = np.vstack([rows @ W.astype(np.float32) for rows, W in zip(mapped, scaled, strict=True)])
        rotation = quantizing_rotation(V, self.n_iter, rng)
        return scaled[0] @ rotation, scaled[1] @ rotation
