"""Codes of queries and database in the forms that users have, checked and packed as in `protocol.codes`."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import digits
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import checks, codes
from protocol.checks import ProtocolError
from protocol.inputs import text
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named, numbers_with_ids, path_and_key, read_stored
from protocol.inputs.columns import BITS, HEX, IN_COLUMNS, MARK, NOT_DECIMAL, read_columns
from protocol.inputs.fields import read_table
from protocol.inputs.formats import TEXT, below_header
from protocol.inputs.validation import check_finite, is_integer
from protocol.provenance.storage import array_digest
from protocol.scores.metadata import RANKINGS
from protocol.truth import DISTANCES

BIT_ORDERS = ("little", "big", "big-128")
BINARIZE = ("sign", "median")
_SURE = 64
"""If at least this many bytes are all 0 or 255, they are a mask and not packed codes."""
_LETTER = re.compile("[a-fA-F]")
_ROLES = ("query codes", "database codes")


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes, and how they are encoded.

    Parameters
    ----------
    values : array_like, str or Path
        The codes or their file: bits (n, n_bits) as 0 and 1, -1 and +1, or bool, of any numeric dtype; strings (n,) of
        0 and 1 or of hexadecimal digits; packed integers 0..255 (n, ceil(n_bits / 8)) or one integer for each item
        (n,), which require `n_bits`; or, with `binarize`, real values (n, n_bits). The first bit of strings and of
        integers has the highest weight. Text may have more columns than strings, such as ids and labels;
        ``F.csv:COLUMN`` is a column of strings.
    n_bits : int, optional
        The code length; the number of columns if None.
    bit_order : {"little", "big", "big-128"}, optional
        The bit order of packed codes; ``little`` if None, which is refused if only one side is packed. ``little``: the
        first bit of a byte has weight 1 (MATLAB toolkits, ``np.packbits(bitorder="little")``). ``big``: it has weight
        128 (``np.packbits``, the precision ``ubinary`` of sentence-transformers). ``big-128``: like ``big``, with 128
        subtracted from each byte (the signed precision ``binary`` of sentence-transformers).
    binarize : {"sign", "median"}, optional
        How real values become bits. ``sign``: values above 0 become 1, all others 0. ``median``: values above the
        median of their column over the database become 1, all others 0, for queries and database alike.

    Raises
    ------
    ProtocolError
        If an option is unknown, or `n_bits` is below 1.
    """

    values: Any
    n_bits: int | None = None
    bit_order: str | None = None
    binarize: str | None = None

    def __post_init__(self) -> None:
        if self.bit_order is not None:
            checks.one_of(self.bit_order, BIT_ORDERS, "bit_order")
        if self.binarize is not None:
            checks.one_of(self.binarize, BINARIZE, "binarize")
        if self.n_bits is not None:
            checks.integer(self.n_bits, "n_bits")
        elif self.bit_order == "big-128":
            raise ProtocolError('bit_order="big-128" needs n_bits as well.')

    @property
    def encoding(self) -> dict[str, Any]:
        """The encoding by parameter."""
        return {"n_bits": self.n_bits, "bit_order": self.bit_order or BIT_ORDERS[0], "binarize": self.binarize}


@dataclass(frozen=True, eq=False)
class Outputs:
    """Real-valued outputs of the queries that are not binarised.

    In the asymmetric ranking, the database is ordered by the inner product of each query's values with the database
    codes as -1 and +1, see `protocol.counting.asymmetric`. If the database is binarised, its thresholds are also
    subtracted from the queries' values, so that their signs agree with the bits of the queries' codes. In the other
    rankings, the database is real-valued as well: what the vectors score before they become codes.

    Parameters
    ----------
    values : array_like, str or Path
        Real values (n_queries, n_bits).
    ranking : {"asymmetric", "cosine", "euclidean", "dot"}, default="asymmetric"
        The distances are those of `protocol.truth.nearest`.

    Raises
    ------
    ProtocolError
        If the ranking is another one.
    """

    values: Any
    ranking: str = "asymmetric"

    def __post_init__(self) -> None:
        checks.one_of(self.ranking, RANKINGS[1:], "ranking")


