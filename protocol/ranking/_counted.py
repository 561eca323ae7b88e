"""What an algorithm returns for a block of queries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Counted(NamedTuple):
    """The counts of a block of queries; a ground truth that is missing is counted from the codes of its items alone."""

    retrieved: NDArray[np.int64]
    """Items at each distance, (n_block, n_bits + 1)."""
    at_level: dict[str, NDArray[np.int64]]
    """Relevant items at each level and distance by the name of the ground truth, (n_block, n_levels, n_bits + 1)."""
