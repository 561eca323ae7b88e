"""Rows that are made when they are asked for: of image files, of sparse tags, of random numbers."""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike, NDArray


class LazyRows:
    """What looks like an array of n rows, and makes those that a slice asks for.

    Parameters
    ----------
    shape : tuple of int
        (n, ...).
    dtype : dtype
    read : callable
        Takes the first row and the one after the last, and returns the rows between; the same however it is called.

    Examples
    --------
    >>> squares = LazyRows((1000, 1), np.int64, lambda start, stop: np.arange(start, stop)[:, None] ** 2)
    >>> len(squares), squares[998:].tolist()
    (1000, [[996004], [998001]])
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, read: Callable[[int, int], NDArray]) -> None:
        self.shape, self.dtype, self._read = shape, np.dtype(dtype), read

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: slice) -> NDArray:
        start, stop, step = index.indices(len(self))
        return self._read(start, max(start, stop))[::step] if step > 0 else self[:][index]