class CodePair(NamedTuple):
    """Packed codes of queries and database, and the code length.

    There may be real-valued outputs instead of the query codes, or vectors instead of both; the code length of vectors
    is the number of bits in which they are stored.
    """

    query: NDArray[Any]
    database: NDArray[Any]
    n_bits: int
    ranking: str = "hamming"
    """One of `protocol.scores.metadata.RANKINGS`."""
    binarize: str | None = None
    """How real values were binarised; None if codes were given."""
    files: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """The file of each side that is one, with its encoding, as ``query_codes`` and ``database_codes``."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of queries and database items."""
        return len(self.query), len(self.database)

    def binary(self) -> "CodePair":
        """Return the pair; raise ProtocolError if it has real values in place of codes."""
        if self.ranking != "hamming":
            raise ProtocolError("The queries need binary codes, not real-valued outputs.")
        return self

    @property
    def sha256(self) -> dict[str, str]:
        """The digests of the packed codes and their length, by side; they don't depend on the format of a file.

        Those of `Outputs` are of the real values from which the thresholds were subtracted.
        """
        digests = {"query": array_digest(self.query), "database": array_digest(self.database)}
        return {side: hashlib.sha256(f"{self.n_bits} {one}".encode()).hexdigest() for side, one in digests.items()}


def read_codes(query: Any, database: Any) -> CodePair:
    """Return the codes of queries and database.

    Parameters
    ----------
    query : Codes, Outputs, array_like, str or Path
    database : Codes, array_like, str or Path
        An encoding that is given for one side only, as `Codes`, also applies to the other side.

    Raises
    ------
    ProtocolError
        If codes are missing or anything else, for example real-valued without `binarize`, packed without `n_bits`, of
        another length, or not a matrix; if only one side is packed, without `bit_order`; or if `Outputs` are only 0 and
        1, like codes.

    Examples
    --------
    >>> read_codes(Codes([[-1.0, 1.0, 1.0]], n_bits=3, bit_order="big"), [[96]])[:3]
    (array([[6]], dtype=uint8), array([[6]], dtype=uint8), 3)
    >>> items = Codes([[0.2, 0.2], [0.4, 0.3], [0.0, 0.0]], binarize="median")
    >>> read_codes([[0.3, 0.1]], items).query, read_codes(Outputs([[0.3, 0.1]]), items).query
    (array([[1]], dtype=uint8), array([[ 0.1, -0.1]]))
    """
    sides, ranking = _encoded(query, database), query.ranking if isinstance(query, Outputs) else "hamming"
    is_asymmetric, of_vectors = ranking == "asymmetric", ranking in DISTANCES
    by_role = zip(("query_codes", "database_codes"), sides, strict=True)
    files = {role: {"file": str(side.values), **side.encoding} for role, side in by_role if is_file(side.values)}
    binarize = sides[1].binarize
    if of_vectors and (binarize or sides[1].n_bits):
        raise ProtocolError(f"binarize and n_bits are of codes, but the ranking {ranking!r} is of real-valued vectors.")
    outputs, n_bits, query_packed = _read(sides[0], _ROLES[0], is_real=ranking != "hamming" or binarize is not None)
    items, database_bits, database_packed = _read(sides[1], _ROLES[1], is_real=of_vectors or binarize is not None)
    if query_packed != database_packed and sides[database_packed].bit_order is None:
        name, other = (named(sides[side].values, _ROLES[side]) for side in (database_packed, query_packed))
        hint = 'Pass hp.Codes(..., bit_order="big") for codes of np.packbits, or bit_order="little"'
        raise ProtocolError(f"{name}: packed, unlike {other}, so the order of the bits matters. {hint}.")
    if database_bits != n_bits:
        lengths, unit = (n_bits, database_bits), "value" if of_vectors else "bit"
        raise ProtocolError(_of_other_length(sides, (len(outputs), len(items)), lengths, unit))
    if of_vectors:
        _doubt_vectors(outputs, items, ranking)
        return CodePair(outputs, items, 8 * items.itemsize * n_bits, ranking, None, files)
    thresholds = np.zeros(n_bits)
    if binarize == "median":  # of single columns, because a copy in float64 would be large
        thresholds = np.array([np.median(column.astype(np.float64)) for column in items.T])
    if binarize is not None:
        items = codes.pack(items > thresholds)
    if is_asymmetric:
        if np.isin(outputs, (0, 1)).all():
            needs = "the asymmetric ranking needs real values, but all are 0 or 1."
            name = named(sides[0].values, "query codes")
            raise ProtocolError(f"{name}: {needs} Codes of -1 and +1 would give the Hamming ranking.")
        outputs = outputs.astype(np.float64) - thresholds
    elif binarize is not None:
        outputs = codes.pack(outputs > thresholds)
    return CodePair(outputs, items, n_bits, ranking, binarize, files)


