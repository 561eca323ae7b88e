"""Files of models and codes: what of an earlier run stays as it is, and the codes of one split."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.checks import ProtocolError

_log = logging.getLogger(__name__)


class Stored(NamedTuple):
    """What a run left for one code length: the record of the fit, the arrays of the model, and the codes."""

    fit: Mapping[str, Any]
    model: Mapping[str, NDArray]
    codes: Mapping[str, NDArray]


def unchanged(models: str | Path, codes: str | Path, made_of: Mapping[int, Mapping[str, Any]]) -> dict[int, Stored]:
    """Return what an earlier run left for the code lengths of which nothing has changed.

    Parameters
    ----------
    models, codes : path
        The two files of an earlier run; they may be missing. A damaged file is logged, and nothing of it is returned.
    made_of : mapping of int to mapping
        For each code length everything that its model and codes depend on, JSON-able: the code, the seed, the options,
        and the digests of the inputs. An earlier model is returned only if it was made of the same.
    """
    if not (Path(models).exists() and Path(codes).exists()):
        return {}
    try:
        fits = storage.read_passport(models)["fits"]
        same = [n_bits for n_bits, own in made_of.items() if fits.get(str(n_bits), {}).get("made_of") == own]
        learned, packed = (storage.grouped(storage.read(path)) for path in (models, codes)) if same else ({}, {})
    except (ProtocolError, KeyError) as error:
        _log.info("the models of an earlier run can't be kept: %s", error)
        return {}
    _log.info("kept from an earlier run: models of %s bits", ", ".join(map(str, same)) or "no")
    return {n_bits: Stored(fits[str(n_bits)], learned[str(n_bits)], packed[str(n_bits)]) for n_bits in same}


def codes_of_split(
    stored: Mapping[str, NDArray], database: NDArray[np.int64]
) -> dict[int, dict[str, NDArray[np.uint8]]]:
    """Return the packed codes of queries and database by code length, ascending.

    Parameters
    ----------
    stored : mapping of str to ndarray
        A file of codes: ``image``, the image that each item comes from, and for each code length ``<n_bits>/query`` and
        ``<n_bits>/items``, the codes of all items.
    database : ndarray of int64
        Row numbers of the database's images, ascending, as in a file of splits.

    Examples
    --------
    >>> items = np.array([[1], [2], [3]], dtype=np.uint8)
    >>> stored = {"image": np.array([0, 1, 2]), "8/query": items[:1], "8/items": items}
    >>> codes_of_split(stored, np.array([0, 2]))[8]["database"].tolist()
    [[1], [3]]
    """
    rows = np.flatnonzero(np.isin(stored["image"], database))
    lengths = sorted(int(name.removesuffix("/query")) for name in stored if name.endswith("/query"))
    return {
        n_bits: {"query": stored[f"{n_bits}/query"], "database": stored[f"{n_bits}/items"][rows]} for n_bits in lengths
    }
