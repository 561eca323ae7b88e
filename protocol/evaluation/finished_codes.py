"""Finished codes of one split: read from a user's files, and checked against the split's queries and database."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.evaluation.inputs import code_pair
from protocol.inputs.conversion import named


def finished_codes(
    files: Mapping[int, Mapping[str, Any]],
    parts: Mapping[str, NDArray[np.int64]],
    *,
    name: str,
    bit_order: str = "little",
    binarize: str | None = None,
) -> dict[str, NDArray]:
    """Return the codes of one split in the form that `protocol.codes.of_split` reads.

    Parameters
    ----------
    files : mapping of int to mapping of str to path or array_like
        For each code length, the codes of ``query`` and ``database`` or their files, in any form that
        `protocol.evaluation.inputs.code_pair` accepts.
    parts : mapping of str to ndarray of int64
        Row numbers of ``query`` and ``database``; the rows of a file of codes are in this order.
    name : str
        The name of the method in error messages.
    bit_order, binarize : str
        As for `protocol.evaluation.inputs.code_pair`.

    Raises
    ------
    ProtocolError
        If a file can't be read, or contains codes of another length or another number of codes.
    """
    arrays: dict[str, NDArray] = {"image": parts["database"]}
    for n_bits, of_role in files.items():
        try:
            query, database, _ = code_pair(**of_role, n_bits=n_bits, bit_order=bit_order, binarize=binarize)
        except ProtocolError as error:
            raise ProtocolError(f"{name}: {error}") from error
        for role, packed in (("query", query), ("database", database)):
            if len(packed) != len(parts[role]):
                raise ProtocolError(
                    f"{name}: {named(of_role[role], f'{role} codes')}: expected {len(parts[role])} rows, one for each "
                    f"row number of `{role}` in splits.h5, got {len(packed)}."
                )
        arrays |= {f"{n_bits}/query": query, f"{n_bits}/items": database}
    return arrays
