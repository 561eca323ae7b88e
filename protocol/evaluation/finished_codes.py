"""Finished codes of one split: read from a user's files, and held against the split's queries and database."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.evaluation.inputs import codes_from, named


def finished_codes(
    files: Mapping[int, Mapping[str, Any]],
    parts: Mapping[str, NDArray[np.int64]],
    *,
    name: str,
    bit_order: str = "little",
) -> dict[str, NDArray]:
    """Return the codes of one split as `protocol.codes.of_split` reads them.

    Parameters
    ----------
    files : mapping of int to mapping of str to path or array_like
        By code length, the codes of ``query`` and ``database`` or their files, in any form that
        `protocol.evaluation.inputs.codes_from` reads.
    parts : mapping of str to ndarray of int64
        Row numbers of ``query`` and ``database``; the rows of a file are in their order.
    name : str
        What errors call the method.
    bit_order : {"little", "big"}, default="little"
        Of packed codes.

    Raises
    ------
    ProtocolError
        If a file can't be read, or holds codes of another length or for another number of items.
    """
    arrays: dict[str, NDArray] = {"image": parts["database"]}
    for n_bits, of_role in files.items():
        for role, stored in (("query", "query"), ("database", "items")):
            given, what = of_role[role], f"{name}: {role} codes"
            packed, _ = codes_from(given, what, n_bits=n_bits, bit_order=bit_order)
            if len(packed) != len(parts[role]):
                raise ProtocolError(
                    f"{named(given, what)}: expected {len(parts[role])} rows, one for each row number of `{role}` in "
                    f"splits.h5, got {len(packed)}."
                )
            arrays[f"{n_bits}/{stored}"] = packed
    return arrays
