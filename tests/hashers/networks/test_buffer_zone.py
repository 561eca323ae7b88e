"""The buffer zone: the number of labels, and its zones."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError
from protocol.hashers.networks.buffer_zone import BufferZone

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 4, 240)
X = (RNG.normal(size=(4, 10))[Y] + 0.3 * RNG.normal(size=(240, 10))).astype(np.float32)


@pytest.mark.parametrize(
    ("first", "others", "numbers"), [([0, 0, 0, 0], 0, "0 and 1"), ([1, 1, 0, 0], 0, "1 and 2"), ([0, 1, 1, 1], 1, "3")]
)
def test_odd_numbers_of_labels_are_refused(first, others, numbers):
    labels = np.eye(4, dtype=int)[Y] ^ others
    labels[0] = first
    message = "BufferZone requires 1 or 2 labels per item, the same number for all items, got items with "
    with pytest.raises(ProtocolError, match=f"{message}{numbers}[.]$"):
        BufferZone(8).fit(X, labels)
