"""Codes, labels and relevance as users have them, checked and brought into the form that counting reads."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import checks, codes
from protocol.checks import ProtocolError
from protocol.formats.arrays import as_integers, is_whole, read_array, read_csr, read_lists
from protocol.ranking import NeighbourRelevance, Relevance

BIT_ORDERS = ("little", "big")


def codes_from(
    values: Any, role: str, *, n_bits: int | None = None, bit_order: str = "little"
) -> tuple[NDArray[np.uint8], int]:
    """Return codes packed as everywhere in this package, and their number of bits.

    Parameters
    ----------
    values : array_like, or str or Path
        The codes or their file: 0 and 1, -1 and +1, or bool, (n, n_bits), of any numeric dtype; or packed, integers
        0..255, (n, ceil(n_bits / 8)), which needs `n_bits`.
    role : str
        What errors call them, after the file's name.
    n_bits : int, optional
        Taken from the columns if None.
    bit_order : {"little", "big"}, default="little"
        Of packed codes: the first bit of a byte has weight 1, or 128.

    Raises
    ------
    ProtocolError
        If the codes are something else: real-valued, packed without `n_bits`, of another length, not a matrix.

    Examples
    --------
    >>> codes_from([[-1.0, 1.0, 1.0]], "codes"), codes_from([[96]], "codes", n_bits=3, bit_order="big")
    ((array([[6]], dtype=uint8), 3), (array([[6]], dtype=uint8), 3))
    """
    checks.one_of(bit_order, BIT_ORDERS, "bit_order")
    array, name = _array(values, role)
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(f"{name}: wanted codes (n, n_bits), at least one of one bit, came shape {array.shape}")
    if n_bits is not None:
        checks.integer(n_bits, f"{name}: n_bits")
    if n_bits is not None and _is_packed(array, n_bits):
        packed = _bytes(array, name, bit_order)
        codes.check(packed, n_bits, name)
        return packed, n_bits
    if n_bits is not None and array.shape[1] != n_bits:
        raise ProtocolError(
            f"{name}: wanted {n_bits} columns of bits, or {-(-n_bits // 8)} of packed uint8, came {array.shape[1]} "
            f"of {array.dtype}"
        )
    return codes.pack(_bits(array, name)), array.shape[1]


def labels_from(values: Any, role: str, n_items: int) -> NDArray:
    """Return labels: one integer per item, (n,), or a bool matrix (n, n_classes).

    Whole numbers in floats, as MATLAB keeps them, are integers; a row or a column of integers is a list of them.

    Raises
    ------
    ProtocolError
        If they are something else, or not one per item.
    """
    array, name = _array(values, role)
    if array.dtype.kind == "f":
        array = as_integers(array, name)
    if array.dtype.kind != "b" and array.shape in ((n_items, 1), (1, n_items)):
        array = array.ravel()
    return checks.labels(array, n_items, name)


def relevance_from(values: Any, n_queries: int, n_database: int) -> Relevance:
    """Return the relevance that lists of neighbours, or a sparse matrix, describe.

    Parameters
    ----------
    values : Relevance, sparse matrix, iterable of array_like, or str or Path
        What counting reads, as it is; a matrix (n_queries, n_database) of levels with a ``tocsr`` method; the database
        positions of each query's relevant items, from 0; or a file: `.npz` as ``scipy.sparse.save_npz`` writes it,
        text with a line of positions per query, or an array of positions (n_queries, k) in any other format.
    n_queries, n_database : int

    Raises
    ------
    ProtocolError
        If the sizes don't fit, a position is outside the database or listed twice, or a level is not whole.
    """
    name, wanted = named(values, "relevance"), (n_queries, n_database)
    if isinstance(values, (str, Path)):
        suffix = Path(values).suffix.lower()
        if suffix == ".npz":
            arrays, shape = read_csr(values)
            return _sparse(arrays, shape, wanted, name)
        values = read_lists(values) if suffix in (".txt", ".csv", ".tsv") else read_array(values)
    elif hasattr(values, "row") and hasattr(values, "n_queries"):
        return values
    elif hasattr(values, "tocsr"):
        rows = values.tocsr()
        arrays = {part: getattr(rows, part) for part in ("indptr", "indices", "data")}
        return _sparse(arrays, rows.shape, wanted, name)
    return _listed(values, wanted, name)


def named(values: Any, role: str) -> str:
    """Return what errors call an input: its role, after its file's name where it has one."""
    return f"{values}: {role}" if isinstance(values, (str, Path)) else role


