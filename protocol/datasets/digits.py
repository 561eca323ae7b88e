"""Digits: 1,797 handwritten digits of 8 x 8 pixels, bundled with scikit-learn; nothing is downloaded."""

import numpy as np

from protocol.datasets import Data, Paths
from protocol.registry import DatasetRecord


@DatasetRecord.declared
def load(paths: Paths) -> Data:
    """Handwritten digits: 1,797 grey images of 8 x 8 pixels, in 10 classes; for a quick experiment without a download.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: there are no files.

    Returns
    -------
    Data
        Grey images, uint8, shape (1797, 8, 8), labels, int64, and ids ``digit-0000`` ..., in scikit-learn's order.

    Notes
    -----
    The source counts the inked pixels in blocks of 4 x 4, so its values are 0 to 16. They are scaled to 0 to 255:
    round(value * 255 / 16).
    """
    from sklearn.datasets import load_digits

    counts, labels = load_digits(return_X_y=True)
    images = np.rint(counts.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    ids = np.array([f"digit-{number:04d}" for number in range(len(images))])
    notes = ("The pixel values, 0 to 16 in the source, are scaled to 0 to 255.",)
    return Data(ids, labels.astype(np.int64), tuple("0123456789"), images, notes=notes)