def _doubt_vectors(query: NDArray, database: NDArray, ranking: str) -> None:
    """Log that one side alone has whole numbers, perhaps of another scale, or that both have bits."""
    if query.dtype.kind != database.dtype.kind:
        scale = "quantised values on one side have another scale; pass restored ones"
        text.INPUTS.warning("the queries are %s, the database is %s: %s", query.dtype, database.dtype, scale)
    elif all(np.isin(side, (-1, 0, 1)).all() for side in (query, database)):
        text.INPUTS.warning("codes are ranked as vectors, because the ranking is %s", ranking)
    elif query.dtype.kind in "iu":
        text.INPUTS.info("%s values are ranked by %s as they are, without scale or offset", database.dtype, ranking)


def packed_batch(values: Any, encoding: Codes, role: str) -> tuple[NDArray[np.uint8], int]:
    """Return a batch of codes in packed form, and the code length.

    Parameters
    ----------
    values : array_like
    encoding : Codes
        The encoding, without values; real values become bits by their signs if it has `binarize`.
    role : str
        The name in error messages.
    """
    is_real = encoding.binarize is not None
    try:
        array, n_bits, _ = _read(replace(encoding, values=values), role, is_real=is_real)
    except ProtocolError as error:
        message = checks.as_options(str(error), "hp.Evaluator({}={})")
        raise ProtocolError(message.replace(' or hp.Evaluator(binarize="median")', "")) from error  # needs all items
    return codes.pack(array > 0) if is_real else array, n_bits


def _encoded(query: Any, database: Any) -> tuple[Codes, Codes]:
    """Return both sides with their encodings, and those of the other side where none is given."""
    if isinstance(database, Outputs):
        ways = "as codes, or as vectors if the ranking is of vectors"
        raise ProtocolError(f"Outputs are only for queries. Pass the database {ways}.")
    if not isinstance(database, Codes):
        database = replace(query, values=database) if isinstance(query, Codes) else Codes(database)
    if not isinstance(query, Codes):
        query = replace(database, values=query.values if isinstance(query, Outputs) else query)
    for side, role in zip((query, database), _ROLES, strict=True):
        if side.values is None:
            raise ProtocolError(f"{role} are missing.")
    if query.binarize != database.binarize:
        got = f"{query.binarize!r} and {database.binarize!r}"
        raise ProtocolError(f"binarize must be the same for queries and database, got {got}.")
    return query, database


def _of_other_length(sides: Sequence[Codes], sizes: tuple[int, int], lengths: tuple[int, int], unit: str) -> str:
    """Return the message for codes of queries and database that differ in length."""
    names = [named(side.values, role) for side, role in zip(sides, _ROLES, strict=True)]
    hint = ""
    if sizes[0] == sizes[1]:
        how = f'pass "{names[0]}\'" and "{names[1]}\'".' if is_file(sides[0].values) else "pass codes.T."
        hint = f" Both have {sizes[0]:,} rows. If items are in columns, transpose them: {how}"
    return f"{names[1]}: {checks.counted(lengths[1], unit)}, but the query codes have {lengths[0]}.{hint}"


