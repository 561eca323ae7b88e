"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in 10 classes, read straight from the official binary archive."""

import numpy as np

from protocol.datasets import Data, Paths
from protocol.datasets._archives import read_archive
from protocol.registry import DatasetRecord

ARCHIVE = "cifar-10-binary.tar.gz"
TRAIN = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
TEST = "test_batch"


@DatasetRecord.declared
def load(paths: Paths) -> Data:
    """CIFAR-10: 60,000 colour images of 32 x 32 pixels, in 10 classes of 6,000.

    Parameters
    ----------
    paths : mapping of str to Path
        Path of ``cifar-10-binary.tar.gz``.

    Returns
    -------
    Data
        Images, uint8, shape (60000, 32, 32, 3), and labels, int64: the training batches 1 to 5, then the test batch,
        each in the archive's order, with ids such as ``data_batch_1/00000`` and ``test_batch/09999``. Partitions
        ``train`` and ``test``.

    Raises
    ------
    ProtocolError
        If the archive is damaged or lacks a file, or a file has the wrong size or a label without a name.

    Notes
    -----
    The loader reads the binary version, because the Python version contains pickles, which can run code when loaded.
    It checks the format; the download has verified the checksum.
    """
    records = read_archive(paths[ARCHIVE], (*TRAIN, TEST), ["batches.meta.txt"])
    parts = {"train": np.concatenate([records.rows[batch] for batch in TRAIN]), "test": records.rows[TEST]}
    return Data(records.ids, records.labels[:, 0], records.names[0], records.images, partitions=parts)
