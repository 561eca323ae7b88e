"""Binary codes: packing and Hamming distance.

A code has n_bits bits. Unpacked codes are bool (n, n_bits). Packed codes are uint8 (n, ceil(n_bits / 8)): bit j is in
byte j // 8 with weight 2 ** (j % 8) (little-endian, like the field's MATLAB toolkits), and the unused bits of the last
byte are zero.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError, integer, one_of

EXTENSIONS = ("none", "same", "different")
_BLOCK = 1 << 22  # codes are read in blocks of this many, because a large database may be mapped from a file


def pack(bits: ArrayLike) -> NDArray[np.uint8]:
    """Pack bits, eight to a byte.

    Parameters
    ----------
    bits : array_like of bool or 0/1, shape (n, n_bits)

    Returns
    -------
    ndarray of uint8, shape (n, ceil(n_bits / 8))

    Raises
    ------
    ProtocolError
        If `bits` is not a matrix of 0 and 1 with at least one column.

    Examples
    --------
    >>> pack([[1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0, 0, 0, 0]])
    array([[1, 1],
           [2, 0]], dtype=uint8)
    """
    array = np.asarray(bits)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "biu":
        raise ProtocolError(f"codes: expected bits (n, n_bits), got shape {array.shape} of {array.dtype}.")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        advice = "Convert codes of -1 and +1 with `codes > 0`."
        raise ProtocolError(f"codes: expected bits 0 and 1, got values from {array.min()} to {array.max()}. {advice}")
    return np.packbits(array.astype(bool, copy=False), axis=1, bitorder="little")


def unpack(codes: NDArray[np.uint8], n_bits: int) -> NDArray[np.bool_]:
    """Return packed codes as bool (n, n_bits), the inverse of `pack`. Raises the errors of `check`."""
    check(codes, n_bits)
    return np.unpackbits(codes, axis=1, count=n_bits, bitorder="little").astype(bool)


def check(codes: NDArray[np.uint8], n_bits: int, name: str = "codes") -> None:
    """Raise ProtocolError unless `codes` are packed codes of `n_bits` bits whose unused bits are zero."""
    integer(n_bits, f"{name}: n_bits")
    width = -(-n_bits // 8)
    if codes.ndim != 2 or codes.dtype != np.uint8 or codes.shape[1] != width:
        got = f"shape {codes.shape} of {codes.dtype}"
        raise ProtocolError(f"{name}: expected uint8 (n, {width}) for codes of {n_bits} bits, got {got}.")
    spare = 8 * width - n_bits
    blocks = range(0, len(codes) if spare else 0, _BLOCK)
    if any((codes[start : start + _BLOCK, -1] >> (8 - spare)).any() for start in blocks):
        advice = "Check n_bits and bit_order (np.packbits: big)."
        raise ProtocolError(f"{name}: expected zeros after bit {n_bits}, got ones. {advice}")


def check_pair(query: NDArray[np.uint8], database: NDArray[np.uint8], n_bits: int) -> None:
    """Raise ProtocolError unless both are packed codes of `n_bits` bits, with at least one code each."""
    for codes, name in ((query, "query codes"), (database, "database codes")):
        check(codes, n_bits, name)
        if not len(codes):
            raise ProtocolError(f"{name}: there are no codes.")


def words(codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return packed codes as 64-bit words (n, ceil(n_bits / 64)), padded with zero bits, for fast xor and popcount.

    The result is a view of the codes where their memory layout allows it.
    """
    if codes.shape[1] % 8 == 0 and codes.flags.c_contiguous and codes.ctypes.data % 8 == 0:
        return codes.view("<u8").astype(np.uint64, copy=False)
    padded = np.zeros((len(codes), -(-codes.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : codes.shape[1]] = codes
    return padded.view("<u8").astype(np.uint64, copy=False)


def from_words(words: NDArray[np.uint64], n_bits: int) -> NDArray[np.uint8]:
    """Return packed codes of `n_bits` bits, (n, ceil(n_bits / 8)), from 64-bit words; the inverse of `words`."""
    return np.ascontiguousarray(words.astype("<u8", copy=False).view(np.uint8)[:, : -(-n_bits // 8)])


def hamming_distance(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of differing bits between every row of `a` (n, w) and of `b` (m, w) as int64 (n, m).

    This is the obvious implementation, for small inputs and as a reference; `protocol.counting` counts large inputs in
    blocks.

    Examples
    --------
    >>> hamming_distance(pack([[1, 1, 0]]), pack([[1, 0, 1], [1, 1, 0]]))
    array([[2, 0]])
    """
    return np.bitwise_count(a[:, None, :] ^ b[None, :, :]).sum(axis=2, dtype=np.int64)


def check_extension(extension: str, extension_bits: int) -> None:
    """Raise ProtocolError if an extension is unknown, or its number of bits does not belong to it."""
    one_of(extension, EXTENSIONS, "extension")
    if (extension_bits > 0) != (extension != "none") or extension_bits < 0:
        allowed = "0" if extension == "none" else "an integer >= 1"
        raise ProtocolError(f"extension_bits must be {allowed} for extension {extension!r}, got {extension_bits}.")


def of_split(
    stored: Mapping[str, NDArray], parts: Mapping[str, NDArray[np.int64]], split: str = ""
) -> dict[int, dict[str, NDArray[np.uint8]]]:
    """Return the packed codes of queries and database for each code length, in ascending order.

    Parameters
    ----------
    stored : mapping of str to ndarray
        The arrays of codes.h5: ``query_image`` and ``image``, the images that queries and items come from, and for each
        code length ``<n_bits>/query`` and ``<n_bits>/items``, the codes of all queries of the sampled split, and of all
        items. Precomputed codes, which exist for each split, are stored under ``<split>/``.
    parts : mapping of str to ndarray of int64
        Row numbers of the images of ``query`` and ``database``, ascending, as in splits.h5.
    split : str, default=""
        Name of the split protocol.

    Examples
    --------
    >>> items = np.array([[1], [2], [3]], dtype=np.uint8)
    >>> stored = {"query_image": np.array([1]), "image": np.array([0, 1, 2]), "8/query": items[1:2], "8/items": items}
    >>> of_split(stored, {"query": np.array([1]), "database": np.array([0, 2])})[8]["database"].tolist()
    [[1], [3]]
    """
    rows = rows_of_split(stored, parts["database"], split)
    return dict(of_shard(stored, parts, rows, slice(0, np.count_nonzero(rows)), split))


def rows_of_split(stored: Mapping[str, NDArray], database: NDArray[np.int64], split: str = "") -> NDArray[np.bool_]:
    """Return a mask (n_items,) of the items of codes.h5 that are in the database; the file is read in blocks.

    Parameters
    ----------
    stored : mapping of str to array
        As for `of_split`: arrays in memory or in a file, which are read by slices of rows.
    database : ndarray of int64
    split : str, default=""
    """
    image = _arrays_of(stored, split)["image"]
    blocks = (np.asarray(image[start : start + _BLOCK]) for start in range(0, len(image), _BLOCK))
    return np.concatenate([np.isin(block, database) for block in blocks])


def of_shard(
    stored: Mapping[str, NDArray],
    parts: Mapping[str, NDArray[np.int64]],
    rows: NDArray[np.bool_],
    part: slice,
    split: str = "",
) -> Iterator[tuple[int, dict[str, NDArray[np.uint8]]]]:
    """Yield code lengths and codes as in `of_split`, for a part of the database, and read only that part.

    Parameters
    ----------
    stored : mapping of str to array
        As for `rows_of_split`.
    parts : mapping of str to ndarray of int64
        As for `of_split`.
    rows : ndarray of bool, shape (n_items,)
        The mask that `rows_of_split` returns. The database consists of the rows where it is true, in their order.
    part : slice
        The part of the database.
    split : str, default=""
    """
    arrays, seen, blocks = _arrays_of(stored, split), 0, []
    for start in range(0, len(rows), _BLOCK):
        rows_of_block = start + np.flatnonzero(rows[start : start + _BLOCK])
        blocks.append(rows_of_block[max(0, part.start - seen) : max(0, part.stop - seen)])
        seen += rows_of_block.size
    positions, queries = np.concatenate(blocks), np.flatnonzero(np.isin(arrays["query_image"][:], parts["query"]))
    first, last = positions[0], positions[-1] + 1
    for n_bits in sorted(int(name.removesuffix("/query")) for name in arrays if name.endswith("/query")):
        items = np.asarray(arrays[f"{n_bits}/items"][first:last])[positions - first]
        yield n_bits, {"query": np.asarray(arrays[f"{n_bits}/query"][:])[queries], "database": items}


def _arrays_of(stored: Mapping[str, NDArray], split: str) -> Mapping[str, NDArray]:
    """Return the arrays of a split if the arrays are stored for each split, otherwise all arrays."""
    prefix = f"{split}/"
    return {name.removeprefix(prefix): array for name, array in stored.items() if name.startswith(prefix)} or stored
