"""SIFT1M: 1,110,000 local SIFT descriptors with 128 dimensions, from the TEXMEX corpus; each one is an item."""

from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.datasets import Data, Paths
from protocol.datasets._archives import members
from protocol.inputs.formats import read_blocks
from protocol.registry import DatasetRecord

ARCHIVE = "sift.tar.gz"
PARTS = ("base", "learn", "query")
_LARGEST = 255


def _bytes(stream: IO[bytes], name: str) -> Iterator[NDArray[np.uint8]]:
    """Yield the descriptors of a file as bytes, block by block; refuse values that can't be represented as bytes."""
    for block in read_blocks(stream, name):
        fits = (block >= 0) & (block <= _LARGEST) & (np.trunc(block) == block)
        if not fits.all():
            raise ProtocolError(f"{name}: expected integers from 0 to {_LARGEST}, got {block[~fits][0]}.")
        yield block.astype(np.uint8)


@DatasetRecord.declared
def load(paths: Paths) -> Data:
    """SIFT1M: local SIFT descriptors, 1,000,000 in the database, 100,000 for training, 10,000 queries; no labels.

    Parameters
    ----------
    paths : mapping of str to Path
        Path of ``sift.tar.gz``.

    Returns
    -------
    Data
        Vectors ``sift``, uint8, shape (1110000, 128): first ``base``, then ``learn``, then ``query``, which are also
        the partitions; ids such as ``base/0000000``.

    Raises
    ------
    ProtocolError
        If the archive is damaged or lacks a file, or a file contains anything other than SIFT descriptors.

    Notes
    -----
    The files store integers up to 255 as float32; as bytes they take a quarter of the memory, and nothing is lost. The
    nearest neighbours in the archive, ``sift_groundtruth.ivecs``, are not read, because the pipeline computes its own
    ground truths.
    """
    names, archive = {f"sift_{part}.fvecs": part for part in PARTS}, paths[ARCHIVE]
    with members(archive, names) as files:
        vectors = {names[file]: np.concatenate([*_bytes(stream, f"{archive}: {file}")]) for file, stream in files}
    widths = {part: vectors[part].shape[1] for part in PARTS}
    if len(set(widths.values())) > 1:
        raise ProtocolError(f"{archive}: the dimensions of its files differ: {widths}.")
    bounds = np.cumsum([0, *(len(vectors[part]) for part in PARTS)])
    return Data(
        np.array([f"{part}/{row:07d}" for part in PARTS for row in range(len(vectors[part]))]),
        vectors={"sift": np.concatenate([vectors.pop(part) for part in PARTS])},
        partitions={part: np.arange(*bounds[i : i + 2]) for i, part in enumerate(PARTS)},
    )
