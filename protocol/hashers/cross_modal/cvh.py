"""CVH: signs of the projections on canonical directions of two modalities."""

import numpy as np

from protocol.hashers.cross_modal.base import CanonicalDirections, CrossModalHasher, Sides
from protocol.registry import HasherRecord


@HasherRecord.declared
class CVH(CrossModalHasher):
    """Cross-view hashing: hash functions of two modalities for which the two codes of an item differ least.

    ``bit_j(x) = [(phi_x(x) W_x)_j > 0]``, and the same with phi_y and W_y for the database: phi is an anchor kernel
    map, and the columns of W_x and W_y are the leading solutions of the eigenproblem of `canonical_directions`.

    Parameters and attributes are as for `CrossModalHasher`; the seed only determines the anchors.

    References
    ----------
    Kumar, Udupa, *Learning Hash Functions for Cross-View Similarity Search*, IJCAI 2011.

    Examples
    --------
    If the two modalities are equal, both items of a pair have the same code:

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = CVH(n_bits=4).fit(X, X)
    >>> bool((model.transform(X) == model.transform_database(X)).all())
    True
    """

    def _projections(self, directions: CanonicalDirections, mapped: Sides, rng: np.random.Generator) -> Sides:
        return directions.x, directions.y
