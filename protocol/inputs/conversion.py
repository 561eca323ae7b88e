"""Convert what users pass (arrays, tensors, data frames, sparse matrices, lists, files) to checked NumPy arrays."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.arrays import as_integers, map_array
from protocol.inputs.validation import array_of


def is_file(values: Any) -> bool:
    """Return whether an input is the name of a file."""
    return isinstance(values, (str, PathLike))


def named(values: Any, role: str) -> str:
    """Return the name of an input in error messages: the name of its file, or its role."""
    return str(values) if is_file(values) else role


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
    if array.dtype.kind in "iuf":
        return as_integers(array, role)
    if array.dtype.kind != "U":
        hint = " numpy.flatnonzero gives the row numbers of a mask." if array.dtype == bool else ""
        raise ProtocolError(f"{role}: expected row numbers or ids (str), got dtype {array.dtype}.{hint}")
    return array


def as_numpy(values: Any, name: str) -> NDArray:
    """Return an array of any library as a NumPy array.

    Parameters
    ----------
    values : array_like
        A NumPy array, a (nested) list, a PyTorch tensor on any device, any object with ``__array__`` or ``__dlpack__``
        in CPU memory (JAX, TensorFlow, pandas), or a sparse matrix with ``toarray``, which becomes dense.
    name : str
        The name in the error message.

    Returns
    -------
    ndarray
        An array of any dtype; objects in pandas or in a list become numbers or strings if all of them are.

    Raises
    ------
    ProtocolError
        If the values are not an array, have a type that NumPy lacks, such as bfloat16, have masked entries, or are in
        the memory of another device.

    Examples
    --------
    >>> as_numpy([[1, 0], [0, 1]], "codes")
    array([[1, 0],
           [0, 1]])
    """
    try:
        array = _converted(values)
    except Exception as error:  # every library raises its own errors
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ProtocolError(f"{name}: expected an array, got {type(values).__name__} ({reason}).") from error
    if np.ma.is_masked(array):
        raise ProtocolError(f"{name}: {np.ma.count_masked(array):,} entries are masked. Fill or remove them.")
    array = np.asarray(array)
    if array.dtype.kind == "T" or (array.dtype.kind in "US" and isinstance(values, (list, tuple))):
        array = np.array(values, dtype=object)  # so that a number or a NaN among strings does not become a string
    return _without_objects(array)


def _converted(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # PyTorch
        return values.detach().cpu().to_dense().numpy()
    if hasattr(values, "toarray"):
        return values.toarray()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return array_of(values)


def _without_objects(array: NDArray) -> NDArray:
    """Return an object array, as from pandas, as numbers or strings if all its values are; otherwise unchanged."""
    if array.dtype != object or not array.size:
        return array
    values = array.ravel().tolist()
    kinds = set(map(type, values))
    if all(issubclass(kind, (str, bytes)) for kind in kinds):
        texts = [value.decode(errors="backslashreplace") if isinstance(value, bytes) else value for value in values]
        return np.array(texts, dtype=str).reshape(array.shape)
    if all(issubclass(kind, (bool, int, float, np.bool_, np.integer, np.floating)) for kind in kinds):
        return array_of(values).reshape(array.shape)
    return array
