"""The vectors that a dataset brings along: as they are, or their principal components."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.features._feature import Describe, Feature, Sliceable, one_each


class OwnVectors(Feature):
    """One of the dataset's own vectors per item.

    Parameters
    ----------
    name : str or None
        Which of the dataset's vectors, as the dataset calls them (wiki has ``image`` and ``text``). None: the only ones
        there are.
    n_components : int or None
        How many principal components, of the training rows, stand for the vectors. None: the vectors as they are.
    """

    block = 4096
    images_per_job = None
    unchanged = True

    def __init__(self, *, name: str | None, n_components: int | None) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise ProtocolError(f"name: expected the name of vectors of the dataset, got {name!r}.")
        if n_components is not None:
            integer(n_components, "n_components")
        self.name = name
        self.n_components = n_components

    @property
    def reads(self) -> str:
        """``vectors/<name>``, or ``vectors`` where the only ones there are wanted."""
        return "vectors" if self.name is None else f"vectors/{self.name}"

    @property
    def dimension(self) -> int | None:
        """Number of components; None without: only the data tell."""
        return self.n_components

    def _check(self, images: Sliceable) -> None:
        shape, dtype = np.shape(images), getattr(images, "dtype", np.dtype(object))
        if dtype.kind not in "fiu" or len(shape) != 2 or 0 in shape:
            raise ProtocolError(f"vectors: expected numbers (n, d), not empty, got shape {shape} of {dtype}.")

    def _describer(self, images: Sliceable) -> Describe:
        def describe(block: NDArray) -> NDArray:
            return block

        return one_each(describe)

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return mean (d,) and principal components (n_components, d) of the training rows; nothing without."""
        if self.n_components is None:
            return {}
        n, d = raw_train.shape
        if self.n_components > min(n, d):
            raise ProtocolError(
                f"n_components: expected at most {min(n, d)} for {n} training rows with {d} features of {self.reads}, "
                f"got {self.n_components}."
            )
        from sklearn.decomposition import PCA

        # Both are exact, start from nothing random, and fix the signs; each is quick where the other is not.
        solver = "covariance_eigh" if n > d else "full"
        fitted = PCA(self.n_components, svd_solver=solver).fit(raw_train.astype(np.float32, copy=False))
        return {"mean": fitted.mean_, "components": fitted.components_}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return the vectors, or their projections on the components."""
        X = super().encode(raw, model)
        return X if self.n_components is None else (X - model["mean"]) @ model["components"].T
