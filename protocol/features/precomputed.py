"""Precomputed: vectors that the dataset brings along, as they are."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.features._feature import Describe, Feature, Sliceable, one_each
from protocol.registry import register


@register(
    "feature",
    "precomputed",
    source="the dataset's own vectors: its authors', or a user's, from any model",
    deviations="values are rounded to float32",
)
class Precomputed(Feature):
    """Precomputed: one of the dataset's own vectors per item, unchanged.

    Parameters
    ----------
    name : str or None, default None
        Which of the dataset's vectors, as the dataset calls them (wiki has ``image`` and ``text``). None: the only ones
        there are.

    Examples
    --------
    >>> next(Precomputed().extract(np.eye(2)))[0]
    array([[1., 0.],
           [0., 1.]])
    """

    block = 4096

    def __init__(self, *, name: str | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise ProtocolError(f"name: wanted the name of vectors of the dataset, came {name!r}")
        self.name = name

    @property
    def reads(self) -> str:
        """``vectors/<name>``, or ``vectors`` where the only ones there are wanted."""
        return "vectors" if self.name is None else f"vectors/{self.name}"

    @property
    def dimension(self) -> None:
        """None: only the data tell."""

    def _check(self, images: Sliceable) -> None:
        shape, dtype = np.shape(images), getattr(images, "dtype", np.dtype(object))
        if dtype.kind not in "fiu" or len(shape) != 2 or 0 in shape:
            raise ProtocolError(f"vectors: wanted numbers (n, d), none empty; came shape {shape} of {dtype}")

    def _describer(self, images: Sliceable) -> Describe:
        def describe(block: NDArray) -> NDArray:
            return block

        return one_each(describe)
