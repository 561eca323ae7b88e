"""Random orthogonal matrices, shared by the hashers that rotate."""

import numpy as np
from numpy.typing import NDArray


def random_rotation(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random orthogonal matrix: the left singular vectors of a standard normal (size, size) matrix."""
    return np.linalg.svd(rng.standard_normal((size, size)))[0]
