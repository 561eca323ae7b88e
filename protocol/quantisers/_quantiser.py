"""The base classes of quantisers, one of them for those that faiss trains."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need
from protocol.registry import Configurable

Ranking = Literal["euclidean", "cosine", "dot"]
"""The distances by which quantised items are ranked."""
COMPARED = {"euclidean": "the Euclidean distance from", "cosine": "the cosine with", "dot": "the inner product with"}
"""For each distance, how a query is compared."""


class Quantiser(Configurable, ABC):
    """A compressed representation of vectors: `fit` learns it, `encode` compresses, and `decode` restores.

    Queries are not compressed: items are ranked by the distance of the query from the restored vectors. `queries`,
    `ranking` and `ranked_by` may replace this, for example if only some dimensions are stored. Options are annotated
    class attributes, whose annotations carry their ranges (see `protocol.registry`).

    For the cosine, all vectors are scaled to unit length before `fit`, `encode` and `queries`. The restored vectors are
    scaled as well, so that their lengths do not matter; a restored vector of zeros has the cosine 0.
    """

    def __post_init__(self) -> None:
        self.check_options()

    def check_training(self, n: int, dimension: int) -> None:
        """Raise ProtocolError if the options do not suit n training vectors of a dimension; by default, they do."""

    @abstractmethod
    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> Any:
        """Return what is learned from training vectors (n, d), for a ranking by a distance."""

    @abstractmethod
    def encode(self, vectors: NDArray[np.float32], model: Any) -> NDArray:
        """Return one row of bytes, or of numbers of a narrower type, for each vector."""

    @abstractmethod
    def decode(self, codes: NDArray, model: Any) -> NDArray[np.floating]:
        """Return the vectors that codes stand for, with which `queries` are compared.

        The vector of a code must not depend, in any bit, on the codes that are decoded with it.
        """

    def queries(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.floating]:
        """Return the vectors of queries that are compared with decoded items; by default, unchanged."""
        return vectors

    def ranking(self, distance: Ranking) -> Ranking:
        """Return the distance of queries from decoded items that ranks them: by default, the requested one."""
        return distance

    def ranked_by(self, distance: Ranking) -> str:
        """Return in words what ranks the items."""
        return f"{COMPARED[distance]} the restored vectors"


class FaissQuantiser(Quantiser):
    """A quantiser whose model is an index of faiss; one thread trains it, so it does not depend on their number."""

    @abstractmethod
    def _index(self, faiss: Any, dimension: int, metric: int, seed: int) -> Any:
        """Return the untrained index."""

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> Any:
        """Return the trained index."""
        self.check_training(*vectors.shape)
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