def _read(side: Codes, role: str, *, is_real: bool) -> tuple[NDArray, int, bool]:
    """Return real values (n, n_bits), or codes in packed form; the code length; and whether they were packed."""
    if not is_real:
        return _packed(side, named(side.values, role))
    name = named(side.values, role)
    array = matrix_from(numbers_with_ids(side.values, role)[0], name, "n_bits")  # labels may be ordered by the ids
    check_finite(array, name)
    if side.n_bits not in (None, array.shape[1]):
        raise ProtocolError(f"{name}: {array.shape[1]} columns to binarise, but n_bits={side.n_bits}.")
    return array, array.shape[1], False


def _packed(side: Codes, name: str) -> tuple[NDArray[np.uint8], int, bool]:
    array = _numbers(side.values, side.n_bits, name)
    if array.dtype.kind == "f" and is_integer(array).all():
        array = array.astype(np.int64)  # integers of MATLAB
    is_column = array.shape[1:] == (1,) and (side.n_bits or 0) > 8  # up to 8 bits, bytes or single bits
    if array.dtype.kind in "iu" and array.size and (array.ndim == 1 or is_column):
        bits = _bits_of_integers(array.ravel(), side.n_bits, name)
        return codes.pack(bits), bits.shape[1], False
    return _packed_matrix(matrix_from(array, name, "n_bits"), side, name)


def _packed_matrix(array: NDArray, side: Codes, name: str) -> tuple[NDArray[np.uint8], int, bool]:
    n_bits, n_columns = side.n_bits or array.shape[1], array.shape[1]
    n_bytes = -(-n_bits // 8) if side.n_bits else 0
    # Codes of one bit are packed only if some value exceeds 1.
    is_bit = n_bits == 1 and side.bit_order != "big-128" and array.max() <= 1
    if array.dtype.kind in "iu" and n_columns == n_bytes and not is_bit:
        return _bytes(array, n_bits, name, side.bit_order or BIT_ORDERS[0]), n_bits, True
    if n_columns != n_bits or side.bit_order == "big-128":
        got, needed = (checks.counted(n, "column") for n in (n_columns, n_bits))
        needed += f" of bits, or {n_bytes} of packed integers"
        raise ProtocolError(f"{name}: {got} of {array.dtype}, but n_bits={n_bits} needs {needed}.")
    return codes.pack(_bits(array, name)), n_bits, False


def _numbers(values: Any, n_bits: int | None, name: str) -> NDArray:
    """Return the numbers of codes; strings, with which lines of text may begin, have a column for each bit."""
    path, column = path_and_key(values) if is_file(values) else (Path(), None)
    if path.suffix.lower() in TEXT:
        words = [row[0] for row in read_table(path, name, column).rows] if column else _words(path)
    else:
        values = as_numpy(read_stored(values) if is_file(values) else values, name)
        words = values.ravel().tolist() if values.dtype.kind == "U" and values.size in values.shape else []
    bits = _bits_of_strings(words, n_bits, name) if words else None
    return numbers_with_ids(values, name)[0] if bits is None else bits


def _words(path: Path) -> Sequence[str]:
    """Return the codes in a text, of its only column that has some, or of its first one.

    There are none if they are, for example, numbers from 0 to 255 in columns.
    """
    lines = list(filter(None, map(str.strip, text.lines(path, "codes"))))
    fields = [MARK.split(line.replace('"', "")) for line in lines[-2:]]  # of which one may have an id that is a bit
    if any(len(row) > 1 and not text.are_flags(row) for row in fields):
        columns = read_columns(path)
        if columns.codes:
            text.INPUTS.info("%s: %s", path, columns.description)
            return columns.codes
    words = [MARK.split(line, 1)[0] for line in lines]
    if not all(map(HEX.fullmatch, words)) or _are_names(path, lines[0], words[1:]):
        lines, _ = below_header(path, lines)
        words = [MARK.split(line, 1)[0] for line in lines]
    return words if words == lines or any(map(IN_COLUMNS.search, words)) else []


def _are_names(path: Path, line: str, words: Sequence[str]) -> bool:
    """Return whether a line is b0, b1, ... above decimal numbers; raise ProtocolError if it may be another header."""
    names = MARK.split(line)
    if not words or not _LETTER.search(names[0]) or any(map(NOT_DECIMAL.search, words)):
        return False
    if len(names) == 1 or len({name.rstrip(digits) for name in names}) > 1:
        unclear = f"{path}: the first line {line[:60]!r} may be a header or a hexadecimal code."
        raise ProtocolError(f"{unclear} Delete it if it is a header, or write 0x before each code.")
    return True


def _bits_of_strings(words: Sequence[str], n_bits: int | None, name: str) -> NDArray[np.bool_] | None:
    """Return the bits of strings of 0 and 1 or hexadecimal digits, (n, n_bits); None for decimal numbers and others."""
    are_bits, may_be_hex = all(map(BITS.fullmatch, words)), all(map(HEX.fullmatch, words))
    is_hex = may_be_hex and not are_bits and any(map(NOT_DECIMAL.search, words))
    if may_be_hex and not is_hex and {4 * len(word) for word in words} == {n_bits}:
        unclear = f"{name}: {words[0]!r} may be a hexadecimal number of {n_bits} bits."
        raise ProtocolError(f"{unclear} Write 0x before hexadecimal codes, or save others as .npy.")
    if not is_hex and not are_bits:
        return None
    if is_hex:
        words = [f"{int(word, 16):0{4 * len(word.lower().removeprefix('0x'))}b}" for word in words]
    shortest, longest = min(words, key=len), max(words, key=len)
    if len(shortest) < len(longest):
        raise ProtocolError(f"{name}: codes of different lengths, such as {longest[:80]!r} and {shortest[:80]!r}.")
    return np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8).reshape(len(words), -1) == ord("1")


