"""Codes and relevance in the forms that users have, checked and converted to the form that counting reads."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import checks, codes
from protocol.checks import ProtocolError
from protocol.inputs.arrays import is_integer, read_array, read_csr, read_lists
from protocol.inputs.conversion import as_numpy, is_file, matrix_from, named, numbers_from
from protocol.truth.relevance import NeighbourRelevance, Relevance

BIT_ORDERS = ("little", "big", "big-128")
BINARIZE = ("sign", "median")
_MOST_LEVELS = 255
_BLOCK = 1 << 20  # rows that are processed at once
_MASK = (0, 255)
_MASK_HINT = "0 and 255 are the two values of a mask: pass codes > 0."
_SURE = 64
"""If at least this many bytes are all 0 or 255, they are a mask and not packed codes."""
_HINT = 'Choose how to binarise them: binarize="sign" or "median".'


def code_pair(
    query: Any, database: Any, *, n_bits: int | None = None, bit_order: str = "little", binarize: str | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], int]:
    """Return the codes of queries and database, packed as in `protocol.codes`, and the code length.

    Parameters
    ----------
    query, database : array_like, str or Path
        The codes or their file: bits (n, n_bits) as 0 and 1, -1 and +1, or bool, of any numeric dtype; packed integers
        0..255 (n, ceil(n_bits / 8)), which require `n_bits`; or, with `binarize`, real values (n, n_bits).
    n_bits : int, optional
        The code length; the number of columns if None.
    bit_order : {"little", "big", "big-128"}, default="little"
        The bit order of packed codes: the first bit of a byte has weight 1 (``little``) or 128 (``big``). ``big-128``
        is ``big`` with 128 subtracted from each byte, like the precision ``binary`` of sentence-transformers.
    binarize : {"sign", "median"}, optional
        Bit j is 1 where value j is above 0, or above the median of value j over the database. A value equal to the
        threshold becomes 0.

    Raises
    ------
    ProtocolError
        If the codes are anything else, for example real-valued without `binarize`, packed without `n_bits`, of another
        length, or not a matrix.

    Examples
    --------
    >>> code_pair([[-1.0, 1.0, 1.0]], [[96]], n_bits=3, bit_order="big")
    (array([[6]], dtype=uint8), array([[6]], dtype=uint8), 3)
    >>> code_pair([[0.3, 0.1]], [[0.2, 0.2], [0.4, 0.3], [0.0, 0.0]], binarize="median")[0]
    array([[1]], dtype=uint8)
    """
    checks.one_of(bit_order, BIT_ORDERS, "bit_order")
    if binarize is not None:
        checks.one_of(binarize, BINARIZE, "binarize")
        outputs, of_items, thresholds = _real_pair(query, database, n_bits, binarize)
        return codes.pack(outputs > thresholds), codes.pack(of_items > thresholds), len(thresholds)
    of_query, length = codes_from(query, "query codes", n_bits=n_bits, bit_order=bit_order)
    of_database, database_length = codes_from(database, "database codes", n_bits=n_bits, bit_order=bit_order)
    _check_lengths(length, database_length, named(database, "database codes"))
    return of_query, of_database, length


def codes_from(
    values: Any, role: str, *, n_bits: int | None = None, bit_order: str = "little"
) -> tuple[NDArray[np.uint8], int]:
    """Return the codes of the queries or of the database, packed as in `protocol.codes`, and the code length.

    Parameters
    ----------
    values : array_like, or str or Path
        As in `code_pair`, except real values.
    role : str
        The name in error messages, which precedes the name of the file.
    n_bits, bit_order
        As in `code_pair`.

    Raises
    ------
    ProtocolError
        As in `code_pair`.

    Examples
    --------
    >>> codes_from([[-1.0, 1.0, 1.0]], "codes"), codes_from([[96]], "codes", n_bits=3, bit_order="big")
    ((array([[6]], dtype=uint8), 3), (array([[6]], dtype=uint8), 3))
    """
    checks.one_of(bit_order, BIT_ORDERS, "bit_order")
    name = named(values, role)
    array = matrix_from(values, role, "n_bits")
    if n_bits is not None:
        checks.integer(n_bits, f"{name}: n_bits")
    elif bit_order == "big-128":
        raise ProtocolError(f"{name}: expected n_bits for packed codes of bit order big-128, got none.")
    if n_bits is not None and _is_packed(array, n_bits, bit_order):
        packed = _bytes(array, name, bit_order)
        codes.check(packed, n_bits, name)
        return packed, n_bits
    if n_bits is not None and (array.shape[1] != n_bits or bit_order == "big-128"):
        of_bits = "" if bit_order == "big-128" else f"{checks.counted(n_bits, 'column')} of bits, or "
        raise ProtocolError(
            f"{name}: expected {of_bits}{checks.counted(-(-n_bits // 8), 'column')} of packed integers, got "
            f"{array.shape[1]} of {array.dtype}."
        )
    return codes.pack(_bits(array, name, n_bits)), array.shape[1]


def outputs_and_codes(
    query: Any, database: Any, *, n_bits: int | None = None, bit_order: str = "little", binarize: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.uint8], int]:
    """Return the real-valued outputs of the queries, the packed codes of the database, and the code length.

    Parameters
    ----------
    query : array_like, str or Path
        Real values (n_queries, n_bits), which are not binarised.
    database, n_bits, bit_order, binarize
        As in `code_pair`. The threshold of each bit is subtracted from the queries' values.

    Raises
    ------
    ProtocolError
        If the queries' values are only 0 and 1, like codes, or their number of columns is not the code length;
        otherwise as in `code_pair`.

    Examples
    --------
    >>> outputs_and_codes([[0.3, 0.1]], [[0.2, 0.2], [0.4, 0.3], [0.0, 0.0]], binarize="median")
    (array([[ 0.1, -0.1]]), array([[0],
           [3],
           [0]], dtype=uint8), 2)
    """
    checks.one_of(bit_order, BIT_ORDERS, "bit_order")
    name = named(query, "query codes")
    if binarize is not None:
        checks.one_of(binarize, BINARIZE, "binarize")
        outputs, of_items, thresholds = _real_pair(query, database, n_bits, binarize)
        of_database = codes.pack(of_items > thresholds)
    else:
        of_database, length = codes_from(database, "database codes", n_bits=n_bits, bit_order=bit_order)
        outputs, thresholds = matrix_from(query, "query codes", "n_bits"), np.zeros(length)
        _check_finite(outputs, name)
        if outputs.shape[1] != length:
            raise ProtocolError(
                f"{name}: expected {length} columns, the code length of the database, got {outputs.shape[1]}."
            )
    if outputs.dtype == bool or np.isin(outputs, (0, 1)).all():
        raise ProtocolError(
            f"{name}: expected real values for the ranking asymmetric, got only 0 and 1. Codes of -1 and +1 would give "
            "the Hamming ranking."
        )
    return outputs.astype(np.float64) - thresholds, of_database, len(thresholds)


def relevance_from(values: Any, n_queries: int, n_database: int) -> Relevance:
    """Return relevance from lists of neighbours or from a matrix.

    Parameters
    ----------
    values : Relevance, sparse matrix, array_like, iterable of array_like, or str or Path
        A `Relevance`, which is returned unchanged; a Boolean matrix (n_queries, n_database), or a sparse one with a
        ``tocsr`` method whose values are the relevance levels; the database positions of each query's relevant items,
        from 0; or a file: `.npz` from ``scipy.sparse.save_npz``, text with a line of positions per query, or an array
        of positions (n_queries, k) or a Boolean matrix in any other format.
    n_queries, n_database : int

    Raises
    ------
    ProtocolError
        If the sizes do not fit, a position is outside the database or listed twice, or a level is not an integer from 1
        to 255; if integers of shape (n_queries, n_database) could be either a matrix or positions; if no query has
        relevant items, or every item is relevant to every query at the same level.
    """
    name, expected = named(values, "relevance"), (n_queries, n_database)
    if is_file(values):
        suffix = Path(values).suffix.lower()
        if suffix == ".npz":
            arrays, shape = read_csr(values)
            return _sparse(arrays, shape, expected, name)
        values = read_lists(values) if suffix in (".txt", ".csv", ".tsv") else read_array(values)
        _check_unambiguous(values, expected, name)
    elif hasattr(values, "row") and hasattr(values, "n_queries"):
        return values
    elif hasattr(values, "tocsr"):
        rows = values.tocsr()
        arrays = {part: getattr(rows, part) for part in ("indptr", "indices", "data")}
        return _sparse(arrays, rows.shape, expected, name)
    elif isinstance(values, (list, tuple)):
        if all(isinstance(row, (list, tuple)) for row in values):
            _check_unambiguous(values, expected, name)
    elif any(hasattr(values, method) for method in ("__array__", "__dlpack__", "detach", "toarray")):
        values = as_numpy(values, name)
        _check_unambiguous(values, expected, name)
    return _listed(values, expected, name)


def _real_pair(
    query: Any, database: Any, n_bits: int | None, binarize: str
) -> tuple[NDArray, NDArray, NDArray[np.float64]]:
    """Return the real-valued outputs of queries and database, and the threshold of each bit."""
    names = [named(query, "query codes"), named(database, "database codes")]
    of_query, of_database = (
        matrix_from(values, role, "n_bits") for values, role in ((query, "query codes"), (database, "database codes"))
    )
    for array, name in zip((of_query, of_database), names, strict=True):
        _check_finite(array, name)
        if n_bits not in (None, array.shape[1]):
            raise ProtocolError(f"{name}: expected {n_bits} columns (n_bits) to binarise, got {array.shape[1]}.")
    _check_lengths(of_query.shape[1], of_database.shape[1], names[1])
    thresholds = _medians(of_database) if binarize == "median" else np.zeros(of_database.shape[1])
    return of_query, of_database, thresholds


def _check_finite(array: NDArray, name: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array).all(axis=1))[0]
        raise ProtocolError(f"{name}: expected finite numbers, got NaN or infinity, first in row {row}.")


def _check_lengths(n_bits: int, of_database: int, name: str) -> None:
    if of_database != n_bits:
        raise ProtocolError(f"{name}: expected {n_bits} bits as in the query codes, got {of_database}.")


def _medians(outputs: NDArray) -> NDArray[np.float64]:
    """Return the median of each column. Columns are processed singly, because a copy in float64 would be large."""
    return np.array([np.median(column.astype(np.float64)) for column in outputs.T])


def _is_packed(array: NDArray, n_bits: int, bit_order: str) -> bool:
    """Return whether codes of a known length are packed; codes of one bit are packed only if some value exceeds 1."""
    if array.dtype.kind not in "iu" or array.shape[1] != -(-n_bits // 8):
        return False
    return n_bits > 1 or bit_order == "big-128" or bool(array.max() > 1)


def _bytes(array: NDArray, name: str, bit_order: str) -> NDArray[np.uint8]:
    """Return packed integers as bytes whose first bit has weight 1."""
    lowest, highest = (-128, 127) if bit_order == "big-128" else (0, 255)
    if bit_order != "big-128" and (array.dtype == np.int8 or -128 <= array.min() < 0):
        # Vespa and others store the byte 255 as -1; sentence-transformers, which subtracts 128, stores it as 127.
        raise ProtocolError(
            f"{name}: expected packed codes of uint8, got signed {array.dtype}, which is ambiguous: choose "
            'bit_order="big-128" if 128 was subtracted (sentence-transformers\' binary), or pass codes.view("uint8").'
        )
    is_any_byte_valid = bit_order != "big-128" and array.dtype == np.uint8
    if not is_any_byte_valid and (array.min() < lowest or array.max() > highest):
        raise ProtocolError(
            f"{name}: expected packed codes from {lowest} to {highest}, got values from {array.min()} to {array.max()}."
        )
    if bit_order == "big-128":
        array = array.astype(np.int16) + 128
    packed = array.astype(np.uint8, copy=False)
    if packed.size >= _SURE and _is_mask(packed) and packed.min() < packed.max():
        raise ProtocolError(f"{name}: expected packed codes, got only the bytes 0 and 255. {_MASK_HINT}")
    if bit_order == "little":
        return packed
    every = np.arange(256, dtype=np.uint8)[:, None]
    turned = np.packbits(np.unpackbits(every, axis=1), axis=1, bitorder="little").ravel()
    return turned[packed]


def _is_mask(array: NDArray) -> bool:
    """Return whether all values are 0 or 255, as in binary images."""
    return all(bool(np.isin(array[start : start + _BLOCK], _MASK).all()) for start in range(0, len(array), _BLOCK))


def _bits(array: NDArray, name: str, n_bits: int | None = None) -> NDArray[np.bool_]:
    """Return where values are above 0, if they are only 0 and 1 or only -1 and +1."""
    ones = array > 0
    if array.dtype == bool or (array == ones).all() or (array == np.where(ones, np.int8(1), np.int8(-1))).all():
        return ones
    _check_finite(array, name)
    expected = f"{name}: expected bits, 0 and 1 or -1 and +1"
    if np.isin(array, (-1, 0, 1)).all():
        zeros = int((array == 0).sum())
        raise ProtocolError(
            f"{expected}, got -1, 0 and +1: {zeros:,} of {array.size:,} values are 0. "
            'binarize="sign" maps them to bit 0.'
        )
    got = f"values from {array.min():.6g} to {array.max():.6g}"
    if _is_mask(array):
        raise ProtocolError(f"{expected}, got 0 and 255. {_MASK_HINT}")
    if array.dtype.kind == "f":
        raise ProtocolError(f"{expected}, got real {got}. {_HINT}")
    hint = "Packed codes need n_bits." if array.min() >= 0 and n_bits is None else _HINT
    raise ProtocolError(f"{expected}, got {got}. {hint}")


def _check_unambiguous(values: Any, expected: tuple[int, int], name: str) -> None:
    """Raise ProtocolError if integers could be either a matrix of relevance levels or lists of positions."""
    rows = values if isinstance(values, np.ndarray) else list(values)
    if len(rows) != expected[0] or any(np.ndim(row) != 1 or len(row) != expected[1] for row in rows):
        return
    array = np.asarray(rows)
    if array.dtype.kind not in "iu":
        return
    if np.isin(array, (0, 1)).all():
        raise ProtocolError(
            f"{name}: expected a Boolean matrix or lists of database positions, got integers 0 and 1 of shape "
            f"(n_queries, n_database) = {expected}, which may be either: pass relevance.astype(bool) for a matrix, or "
            "a list of arrays for positions."
        )
    if (np.diff(np.sort(array, axis=1), axis=1) == 0).any():
        raise ProtocolError(
            f"{name}: expected database positions, each once, got repeated integers of shape (n_queries, n_database) = "
            f"{expected}: pass a matrix of levels as scipy.sparse.csr_array(relevance)."
        )
    raise ProtocolError(
        f"{name}: expected a Boolean matrix or lists of database positions, got different integers of shape "
        f"(n_queries, n_database) = {expected}: as positions, they make every item relevant. Pass a matrix of levels "
        "as scipy.sparse.csr_array(relevance), or a list of arrays for positions."
    )


def _listed(lists: Any, expected: tuple[int, int], name: str) -> Relevance:
    """Return relevance from one list of database positions, or one row of a Boolean matrix, per query."""
    if not isinstance(lists, Iterable):
        raise ProtocolError(f"{name}: expected a list of neighbours for each query, got {type(lists).__name__}.")
    rows = [numbers_from(row, name) for row in lists]
    if len(rows) != expected[0]:
        raise ProtocolError(
            f"{name}: expected a list of neighbours for each of {expected[0]} queries, got {len(rows)}."
        )
    if all(row.ndim == 1 and row.dtype == bool for row in rows):
        if any(row.size != expected[1] for row in rows):
            sizes = sorted({row.size for row in rows})
            raise ProtocolError(
                f"{name}: expected {expected[1]} Boolean values for each query, one per database item, got {sizes[0]}."
            )
        rows = [np.flatnonzero(row) for row in rows]
    if any(row.ndim != 1 or (row.size and row.dtype.kind not in "iu") for row in rows):
        raise ProtocolError(
            f"{name}: expected a Boolean matrix (n_queries, n_database) = {expected} or lists of database positions, "
            "got other values than integers."
        )
    indices = np.concatenate(rows).astype(np.int64)
    return _neighbours(np.cumsum([0, *map(len, rows)]), indices, None, expected[1], name)


def _sparse(arrays: Mapping[str, NDArray], shape: tuple[int, int], expected: tuple[int, int], name: str) -> Relevance:
    """Return relevance from compressed sparse rows, whose values are the relevance levels."""
    indptr, indices, data = arrays["indptr"], arrays["indices"], arrays.get("data")
    if tuple(shape) != expected:
        raise ProtocolError(f"{name}: expected shape (n_queries, n_database) = {expected}, got {tuple(shape)}.")
    for part, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ProtocolError(f"{name}: expected integers as {part}, got shape {array.shape} of {array.dtype}.")
    if indptr.size != expected[0] + 1:
        raise ProtocolError(
            f"{name}: expected n_queries + 1 = {expected[0] + 1} integers as indptr, got {indptr.size}."
        )
    levels = None
    if data is not None:
        if data.shape != indices.shape or data.dtype.kind not in "biuf" or not is_integer(data).all():
            raise ProtocolError(
                f"{name}: expected an integer as the level of each of {indices.size} pairs, got {_shown(data)}."
            )
        levels = data.astype(np.int64)
        if levels.max(initial=1) > _MOST_LEVELS or levels.min(initial=1) < 1:
            raise ProtocolError(
                f"{name}: expected levels from 1 to {_MOST_LEVELS}, larger for more relevant items, got levels from "
                f"{levels.min()} to {levels.max()}. Distances are not levels; eliminate_zeros() removes stored zeros."
            )
    return _neighbours(indptr, indices, levels, expected[1], name)


def _shown(data: NDArray) -> str:
    has_range = data.dtype.kind in "biuf" and data.size
    return f"{data.size} values of {data.dtype}" + (f" from {data.min()} to {data.max()}" if has_range else "")


def _neighbours(indptr: NDArray, indices: NDArray, levels: NDArray | None, n_database: int, name: str) -> Relevance:
    """Return relevance from lists in any order, for example nearest first."""
    n_queries = indptr.size - 1
    if not indices.size:
        raise ProtocolError(f"{name}: expected a relevant item for at least one query, got none.")
    try:
        ends = indptr.astype(np.int64)
        lengths = ends[1:] - ends[:-1]
        if lengths.min(initial=0) >= 0 and lengths.sum() == indices.size:
            order = np.lexsort((indices, np.repeat(np.arange(lengths.size), lengths)))
            indices, levels = indices[order], None if levels is None else levels[order]
        found = NeighbourRelevance(indptr, indices, n_database, levels)
    except ProtocolError as error:
        raise ProtocolError(f"{name}: {error}") from error
    if indices.size == n_queries * n_database and found.levels.size == 1:
        raise ProtocolError(
            f"{name}: expected the relevant items of each query, got all {n_database:,} items for every query. "
            "A complete ranking of the database does not define which items are relevant."
        )
    return found
