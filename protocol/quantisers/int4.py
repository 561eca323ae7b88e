"""int4: four bits for each dimension, over the range of each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.quantisers._quantiser import Quantiser, Ranges, Ranking, packed, unpacked
from protocol.registry import QuantiserRecord


class _Model(NamedTuple):
    ranges: Ranges
    dimension: int


@QuantiserRecord(
    "int4",
    printed="int4",
    source="faiss, IndexScalarQuantizer with QT_4bit",
    size="ceil(d / 2)",
    queries="real-valued",
)
class Int4(Quantiser):
    """int4: each value rounded down to one of 16 levels over the range of its dimension in the training vectors.

    Values outside the range are clipped. The middle of a level is decoded.
    """

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> _Model:
        """Return the range of each dimension."""
        return _Model(Ranges.of(vectors), vectors.shape[1])

    def encode(self, vectors: NDArray[np.float32], model: _Model) -> NDArray[np.uint8]:
        """Return two levels in each byte."""
        return packed(model.ranges.encode(vectors, 15), 4)

    def decode(self, codes: NDArray, model: _Model) -> NDArray[np.floating]:
        """Return the middles of the levels."""
        return model.ranges.decode(unpacked(codes, 4, model.dimension), 15)