def _bits_of_integers(array: NDArray, n_bits: int | None, name: str) -> NDArray[np.bool_]:
    """Return the bits of one integer for each item, (n, n_bits); with 64 bits, the first one may be the sign."""
    if array.dtype.kind == "i" and n_bits == 64:
        array = array.astype(np.int64).view(np.uint64)
    least = max(1, int(array.max()).bit_length())
    if n_bits is None:
        raise ProtocolError(f"{name}: one integer for each item. Pass its code length: hp.Codes(..., n_bits={least}).")
    if array.min() < 0 or least > n_bits:
        raise ProtocolError(f"{name}: integers from {array.min()} to {array.max()} are not codes of {n_bits} bits.")
    weights = np.arange(n_bits - 1, -1, -1, dtype=np.uint64)
    return ((array.astype(np.uint64)[:, None] >> weights) & np.uint64(1)).astype(bool)


def _bytes(array: NDArray, n_bits: int, name: str, bit_order: str) -> NDArray[np.uint8]:
    """Return packed integers as bytes whose first bit has weight 1."""
    lowest, least, most = -128 if bit_order == "big-128" else 0, array.min(), array.max()
    if (lowest == 0 and array.dtype == np.int8) or least < lowest or most > lowest + 255:
        # Vespa and others store the byte 255 as -1; sentence-transformers, which subtracts 128, stores it as 127.
        also = ', or codes.view("uint8") (255 is stored as -1)' * (array.dtype == np.int8)
        forms = f'unsigned, or signed with bit_order="big-128" (128 was subtracted from each byte){also}'
        raise ProtocolError(f"{name}: packed codes must be {forms}, got {array.dtype} from {least} to {most}.")
    if lowest or array.dtype != np.uint8:
        array = (array.astype(np.int16) - lowest).astype(np.uint8)
    if array.size >= _SURE and least < most and np.isin(array, (0, 255)).all():
        raise ProtocolError(f"{name}: all packed values are 0 or 255, as in a mask. Pass codes > 0.")
    if bit_order != "little":
        every = np.arange(256, dtype=np.uint8)[:, None]
        array = np.packbits(np.unpackbits(every, axis=1), axis=1, bitorder="little").ravel()[array]
    codes.check(array, n_bits, name)
    return array


