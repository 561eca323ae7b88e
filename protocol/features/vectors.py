"""The dataset's own vectors, unchanged or as principal components."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.features._feature import Describe, Feature, Sliceable, one_each
from protocol.registry import Count, FeatureRecord


@FeatureRecord.declared
class Vectors(Feature):
    """Vectors: the dataset's own vectors, one per item, unchanged or as principal components.

    Parameters
    ----------
    name : str or None, default None
        Name of the vectors in the dataset (wiki has ``image`` and ``text``). None for its only vectors.
    n_components : int or None, default None
        Number of principal components, fitted on the training rows, that replace the vectors. None for no change.

    Examples
    --------
    >>> next(Vectors().extract(np.eye(2)))[0]
    array([[1., 0.],
           [0., 1.]])
    """

    block = 4096
    images_per_job = None

    name: str | None = None
    n_components: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "":
            raise ProtocolError("name: expected the name of vectors in the dataset, got ''.")

    @property
    def reads(self) -> str:
        """``vectors/<name>``, or ``vectors`` for the dataset's only vectors."""
        return "vectors" if self.name is None else f"vectors/{self.name}"

    @property
    def dimension(self) -> int | None:
        """Number of components; None without components, because the length then depends on the data."""
        return self.n_components

    def _check(self, images: Sliceable) -> None:
        shape, dtype = np.shape(images), getattr(images, "dtype", np.dtype(object))
        if dtype.kind not in "fiu" or len(shape) != 2 or 0 in shape:
            raise ProtocolError(f"vectors: expected numbers of shape (n, d), not empty, got {dtype} of shape {shape}.")

    def _describer(self, images: Sliceable) -> Describe:
        return one_each(lambda block: block)

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return the mean (d,) and principal components (n_components, d) of the training rows, if requested."""
        if self.n_components is None:
            return {}
        n, d = raw_train.shape
        if self.n_components > min(n, d):
            needed = f"{self.n_components:,} components need at least as many training rows and features"
            raise ProtocolError(f"n_components: {needed}; {self.reads} has {n:,} training rows with {d:,} features.")
        from sklearn.decomposition import PCA

        # Both solvers are exact and deterministic, and fix the signs; each is fast where the other is slow.
        solver = "covariance_eigh" if n > d else "full"
        fitted = PCA(self.n_components, svd_solver=solver).fit(raw_train.astype(np.float32, copy=False))
        return {"mean": fitted.mean_, "components": fitted.components_}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return the vectors, or their projections on the components."""
        X = super().encode(raw, model)
        return X if self.n_components is None else (X - model["mean"]) @ model["components"].T
