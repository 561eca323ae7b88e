"""The files of models and codes: training and encoding at the code lengths that can't be reused from an earlier run."""

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.training_set import TrainingSet
from protocol.provenance import storage
from protocol.provenance.reuse import Earlier, keep

_log = logging.getLogger(__name__)


class Stored(NamedTuple):
    """The record of the fit, the arrays of the model, and the packed codes of one code length."""

    fit: Mapping[str, Any]
    model: Mapping[str, NDArray]
    codes: Mapping[str, NDArray]


def trained(
    hasher: Callable[..., Hasher],
    made_of: Mapping[int, Mapping[str, Any]],
    training: TrainingSet,
    blocks: Mapping[str, Iterable[NDArray[np.float32]]],
    *,
    earlier: Mapping[int, Earlier],
    checkpoint: Callable[[int], Path],
) -> dict[int, Stored]:
    """Train and encode at every code length that is not reused; return the content to store for each code length.

    Parameters
    ----------
    hasher : type of Hasher
    made_of, earlier : mapping
        As for `protocol.provenance.reuse.unchanged`; ``made_of`` contains the ``seed`` and ``options`` of each code
        length.
    training : TrainingSet
    blocks : mapping of str to iterable of ndarray of float32, shape (n_block, d)
        The vectors to encode: ``query``, and ``items``, which have the modality of the database.
    checkpoint : callable
        The function from `checkpoints`, which returns the path of the checkpoint for a code length.
    """
    models = {}
    for n_bits in sorted(made_of.keys() - earlier.keys()):
        _log.info("training at %d bits", n_bits)
        model = hasher(n_bits=n_bits, seed=made_of[n_bits]["seed"], **made_of[n_bits]["options"])
        models[n_bits] = model.fit(training, checkpoint=checkpoint(n_bits))
    codes = {
        part: packed_codes(models, of_part, of_database=part == "items") for part, of_part in blocks.items() if models
    }
    found = {n_bits: Stored(reused.fit, *reused.arrays) for n_bits, reused in earlier.items()}
    for n_bits, model in models.items():
        of_length = {part: packed[n_bits] for part, packed in codes.items()}
        found[n_bits] = Stored({"made_of": made_of[n_bits], **model.fit_record_}, model.to_arrays(), of_length)
    return dict(sorted(found.items()))


def write_stored(
    models: str | Path,
    codes: str | Path,
    stored: Mapping[int, Stored],
    image: NDArray[np.int64],
    provenance: Mapping[str, Any],
) -> None:
    """Write the files of models and codes, each with a second name for later runs (`protocol.provenance.reuse`).

    Parameters
    ----------
    models, codes : path
    stored : mapping of int to Stored
        The content for each code length.
    image : ndarray of int64, shape (n_items,)
        The image from which each encoded item comes.
    provenance : mapping
    """
    learned = {n_bits: content.model for n_bits, content in stored.items()}
    packed = {n_bits: content.codes for n_bits, content in stored.items()} | {"image": image}
    for path, arrays in ((models, learned), (codes, packed)):
        storage.write(path, storage.flattened(arrays), provenance)
        keep(path)