def _bits(array: NDArray, name: str) -> NDArray[np.bool_]:
    """Return where values are above 0, if they are only 0 and 1 or only -1 and +1."""
    ones = array > 0
    if array.dtype == bool or (array == ones).all() or (array == np.where(ones, np.int8(1), np.int8(-1))).all():
        return ones
    check_finite(array, name)
    least, most = array.min(), array.max()
    if np.isin(array, (-1, 0, 1)).all():
        zeros, (row, column) = checks.counted((array == 0).sum(), "zero"), np.argwhere(array == 0)[0]
        why = f"{zeros} among -1 and +1, the first in row {row}, column {column}, because the sign of 0 is 0"
        ways = 'hp.Codes(..., binarize="sign") makes each zero the bit 0; save outputs >= 0 to make it the bit 1'
        raise ProtocolError(f"{name}: {why}. {ways}.")
    if array.dtype.kind == "f" or least < -128 or most > 255:
        hint = "real-valued outputs, pass " + " or ".join(f'hp.Codes(..., binarize="{how}")' for how in BINARIZE)
        hint += '; hp.Outputs(..., "cosine") scores the vectors themselves'
    else:
        hint = f'packed, pass hp.Codes(..., n_bits={8 * array.shape[1]}), with bit_order="big-128" if 128 was '
        is_sign = np.isin(array, (1, 255)).all()
        other = "An unsigned -1 is 255: pass codes == 1" if is_sign else "A mask is passed as codes > 0"
        hint += f"subtracted. {other}"
    got = f"{least:.6g} to {most:.6g}"
    raise ProtocolError(f"{name}: expected codes of 0/1 or -1/+1, got values from {got}. If they are {hint}.")


def precomputed_codes(
    files: Mapping[int, Mapping[str, Any]], parts: Mapping[str, NDArray[np.int64]], *, name: str, **encoding: Any
) -> dict[str, NDArray]:
    """Return the codes of one split, which were computed elsewhere, in the form that `protocol.codes.of_split` reads.

    Parameters
    ----------
    files : mapping of int to mapping of str to path or array_like
        For each code length, the codes of ``query`` and ``database`` or their files, in any form of `Codes`.
    parts : mapping of str to ndarray of int64
        Row numbers of ``query`` and ``database``; the rows of a file of codes are in this order.
    name : str
        The name of the method in error messages.
    **encoding
        ``bit_order`` and ``binarize``, as for `Codes`.

    Raises
    ------
    ProtocolError
        If a file can't be read, or contains codes of another length or another number of codes.
    """
    arrays: dict[str, NDArray] = {"image": parts["database"], "query_image": parts["query"]}
    for n_bits, of_role in files.items():
        try:
            pair = read_codes(*(Codes(of_role[role], n_bits, **encoding) for role in ("query", "database")))
        except ProtocolError as error:
            raise ProtocolError(checks.as_options(f"{name}: {error}", "{}: {}")) from error
        for role, packed in (("query", pair.query), ("database", pair.database)):
            if len(packed) != len(parts[role]):
                n_rows, n_numbers = checks.counted(len(packed), "row"), checks.counted(len(parts[role]), "row number")
                codes_of = f"{name}: {named(of_role[role], f'{role} codes')}"
                raise ProtocolError(f"{codes_of}: {n_rows} for {n_numbers} of `{role}` in splits.h5.")
        arrays |= {f"{n_bits}/query": pair.query, f"{n_bits}/items": pair.database}
    return arrays
