"""Checks of arguments, options and arrays: each error names what is wrong, what was expected and the value."""

import difflib
import functools
import importlib
import numbers
import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_FEW = 10  # an error message lists at most this many allowed values
_EXTRAS = {
    "altair": "report",
    "cv2": "pipeline",
    "h5py": "hdf5",
    "jinja2": "report",
    "numba": "fast",
    "pandas": "report",
    "pycurl": "pipeline",
    "pydantic": "pipeline",
    "scipy": "report",
    "sklearn": "pipeline",
    "statsmodels": "report",
    "tabulate": "report",
    "threadpoolctl": "pipeline",
    "torch": "learned",
    "tqdm": "pipeline",
    "vl_convert": "report",
    "yaml": "pipeline",
}
"""For each optional module, the smallest extra of this package that installs it; a test compares this with
``pyproject.toml``."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u061c\u200e\u200f\u2066-\u2069\ud800-\udfff]")
"""Control characters, including those that reorder text, and the surrogates that represent undecodable bytes."""


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    Examples
    --------
    >>> counted(1, "run"), counted(1797, "item")
    ('1 run', '1,797 items')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text with control characters escaped, because names in a file may contain terminal control sequences.

    Parameters
    ----------
    text : str
    keep : str, default=""
        Control characters that are not escaped, such as a newline.

    Examples
    --------
    >>> printable("a\x1b[31mb\n")
    'a\\x1b[31mb\\n'
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class ProtocolError(ValueError):
    """An error in the input. Its message is one line on which a user can act, without control characters."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def need(module: str, extra: str) -> Any:
    """Import a module of an optional dependency and return it.

    Parameters
    ----------
    module : str
        Its dotted name, as in ``"scipy.stats"``.
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    ProtocolError
        If it is not installed. The message includes the command that installs the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise not_installed(top, extra) from error


def missing_extra(error: ModuleNotFoundError) -> ProtocolError | None:
    """Return the error that `need` raises for a failed import; None if no extra of this package installs the module."""
    top = (error.name or "").partition(".")[0]
    return not_installed(top, _EXTRAS[top]) if top in _EXTRAS else None


def not_installed(package: str, extra: str) -> ProtocolError:
    """Return the error for a missing package, with the command that installs the extra that contains it."""
    return ProtocolError(f"{package} is not installed. {install_hint(extra)}")


@functools.cache
def warn_once(message: str) -> None:
    """Warn of a slower path, once per process; the filters of `warnings` would allow the message repeatedly."""
    warnings.warn(message, stacklevel=3)


def install_hint(extra: str) -> str:
    """Return how to install an extra: from a checkout, because this package is in no registry yet."""
    return f"Install it in a checkout of this project: pip install '.[{extra}]'"


def integer(value: Any, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return `value` as an int if it is an integer from `minimum` to `maximum`.

    Raises
    ------
    ProtocolError
        If it is anything else, including a bool.
    """
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < minimum or (maximum is not None and value > maximum):
        allowed = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ProtocolError(f"{name}: expected an integer {allowed}, got {value!r}.")
    return int(value)


