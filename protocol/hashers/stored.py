"""The files of models and codes: what of an earlier run stays as it is, and what is trained and written."""

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
        The two outputs of the job, whose earlier versions are read where `write_stored` left them. If one is missing,
        or was altered, which is logged, nothing is returned.
    made_of : mapping of int to mapping
        For each code length everything that its model and codes depend on, JSON-able: hasher, code, seed, options
        and the digests of the inputs. An earlier model is returned only if it was made of the same.
    """
    models, codes = earlier(models), earlier(codes)
    if not (models.exists() and codes.exists()):
        return {}
    try:
        recorded = [storage.read_passport(path)["fits"] for path in (models, codes)]
        # In both: a job that was killed between the two files leaves an older one.
        same = [n for n, own in made_of.items() if all(fits.get(str(n), {}).get("made_of") == own for fits in recorded)]
        learned, packed = (storage.grouped(storage.read(path)) for path in (models, codes)) if same else ({}, {})
    except (ProtocolError, KeyError) as error:
        _log.info("the models of an earlier run can't be kept: %s", error)
        return {}
    _log.info("kept from an earlier run: models of %s bits", ", ".join(map(str, same)) or "no")
    return {n: Stored(recorded[0][str(n)], learned[str(n)], packed[str(n)]) for n in same}


def earlier(path: str | Path) -> Path:
    """Return the second name of a file, under which it stays when Snakemake deletes the first to run the job again."""
    return Path(f"{path}.earlier")


def trained(
    hasher: Callable[..., Hasher],
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
    hasher : type of Hasher
    made_of, kept : mapping
        As of `unchanged`; ``made_of`` has each code length's ``seed`` and ``options``.
    training : TrainingSet
    blocks : mapping of str to iterable of ndarray of float32, shape (n_block, d)
        The vectors to encode: ``query``, and ``items``, which may be of the database's modality.
    checkpoint : callable
        Returns the path of a code length's checkpoint, as `checkpoints` gives it.
    """
    models = {}
    for n_bits in sorted(made_of.keys() - kept.keys()):
        _log.info("training at %d bits", n_bits)
        model = hasher(n_bits=n_bits, seed=made_of[n_bits]["seed"], **made_of[n_bits]["options"])
        models[n_bits] = model.fit(training, checkpoint=checkpoint(n_bits))
    codes = {part: packed_codes(models, own, of_database=part == "items") for part, own in blocks.items() if models}
    found = dict(kept)
    for n_bits, model in models.items():
        of_length = {part: packed[n_bits] for part, packed in codes.items()}
        found[n_bits] = Stored({"made_of": made_of[n_bits], **model.fit_record_}, model.to_arrays(), of_length)
    return dict(sorted(found.items()))


def write_stored(
    models: str | Path,
    codes: str | Path,
    stored: Mapping[int, Stored],
    image: NDArray[np.int64],
    passport: Mapping[str, Any],
) -> None:
    """Write the files of models and codes, each with a second name that outlasts the first.

    Parameters
    ----------
    models, codes : path
    stored : mapping of int to Stored
        By code length.
    image : ndarray of int64, shape (n_items,)
        The image that each encoded item comes from.
    passport : mapping
    """
    learned = {n_bits: own.model for n_bits, own in stored.items()}
    packed = {n_bits: own.codes for n_bits, own in stored.items()} | {"image": image}
    for path, arrays in ((models, learned), (codes, packed)):
        storage.write(path, storage.flattened(arrays), passport)
        _keep(path)


def _keep(path: str | Path) -> None:
    """Give a finished file its second name. It takes no space where the file system has hard links, else a copy's."""
    with storage.replacing(earlier(path)) as temporary:
        temporary.unlink()
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)
