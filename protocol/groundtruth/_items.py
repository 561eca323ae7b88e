"""What a ground truth is built from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Items(NamedTuple):
    """The items of one partition: prepared features (n, d) and class labels (n,) or (n, n_classes), or None."""

    X: NDArray[np.float32]
    labels: NDArray | None
