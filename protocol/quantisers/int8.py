"""int8: one byte for each dimension, with one scale for all of them or the range of each."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from protocol.quantisers._quantiser import Quantiser, Ranking
from protocol.registry import QuantiserRecord, choice


@QuantiserRecord.declared
class Int8(Quantiser):
    """int8: each value rounded to one of 255 or 256 levels.

    ``symmetric`` rounds to multiples of the largest magnitude divided by 127. The others divide the range of each
    dimension over the training vectors into intervals, whose middles are decoded: ``minmax`` rounds down, and
    ``sentence_transformers`` subtracts 128 and rounds towards zero.

    Parameters
    ----------
    calibration : {"symmetric", "minmax", "sentence_transformers"}, default "symmetric"
        One scale for all dimensions, or the range of each dimension with one of two rounding rules (see above).

    Examples
    --------
    >>> vectors = np.float32([[-1, 0], [0.25, 2.54]])
    >>> quantiser = Int8()
    >>> quantiser.encode(vectors, quantiser.fit(vectors, "dot", 0)).tolist()
    [[-50, 0], [12, 127]]
    """

    calibration: Annotated[str, choice("symmetric", "minmax", "sentence_transformers")] = "symmetric"

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> Any:
        """Return the scale; or the smallest value of each dimension, and its range, 1 if that is 0."""
        if self.calibration == "symmetric":
            return (np.abs(vectors).max() or np.float32(1)) / np.float32(127)
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        return low, np.where(high > low, high - low, np.float32(1))

    def encode(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.int8 | np.uint8]:
        """Return the levels."""
        if self.calibration == "symmetric":
            return np.clip(np.rint(vectors / model), -127, 127).astype(np.int8)
        low, width = model
        if self.calibration == "minmax":
            share = np.clip((vectors - low) / width, np.float32(0), np.float32(1))
            return (share * np.float32(255)).astype(np.uint8)
        steps = (vectors - low) / (width / np.float32(255)) - np.float32(128)
        return np.clip(steps, -128, 127).astype(np.int8)

    def decode(self, codes: NDArray, model: Any) -> NDArray[np.floating]:
        """Return the values of levels."""
        if self.calibration == "symmetric":
            return codes * model
        low, width = model
        if self.calibration == "minmax":
            return low + (codes + np.float32(0.5)) / np.float32(255) * width
        middles = codes + np.float32(128) + np.sign(codes) * np.float32(0.5)
        return low + middles * (width / np.float32(255))
