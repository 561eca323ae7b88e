"""Checks of arrays in memory; apart from the modules that read files, so that those are no dependency of a hasher."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from protocol.checks import ProtocolError, counted

LARGEST_INTEGER = 2**53
"""Up to which float64 represents all integers."""


class Sliceable(Protocol):
    """An array that need not be in memory: it has a shape and a dtype, and returns rows for slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, rows first."""

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> NDArray: ...


class LazyRows:
    """An array-like of n rows that computes only the rows of the requested slice.

    Parameters
    ----------
    shape : tuple of int
        (n, ...).
    dtype : dtype
    read : callable
        Takes the first row and the end (exclusive) and returns these rows; a row must not depend on the slice.

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


def blocks(array: Sliceable, n_bytes: int) -> Iterator[NDArray]:
    """Yield the rows of an array in blocks of at most `n_bytes`, but of at least one row."""
    step = max(1, n_bytes // max(1, array.dtype.itemsize * prod(array.shape[1:])))
    yield from (array[start : start + step] for start in range(0, len(array), step))


def is_integer(array: NDArray) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are integers small enough for float64 to represent them exactly."""
    wide = array.astype(np.promote_types(array.dtype, np.float64), copy=False)
    return (np.abs(wide) < LARGEST_INTEGER) & (np.trunc(wide) == wide)


def numbers(array: NDArray, name: str) -> NDArray:
    """Return an array; raise ProtocolError if it is not one of numbers."""
    if array.dtype.kind not in "biuf":
        raise ProtocolError(f"{name}: expected numbers, got dtype {array.dtype}.")
    return array


def non_empty(array: NDArray, name: str, columns: str = "d") -> NDArray:
    """Return an array; raise ProtocolError unless it is (n, d), n >= 1 and d >= 1; the error calls d `columns`."""
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(f"{name}: expected a non-empty 2-D array (n, {columns}), got shape {array.shape}.")
    return array


def check_finite(array: NDArray, name: str) -> None:
    """Raise ProtocolError if some number of a matrix is NaN or infinite; the message gives the first bad row."""
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        in_rows = f"in {bad.size:,} of {len(array):,} rows, first in row {bad[0]:,}"
        raise ProtocolError(f"{name}: expected finite numbers, got NaN or infinity {in_rows}.")


def matrix(X: ArrayLike, name: str = "X", *, n_features: int | None = None) -> NDArray[np.float32]:
    """Return `X` as a finite float32 matrix (n, d) with n >= 1 and d >= 1, without a copy if it already is one.

    Raises
    ------
    ProtocolError
        If `X` is not numeric, not two-dimensional, empty or not finite (the message gives the first bad row), or
        does not have `n_features` columns.
    """
    array = non_empty(numbers(np.asarray(X), name), name).astype(np.float32, copy=False)
    check_finite(array, name)
    if n_features is not None and array.shape[1] != n_features:
        raise ProtocolError(f"{name}: {array.shape[1]:,} features, but fit had {n_features:,}.")
    return array


def check_images(array: Any, name: str = "images", *, n_items: int | None = None) -> None:
    """Raise ProtocolError unless `array` holds non-empty images, and `n_items` of them if that is given.

    Parameters
    ----------
    array : array of uint8, shape (n, height, width) or (n, height, width, 3)
        Greyscale or RGB images. Only the shape and dtype are read.
    name : str, default="images"
        The name with which the error message starts.
    n_items : int, optional
        The expected number of images.
    """
    shape, dtype = np.shape(array), getattr(array, "dtype", type(array).__name__)
    is_valid = dtype == np.uint8 and len(shape) in (3, 4) and shape[3:] in ((), (3,)) and 0 not in shape
    if not is_valid or n_items not in (None, shape[0]):
        n = "n" if n_items is None else n_items
        expected = f"uint8 ({n}, height, width) or ({n}, height, width, 3), not empty"
        raise ProtocolError(f"{name}: expected {expected}, got shape {shape} of {dtype}.")


def rows(index: ArrayLike, n_items: int, name: str) -> NDArray[np.int64]:
    """Return `index` as a non-empty int64 array (n,) of row numbers in [0, n_items).

    Raises
    ------
    ProtocolError
        If it is empty, not integer or not one-dimensional, or has row numbers out of range; also if they count from 1.
    """
    array = np.asarray(index)
    if array.size == 0:
        raise ProtocolError(f"{name}: the list of row numbers is empty.")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ProtocolError(f"{name}: expected row numbers (n,), got shape {array.shape} of {array.dtype}.")
    low, high = array.min(), array.max()
    if low < 0 or high >= n_items:
        hint = " Since 0 is missing, they may count from 1: subtract 1 from each." * count_from_one(array, n_items)
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_items - 1:,}, got {low:,} to {high:,}.{hint}")
    return array.astype(np.int64, copy=False)


def count_from_one(index: NDArray[np.integer], n_items: int) -> bool:
    """Return whether row numbers of n items are from 1 to n and include n, so that they seem to count from 1."""
    return bool(index.size and index.min() > 0 and index.max() == n_items)


def class_labels(y: ArrayLike, n_items: int, name: str = "labels", noun: str = "item") -> NDArray:
    """Return `y` as class labels: integers (n,), or as bool a matrix (n, n_classes) of 0 and 1, or of -1 and +1.

    Raises
    ------
    ProtocolError
        If the length is not `n_items`, or the values are neither integers nor such a matrix.
    """
    array = np.asarray(y)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iub":
        got = f"shape {array.shape} of {array.dtype}"
        raise ProtocolError(f"{name}: expected integers (n,) or a 0/1 matrix (n, n_classes), got {got}.")
    if len(array) != n_items:
        hint = f' Its columns fit: transpose it, or write "{name}\'" for a file.' * (array.shape[1:] == (n_items,))
        raise ProtocolError(f"{name}: {counted(len(array), 'label')} for {counted(n_items, noun)}.{hint}")
    return array if array.ndim == 1 else _memberships(array, name)


def _memberships(array: NDArray, name: str) -> NDArray[np.bool_]:
    """Return a matrix of 0 and 1, or of -1 and +1, as bool."""
    low, high = (array.min(), array.max()) if array.dtype != bool and array.size else (0, 1)
    if low == -1 and high == 1 and array.all():
        return array > 0
    if low < 0 or high > 1:
        raise ProtocolError(f"{name}: expected a matrix of 0 and 1, or -1 and +1, got values from {low} to {high}.")
    return array.astype(bool, copy=False)


def n_classes(y: NDArray | None) -> int | None:
    """Return the number of classes of checked labels: of distinct integers, or of columns of a 0/1 matrix.

    Returns None if `y` is None.
    """
    if y is None:
        return None
    return y.shape[1] if y.ndim == 2 else len(np.unique(y))
