"""Files of models and codes: what of an earlier run stays as it is, and the codes of one split."""

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.checks import ProtocolError
from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.training_set import TrainingSet

_log = logging.getLogger(__name__)


class Stored(NamedTuple):
    """What is stored for one code length: the record of the fit, the arrays of the model, and the packed codes."""

    fit: Mapping[str, Any]
    model: Mapping[str, NDArray]
    codes: Mapping[str, NDArray]


def unchanged(models: str | Path, codes: str | Path, made_of: Mapping[int, Mapping[str, Any]]) -> dict[int, Stored]:
    """Return what an earlier run left for the code lengths of which nothing has changed.

    Parameters
    ----------
    models, codes : path
        The two outputs of the job, whose earlier versions are read where `keep` left them. If one is missing, or was
        altered, which is logged, nothing is returned.
    made_of : mapping of int to mapping
        For each code length everything that its model and codes depend on, JSON-able: the code, the seed, the options,
        and the digests of the inputs. An earlier model is returned only if it was made of the same.
    """
    models, codes = earlier(models), earlier(codes)
    if not (models.exists() and codes.exists()):
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


def earlier(path: str | Path) -> Path:
    """Return the second name of a file, under which it stays when Snakemake deletes the first to run the job again."""
    return Path(f"{path}.earlier")


def keep(path: str | Path) -> None:
    """Give a finished file its second name. It takes no space where the file system has hard links, else a copy's."""
    with storage.replacing(earlier(path)) as temporary:
        temporary.unlink()
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)


def trained(
    new: Callable[[int], Hasher],
    made_of: Mapping[int, Mapping[str, Any]],
    training: TrainingSet,
    blocks: Mapping[str, Iterable[NDArray[np.float32]]],
    *,
    kept: Mapping[int, Stored],
    checkpoint: Callable[[int], Path],
) -> dict[int, Stored]:
    """Train and encode at every code length that is not kept; return what there is to store, by code length.

    Parameters
    ----------
    new : callable
        Returns the unfitted hasher of a code length.
    made_of, kept : mapping
        As of `unchanged`.
    training : TrainingSet
    blocks : mapping of str to iterable of ndarray of float32, shape (n_block, d)
        The vectors to encode: ``query``, and ``items``, which may be of the database's modality.
    checkpoint : callable
        Returns the path of a code length's checkpoint, as `checkpoints` gives it.
    """
    models = {}
    for n_bits in sorted(made_of.keys() - kept.keys()):
        _log.info("training at %d bits", n_bits)
        models[n_bits] = new(n_bits).fit(training, checkpoint=checkpoint(n_bits))
    codes = {part: packed_codes(models, own, of_database=part == "items") for part, own in blocks.items() if models}
    found = dict(kept)
    for n_bits, model in models.items():
        of_length = {part: packed[n_bits] for part, packed in codes.items()}
        found[n_bits] = Stored({"made_of": made_of[n_bits], **model.fit_record_}, model.to_arrays(), of_length)
    return dict(sorted(found.items()))


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
