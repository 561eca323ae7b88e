"""Convert what users pass (arrays, tensors, data frames, sparse matrices, lists, files) to checked NumPy arrays."""

import numbers
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError
from protocol.inputs.arrays import as_integers, map_array

_CPU = 1
"""The device type of CPU memory in DLPack."""


def is_file(values: Any) -> bool:
    """Return whether an input is the name of a file."""
    return isinstance(values, (str, PathLike))


def named(values: Any, role: str) -> str:
    """Return the name of an input in error messages: its role, after the name of its file if it has one."""
    return f"{values}: {role}" if is_file(values) else role


def numbers_from(values: Any, role: str) -> NDArray:
    """Return an array of numbers of any shape; a file is memory-mapped if its format allows it.

    Parameters
    ----------
    values : array_like, str or Path
        Anything that `as_numpy` converts, or a file that `protocol.inputs.arrays.read_array` reads.
    role : str
        The name in error messages, such as "query vectors".

    Raises
    ------
    ProtocolError
        If the file can't be read, or the values are not an array of numbers.
    """
    name = named(values, role)
    array = map_array(values) if is_file(values) else as_numpy(values, name)
    if array.dtype.kind not in "biuf":
        raise ProtocolError(f"{name}: expected numbers, got dtype {array.dtype}.")
    return array


def matrix_from(values: Any, role: str, columns: str = "d") -> NDArray:
    """Return a non-empty matrix of numbers (n, d), as `numbers_from`; `columns` is what error messages call d."""
    array = numbers_from(values, role)
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(
            f"{named(values, role)}: expected a non-empty 2-D array (n, {columns}), got shape {array.shape}."
        )
    return array


def items_from(values: Any, role: str) -> NDArray:
    """Return a list of items: row numbers (int64), or ids (str), shape (n,).

    Parameters
    ----------
    values : array_like, shape (n,)
    role : str
        The name in error messages.

    Raises
    ------
    ProtocolError
        If the values are neither integers nor strings.

    Examples
    --------
    >>> items_from([4.0, 2.0], "query"), items_from(["b.png"], "query")
    (array([4, 2]), array(['b.png'], dtype='<U5'))
    """
    array = as_numpy(values, role)
    if array.ndim != 1:
        raise ProtocolError(f"{role}: expected row numbers or ids, shape (n,), got shape {array.shape}.")
    if not array.size:
        return np.empty(0, dtype=np.int64)
    match array.dtype.kind:
        case "i" | "u" | "f":
            return as_integers(array, role)
        case "U":
            return array
        case "b":
            raise ProtocolError(f"{role}: expected row numbers, got a mask. Use numpy.flatnonzero to convert it.")
        case "O":
            n, value = next((n, value) for n, value in enumerate(array.tolist()) if not isinstance(value, str))
            raise ProtocolError(f"{role}: expected ids (str), got {value!r} ({type(value).__name__}) at position {n}.")
        case _:
            raise ProtocolError(f"{role}: expected row numbers or ids (str), got dtype {array.dtype}.")


def as_numpy(values: Any, name: str) -> NDArray:
    """Return an array of any library as a NumPy array.

    Parameters
    ----------
    values : array_like
        A NumPy array, a (nested) list, a PyTorch tensor on any device, any object with ``__array__`` or ``__dlpack__``
        (JAX, CuPy, TensorFlow, pandas), or a sparse matrix with ``toarray``, which becomes dense. Types that NumPy
        lacks, such as bfloat16, become float32.
    name : str
        The name in the error message.

    Returns
    -------
    ndarray
        An array of any dtype; objects in pandas or in a list become numbers or strings if all of them are.

    Raises
    ------
    ProtocolError
        If the values are not an array, have masked entries, or are on a device from which they can't be copied.

    Examples
    --------
    >>> as_numpy([[1, 0], [0, 1]], "codes")
    array([[1, 0],
           [0, 1]])
    """
    if isinstance(values, (list, tuple)) and any(hasattr(value, "detach") for value in values):
        values = [as_numpy(value, name) for value in values]
    try:
        array = _converted(values, name)
    except ProtocolError:
        raise
    except Exception as error:  # every library raises its own errors
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ProtocolError(f"{name}: expected an array, got {type(values).__name__} ({reason}).") from error
    if np.ma.is_masked(array):
        raise ProtocolError(f"{name}: expected an array without masked entries, got {np.ma.count_masked(array):,}.")
    array = np.asarray(array)
    if array.dtype.kind == "T" or (array.dtype.kind in "US" and isinstance(values, (list, tuple))):
        array = np.array(values, dtype=object)  # so that a number or a NaN among strings does not become a string
    if array.dtype.kind == "V" and array.dtype.names is None:
        return array.astype(np.float32)  # bfloat16 of JAX and similar types
    return _without_objects(array) if array.dtype == object else array


def _converted(values: Any, name: str) -> Any:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):
        return _from_torch(values)
    if hasattr(values, "toarray"):
        return values.toarray()
    if hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] != _CPU:
        return _from_device(values, name)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return array_of(values)


def _from_torch(tensor: Any) -> NDArray:
    """Return a PyTorch tensor of any device, layout and dtype, with or without a gradient."""
    tensor = tensor.detach().cpu()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    try:
        return tensor.numpy()
    except TypeError:  # NumPy has no bfloat16
        return tensor.float().numpy()


def _from_device(values: Any, name: str) -> Any:
    """Copy an array from a GPU, with the method of CuPy or the ``__array__`` method of JAX and others."""
    if callable(getattr(values, "get", None)):
        return values.get()
    try:
        return np.asarray(values.__array__())
    except (AttributeError, TypeError, RuntimeError, ValueError) as error:
        raise ProtocolError(
            f"{name}: expected an array in the CPU's memory, got {type(values).__name__} on another device; "
            "copy it to the CPU first."
        ) from error


def _without_objects(array: NDArray) -> NDArray:
    """Return an object array, as from pandas, as numbers or strings if all its values are; otherwise unchanged."""
    flat = array.ravel()
    kinds = {type(value) for value in flat.tolist()}
    if kinds and all(issubclass(kind, (str, bytes)) for kind in kinds):
        return _as_strings(flat).reshape(array.shape)
    if kinds and all(issubclass(kind, (bool, int, float, np.bool_, np.integer, np.floating)) for kind in kinds):
        return array_of(flat.tolist()).reshape(array.shape)
    return array


def _as_strings(flat: NDArray) -> NDArray:
    return np.array(
        [value.decode(errors="backslashreplace") if isinstance(value, bytes) else value for value in flat.tolist()],
        dtype=str,
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
        raise ProtocolError(
            f"{name}: expected uint8 ({n}, height, width) or ({n}, height, width, 3), not empty, "
            f"got shape {shape} of {dtype}."
        )


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
