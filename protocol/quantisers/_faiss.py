"""The base class of quantisers that faiss trains, encodes and decodes."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need
from protocol.quantisers._quantiser import Quantiser, Ranking


class FaissQuantiser(Quantiser):
    """A quantiser whose model is an index of faiss; one thread trains it, so it does not depend on their number."""

    @abstractmethod
    def _index(self, faiss: Any, dimension: int, metric: int, seed: int) -> Any:
        """Return the untrained index."""

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> Any:
        """Return the trained index."""
        faiss = need("faiss", "faiss")
        threads = faiss.omp_get_max_threads()
        metric = faiss.METRIC_INNER_PRODUCT if distance == "dot" else faiss.METRIC_L2
        index = self._index(faiss, vectors.shape[1], metric, seed % 2**31)  # faiss takes an int
        faiss.omp_set_num_threads(1)
        try:
            index.train(np.ascontiguousarray(vectors))
        finally:
            faiss.omp_set_num_threads(threads)
        return index

    def encode(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.uint8]:
        """Return the codes of faiss."""
        return model.sa_encode(np.ascontiguousarray(vectors))

    def decode(self, codes: NDArray, model: Any) -> NDArray[np.floating]:
        """Return the vectors that faiss restores; if it rotates them first, in the rotated space.

        The product of a rotation would depend, in its last bits, on the rows that are decoded together.
        """
        return last(model).sa_decode(np.ascontiguousarray(codes))

    def queries(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.floating]:
        """Return the queries, rotated like the items."""
        return model.chain.at(0).apply(np.ascontiguousarray(vectors)) if hasattr(model, "chain") else vectors


def last(index: Any) -> Any:
    """Return the index after the rotation; the index itself if there is none."""
    faiss = need("faiss", "faiss")
    return faiss.downcast_index(index.index) if hasattr(index, "chain") else index
