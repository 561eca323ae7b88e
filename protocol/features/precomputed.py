"""Precomputed: vectors that the dataset brings along, as they are."""

from protocol.features._own_vectors import OwnVectors
from protocol.registry import FeatureRecord


@FeatureRecord(
    "precomputed",
    printed="Precomputed features",
    source="the dataset's own vectors: its authors', or a user's, from any model",
    deviations="values are rounded to float32",
)
class Precomputed(OwnVectors):
    """Precomputed: one of the dataset's own vectors per item, unchanged.

    Parameters
    ----------
    name : str or None, default None
        Which of the dataset's vectors, as the dataset calls them (wiki has ``image`` and ``text``). None: the only ones
        there are.
    n_components : int or None, default None
        How many principal components, of the training rows, stand for the vectors. None: the vectors as they are.

    Examples
    --------
    >>> import numpy as np
    >>> next(Precomputed().extract(np.eye(2)))[0]
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, *, name: str | None = None, n_components: int | None = None) -> None:
        super().__init__(name=name, n_components=n_components)