def number(value: Any, name: str) -> float:
    """Return `value` as a float if it is a finite number of at least zero.

    Raises
    ------
    ProtocolError
        If it is anything else, including a bool.
    """
    if not _is_real(value) or not 0 <= value < np.inf:
        raise ProtocolError(f"{name}: expected a finite number >= 0, got {value!r}.")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """Return `value` as a float if it is a finite number above zero.

    Raises
    ------
    ProtocolError
        If it is anything else, including a bool.
    """
    if not _is_real(value) or not 0 < value < np.inf:
        raise ProtocolError(f"{name}: expected a finite number > 0, got {value!r}.")
    return float(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def one_of(value: Any, choices: Iterable[str], name: str, *, listing: str = "") -> Any:
    """Return `value` if it is one of `choices`.

    Parameters
    ----------
    value : str
    choices : iterable of str
        The allowed values.
    name : str
        The option, or the kind of name, with which the error message starts.
    listing : str, default=""
        The command that prints all choices. The message names it if there are many choices.

    Raises
    ------
    ProtocolError
        If it is not. The message lists the allowed values if there are few, and suggests the closest one, ignoring
        case.
    """
    allowed = sorted(choices)
    if value in allowed:
        return value
    by_case = {choice.casefold(): choice for choice in allowed}
    near = difflib.get_close_matches(str(value).casefold(), by_case, n=1)
    named = " or ".join(filter(None, (", ".join(allowed[:-1]), *allowed[-1:]))) or "none"
    if len(allowed) > _FEW and (near or listing):
        named = f"one of {len(allowed)} names" + (f" ({listing})" if listing else "")
    hint = f" Did you mean {by_case[near[0]]!r}?" if near else ""
    raise ProtocolError(f"{name}: expected {named}, got {value!r}.{hint}")


def matrix(X: ArrayLike, name: str = "X", *, n_features: int | None = None) -> NDArray[np.float32]:
    """Return `X` as a finite float32 matrix (n, d) with n >= 1 and d >= 1, without a copy if it already is one.

    Raises
    ------
    ProtocolError
        If `X` is not numeric, not two-dimensional, empty or not finite (the message gives the first bad row), or
        does not have `n_features` columns.
    """
    array = np.asarray(X)
    if array.dtype.kind not in "fiub":
        raise ProtocolError(f"{name}: expected numbers, got dtype {array.dtype}.")
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(f"{name}: expected a non-empty 2-D array (n, d), got shape {array.shape}.")
    array = array.astype(np.float32, copy=False)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise ProtocolError(
            f"{name}: expected finite numbers, got NaN or infinity in {bad.size} of {len(array)} rows, "
            f"first in row {bad[0]}."
        )
    if n_features is not None and array.shape[1] != n_features:
        raise ProtocolError(f"{name}: expected {n_features} features as in fit, got {array.shape[1]}.")
    return array


def images(array: Any, name: str = "images", *, n_items: int | None = None) -> None:
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
        raise ProtocolError(
            f"{name}: expected uint8 ({n}, height, width) or ({n}, height, width, 3), not empty, "
            f"got shape {shape} of {dtype}."
        )


def array_of(values: Any) -> NDArray:
    """Return ``numpy.asarray(values)``, but with exact integers: NumPy rounds those of [1, 2**63] to float64.

    The integers of a list become uint64, or objects if no integer dtype can represent all of them.
    """
    array = np.asarray(values)
    rounded = array.dtype.kind == "f" and float(array.max(initial=0)) >= 1 << 63  # smaller integers remain integers
    if not (rounded or array.dtype == object) or not isinstance(values, (list, tuple)):
        return array
    exact = np.array(values, dtype=object)
    integers = all(isinstance(value, numbers.Integral) and not isinstance(value, bool) for value in exact.flat)
    if not exact.size or not integers:
        return array
    fits = exact.min() >= 0 and exact.max() < 1 << 64
    return exact.astype(np.uint64) if fits else exact


def labels(y: ArrayLike, n_items: int, name: str = "labels") -> NDArray:
    """Return `y` as class labels: integers (n,), or a 0/1 matrix (n, n_classes) as bool.

    Raises
    ------
    ProtocolError
        If the length is not `n_items`, or the values are neither integers nor a 0/1 matrix.
    """
    array = array_of(y)
    if array.dtype == object and all(isinstance(value, int) for value in array.flat):
        raise ProtocolError(
            f"{name}: integers from {array.min()} to {array.max()}, which no integer dtype can represent. "
            "Number the classes from 0."
        )
    if array.ndim not in (1, 2) or array.dtype.kind not in "iub":
        raise ProtocolError(
            f"{name}: expected integers (n,) or a 0/1 matrix (n, n_classes), got shape {array.shape} of {array.dtype}."
        )
    if len(array) != n_items:
        raise ProtocolError(f"{name}: {len(array):,} labels for {n_items:,} items.")
    if array.ndim == 2:
        if array.dtype != bool and array.size and (array.min() < 0 or array.max() > 1):
            raise ProtocolError(
                f"{name}: expected a matrix of 0 and 1, got values from {array.min()} to {array.max()}."
            )
        array = array.astype(bool, copy=False)
    return array


def n_classes(y: NDArray | None) -> int | None:
    """Return the number of classes of checked labels: of distinct integers, or of columns of a 0/1 matrix.

    Returns None if `y` is None.
    """
    if y is None:
        return None
    return y.shape[1] if y.ndim == 2 else len(np.unique(y))


def rows(index: ArrayLike, n_items: int, name: str) -> NDArray[np.int64]:
    """Return `index` as a non-empty int64 array (n,) of row numbers in [0, n_items).

    Raises
    ------
    ProtocolError
        If it is empty, not integer or not one-dimensional, or has row numbers out of range.
    """
    array = np.asarray(index)
    if array.size == 0:
        raise ProtocolError(f"{name}: expected at least one row number, got none.")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ProtocolError(f"{name}: expected row numbers (n,), got shape {array.shape} of {array.dtype}.")
    if array.min() < 0 or array.max() >= n_items:
        raise ProtocolError(
            f"{name}: expected row numbers from 0 to {n_items - 1}, got {array.min()} to {array.max()}."
        )
    return array.astype(np.int64, copy=False)
