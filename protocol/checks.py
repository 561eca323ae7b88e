"""Checks at the door: every refusal says what is wrong, what was wanted and what came."""

import difflib
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ProtocolError(ValueError):
    """Input that can't be used; its message is one line a user can act on."""


def integer(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return `value` as an int if it is an integer of at least `minimum`; a bool is not one.

    Raises
    ------
    ProtocolError
        If it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ProtocolError(f"{name}: expected an integer >= {minimum}, got {value!r}.")
    return int(value)


def positive_number(value: Any, name: str) -> float:
    """Return `value` as a float if it is a finite number above zero; a bool is not one.

    Raises
    ------
    ProtocolError
        If it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
        raise ProtocolError(f"{name}: expected a finite number > 0, got {value!r}.")
    return float(value)


def known(name: str, names: Iterable[str], what: str) -> str:
    """Return `name` if it is one of `names`.

    Raises
    ------
    ProtocolError
        Listing the known names, with the nearest one first if there is a near one; case makes no difference to that.
    """
    choices = sorted(names)
    if name in choices:
        return name
    lowered = {choice.lower(): choice for choice in choices}
    near = [lowered[found] for found in difflib.get_close_matches(str(name).lower(), lowered, n=1)]
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ProtocolError(f"unknown {what} {name!r}{hint}; known: {', '.join(choices)}")


def matrix(X: ArrayLike, name: str = "X", *, n_features: int | None = None) -> NDArray[np.float32]:
    """Return `X` as a finite float32 matrix (n, d) with n >= 1 and d >= 1; no copy where it is one already.

    Raises
    ------
    ProtocolError
        If `X` is not numeric, not two-dimensional, empty, not finite (the first bad row is named), or not
        `n_features` wide.
    """
    array = np.asarray(X)
    if array.dtype.kind not in "fiub":
        raise ProtocolError(f"{name}: wanted numbers, came dtype {array.dtype}")
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(f"{name}: wanted a non-empty matrix (n, d), came shape {array.shape}")
    array = array.astype(np.float32, copy=False)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise ProtocolError(f"{name}: {bad.size} of {len(array)} rows hold NaN or infinity, the first is row {bad[0]}")
    if n_features is not None and array.shape[1] != n_features:
        raise ProtocolError(f"{name}: wanted {n_features} features as in fit, came {array.shape[1]}")
    return array


def labels(y: ArrayLike, n_items: int, name: str = "labels") -> NDArray:
    """Return `y` as class labels: integers (n,), or a 0/1 matrix (n, n_classes) as bool.

    Raises
    ------
    ProtocolError
        If the length is not `n_items`, or the values are neither integers nor a 0/1 matrix.
    """
    array = np.asarray(y)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iub":
        raise ProtocolError(
            f"{name}: wanted integers (n,) or a 0/1 matrix (n, n_classes), came shape {array.shape} of {array.dtype}"
        )
    if len(array) != n_items:
        raise ProtocolError(f"{name}: wanted one per item, {n_items}, came {len(array)}")
    if array.ndim == 2:
        if array.size and not np.isin(array, (0, 1)).all():
            raise ProtocolError(f"{name}: a label matrix holds 0 and 1 only, came values up to {array.max()}")
        array = array.astype(bool)
    return array


def n_classes(y: NDArray | None) -> int | None:
    """Return how many classes checked labels have: those that occur, or the columns of a 0/1 matrix; None for None."""
    if y is None:
        return None
    return y.shape[1] if y.ndim == 2 else len(np.unique(y))


def rows(index: ArrayLike, n_items: int, name: str) -> NDArray[np.int64]:
    """Return `index` as int64 row numbers in [0, n_items), at least one.

    Raises
    ------
    ProtocolError
        If it is empty, not integer, not one-dimensional, or points outside.
    """
    array = np.asarray(index)
    if array.size == 0:
        raise ProtocolError(f"{name}: the partition is empty")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ProtocolError(f"{name}: wanted row numbers (n,), came shape {array.shape} of {array.dtype}")
    if array.min() < 0 or array.max() >= n_items:
        raise ProtocolError(
            f"{name}: row numbers run from {array.min()} to {array.max()}, but there are {n_items} items"
        )
    return array.astype(np.int64, copy=False)


def one_of(value: str, choices: Sequence[str], name: str) -> str:
    """Return `value` if it is one of an option's `choices`."""
    return known(value, choices, f"{name}=")