def _array(values: Any, role: str) -> tuple[NDArray, str]:
    """Return an input as an array of numbers, read where it is a file, and what errors call it."""
    if isinstance(values, (str, Path)):
        return read_array(values), named(values, role)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors with a gradient or on a GPU
        reason = " ".join(str(error).split())
        raise ProtocolError(f"{role}: wanted an array, came {type(values).__name__}: {reason}") from error
    if array.dtype.kind not in "biuf":
        raise ProtocolError(f"{role}: wanted numbers, came dtype {array.dtype}")
    return array, role


def _is_packed(array: NDArray, n_bits: int) -> bool:
    """Return whether codes of known length are packed; one bit in one column is packed only if it looks it."""
    if array.dtype.kind not in "iu" or array.shape[1] != -(-n_bits // 8):
        return False
    return n_bits > 1 or bool(array.max() > 1)


def _bytes(array: NDArray, name: str, bit_order: str) -> NDArray[np.uint8]:
    if array.min() < 0 or array.max() > 255:
        raise ProtocolError(f"{name}: wanted packed codes, 0 to 255, came values from {array.min()} to {array.max()}")
    packed = array.astype(np.uint8, copy=False)
    if bit_order == "little":
        return packed
    every = np.arange(256, dtype=np.uint8)[:, None]
    turned = np.packbits(np.unpackbits(every, axis=1), axis=1, bitorder="little").ravel()
    return turned[packed]


def _bits(array: NDArray, name: str) -> NDArray[np.bool_]:
    """Return what is above 0, if the values are two, 0 and 1 or -1 and +1."""
    ones = array > 0
    if array.dtype == bool or (array == ones).all() or (array == np.where(ones, np.int8(1), np.int8(-1))).all():
        return ones
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array).all(axis=1))[0]
        raise ProtocolError(f"{name}: wanted bits, came NaN or infinity, first in row {row}")
    came = f"values from {array.min()} to {array.max()}"
    if array.dtype.kind == "f":
        raise ProtocolError(f"{name}: wanted bits, came real {came}; binarise first, for example `codes > 0`")
    hint = "packed codes need n_bits" if array.min() >= 0 else "binarise first, for example `codes > 0`"
    raise ProtocolError(f"{name}: wanted bits, 0 and 1 or -1 and +1, came {came}; {hint}")


def _listed(lists: Any, wanted: tuple[int, int], name: str) -> Relevance:
    """Return the relevance of one list of database positions per query."""
    if not isinstance(lists, Iterable):
        raise ProtocolError(f"{name}: wanted a list of neighbours for each query, came {type(lists).__name__}")
    rows = [_array(row, name)[0] for row in lists]
    if len(rows) != wanted[0]:
        raise ProtocolError(f"{name}: wanted a list of neighbours for each of {wanted[0]} queries, came {len(rows)}")
    if any(row.ndim != 1 or (row.size and row.dtype.kind not in "iu") for row in rows):
        raise ProtocolError(f"{name}: wanted lists of database positions, came other values than integers")
    indices = np.concatenate(rows).astype(np.int64)
    return _neighbours(np.cumsum([0, *map(len, rows)]), indices, None, wanted[1], name)


def _sparse(arrays: Mapping[str, NDArray], shape: tuple[int, int], wanted: tuple[int, int], name: str) -> Relevance:
    """Return the relevance of compressed sparse rows, their values the levels."""
    indptr, indices, data = arrays["indptr"], arrays["indices"], arrays.get("data")
    if tuple(shape) != wanted:
        raise ProtocolError(f"{name}: wanted shape (n_queries, n_database) = {wanted}, came {tuple(shape)}")
    for part, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ProtocolError(f"{name}: wanted {part}, integers, came shape {array.shape} of {array.dtype}")
    if indptr.size != wanted[0] + 1:
        raise ProtocolError(f"{name}: wanted indptr of n_queries + 1 = {wanted[0] + 1} integers, came {indptr.size}")
    levels = None
    if data is not None:
        if data.shape != indices.shape or data.dtype.kind not in "biuf" or not is_whole(data).all():
            raise ProtocolError(f"{name}: wanted a level, a whole number, for each of {indices.size} pairs")
        levels = data.astype(np.int64)
    return _neighbours(indptr, indices, levels, wanted[1], name)


def _neighbours(indptr: NDArray, indices: NDArray, levels: NDArray | None, n_database: int, name: str) -> Relevance:
    """Return the relevance of rows in any order, such as nearest first."""
    try:
        ends = indptr.astype(np.int64)
        lengths = ends[1:] - ends[:-1]
        if lengths.min(initial=0) >= 0 and lengths.sum() == indices.size:
            order = np.lexsort((indices, np.repeat(np.arange(lengths.size), lengths)))
            indices, levels = indices[order], None if levels is None else levels[order]
        return NeighbourRelevance(indptr, indices, n_database, levels)
    except ProtocolError as error:
        raise ProtocolError(f"{name}: {error}") from error
