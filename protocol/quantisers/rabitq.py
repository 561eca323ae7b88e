"""RaBitQ: the signs of a randomly rotated vector, with factors that make the estimate of distances unbiased."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need
from protocol.quantisers._quantiser import FaissQuantiser, Ranking, last
from protocol.registry import QuantiserRecord


@QuantiserRecord.declared
class RaBitQ(FaissQuantiser):
    r"""RaBitQ: one bit for each dimension of the rotated residual from the mean, and two factors in float32.

    With the residual r of an item from the mean c, and s the vector of signs of the rotated r, the squared distance of
    a query q is estimated as

    .. math:: |q - c|^2 + |r|^2 - 2 \langle q - c, y \rangle, \quad y = s \, |r|^2 / \langle r, s \rangle

    It orders items like the inner product of ``(q - c, 1)`` and ``(y, -|r|^2 / 2)``, which this quantiser decodes. For
    the inner product, ``|r|^2 - |x|^2`` takes the place of ``|r|^2``. For the cosine, the squared distance of unit
    vectors is estimated.
    """

    def _index(self, faiss: Any, dimension: int, metric: int, seed: int) -> Any:
        rotation = faiss.RandomRotationMatrix(dimension, dimension)
        rotation.init(seed)
        return faiss.IndexPreTransform(rotation, faiss.IndexRaBitQ(dimension, metric))

    def decode(self, codes: NDArray, model: Any) -> NDArray[np.floating]:
        """Return y and minus half of the constant, in the rotated space."""
        first = -(-last(model).d // 8)
        constant = np.ascontiguousarray(codes[:, first : first + 4]).view(np.float32)
        return np.hstack([super().decode(codes, model) - _centre(model), constant / -2])

    def queries(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.floating]:
        """Return the rotated residuals of queries, and 1."""
        rotated = super().queries(vectors, model) - _centre(model)
        return np.hstack([rotated, np.ones((len(rotated), 1), np.float32)])

    def ranking(self, distance: Ranking) -> Ranking:
        """Return the inner product."""
        return "dot"

    def ranked_by(self, distance: Ranking) -> str:
        """Return what is estimated."""
        estimated = {"cosine": "Euclidean distance of unit vectors", "dot": "inner product"}
        return f"the estimated {estimated.get(distance, 'Euclidean distance')}"


def _centre(model: Any) -> NDArray[np.float32]:
    return need("faiss", "faiss").vector_to_array(last(model).center)
