"""Codes of several models at once, from vectors that come block by block."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.hashers._base import Hasher

Key = TypeVar("Key", bound=Hashable)


def packed_codes(
    models: Mapping[Key, Hasher], blocks: Iterable[NDArray[np.float32]], *, of_database: bool = False
) -> dict[Key, NDArray[np.uint8]]:
    """Encode items by every model while their vectors are there.

    Parameters
    ----------
    models : mapping of any key to a fitted Hasher
    blocks : iterable of ndarray of float32, shape (n_block, d)
        At least one.
    of_database : bool, default False
        Whether these are database items, which may be of another modality than queries.

    Returns
    -------
    dict of ndarray of uint8, shape (n, ceil(n_bits / 8))
        Each model's codes of all items, packed as by `protocol.codes.pack`.
    """
    packed: dict[Key, list[NDArray[np.uint8]]] = {key: [] for key in models}
    for block in blocks:
        for key, model in models.items():
            packed[key].append(codes.pack(model.transform_database(block) if of_database else model.transform(block)))
    return {key: np.concatenate(parts) for key, parts in packed.items()}
