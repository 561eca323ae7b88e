"""LabelMe-22K: GIST vectors of 22,019 images, from the MATLAB file that is commonly distributed; no labels."""

import numpy as np

from protocol.datasets import Data, Paths
from protocol.inputs.arrays import as_integers, read_array
from protocol.registry import DatasetRecord

FILE = "LabelMe_gist.mat"


@DatasetRecord.declared
def load(paths: Paths) -> Data:
    """LabelMe-22K: 512-d GIST of 22,019 images, without class labels.

    Parameters
    ----------
    paths : mapping of str to Path
        Path of ``LabelMe_gist.mat``, in MATLAB's format 5 or 7.3.

    Returns
    -------
    Data
        Vectors ``gist``, float32, shape (22019, 512), ids ``labelme-00000`` ... in the file's order, and partitions
        ``train`` and ``test``.

    Raises
    ------
    ProtocolError
        If the file is damaged, or lacks ``gist``, ``ndxtrain`` or ``ndxtest``.

    Notes
    -----
    Only these three variables are read: ``DistLM``, the semantic distances of all pairs, would take gigabytes of
    memory.
    """
    path = paths[FILE]
    gist = read_array(f"{path}:gist").astype(np.float32)
    parts = {part: read_array(f"{path}:ndx{part}").ravel() for part in ("train", "test")}
    ids = np.array([f"labelme-{row:05d}" for row in range(len(gist))])
    # MATLAB counts from 1.
    partitions = {part: as_integers(rows, f"{path}: ndx{part}") - 1 for part, rows in parts.items()}
    return Data(ids, vectors={"gist": gist}, partitions=partitions)
