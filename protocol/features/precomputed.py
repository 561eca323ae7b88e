"""Precomputed: the dataset's own vectors, unchanged."""

from protocol.features._own_vectors import OwnVectors
from protocol.registry import FeatureRecord


@FeatureRecord(
    "precomputed",
    printed="Precomputed features",
    source="the dataset's own vectors, from its authors or from any model of yours",
    deviations="values are rounded to float32",
)
class Precomputed(OwnVectors):
    """Precomputed: one of the dataset's own vectors per item, unchanged.

    Parameters
    ----------
    name : str or None, default None
        Name of the vectors in the dataset (wiki has ``image`` and ``text``). None for its only vectors.
    n_components : int or None, default None
        Number of principal components, fitted on the training rows, that replace the vectors. None for no change.

    Examples
    --------
    >>> import numpy as np
    >>> next(Precomputed().extract(np.eye(2)))[0]
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, *, name: str | None = None, n_components: int | None = None) -> None:
        super().__init__(name=name, n_components=n_components)
