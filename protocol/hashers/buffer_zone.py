"""The buffer zone: similar pairs close, but not on one code, so that codes are spread."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from protocol.checks import ProtocolError
from protocol.hashers._network_hasher import NO_PRETRAINING, NetworkHasher
from protocol.hashers._objectives import buffered
from protocol.hashers._training import TrainingSet
from protocol.registry import HasherRecord

if TYPE_CHECKING:
    from torch import Tensor


@HasherRecord(
    "buffer_zone",
    source="Mean Local Group Average Precision, eq. 20-24 (one level of labels) and eq. 25-31 (two)",
    deviations=f"{NO_PRETRAINING}The regulariser is || |b| - 1 || of both items, where eq. 24 and 31 print ||b_1 - 1|| "
    "twice. The margin is m = 2k as printed, which under the L1 norm asks dissimilar pairs to differ in every bit, not "
    "in half of them as the text says. Eq. 25 as printed puts pairs of one class into two zones at once; here into "
    "that of the class. The mean over pairs in place of the sum; alpha = 0.01, which the paper does not say.",
    bits_within_features=False,
    random=True,
    extra="learned",
)
class BufferZone(NetworkHasher):
    """The buffer zone: deep supervised hashing whose similar pairs are drawn to a range of distances, not to zero.

    With the L1 distance in place of the squared one: ``1/2 max(r_1 - d, 0) + 1/2 max(d - r_2, 0)`` of similar pairs,
    ``1/2 max(2 n_bits - d, 0)`` of others, and ``0.01 || |b| - 1 ||_1`` of every item. One label a row: r_1 = n_bits/6
    and r_2 = n_bits/3. Two, a class and its superclass, as 0/1 columns (CIFAR-100): n_bits/12 and n_bits/6 of one
    class, n_bits/6 and n_bits/3 of one superclass alone. ``bit_j(x) = [b_j(x) >= 0]``; the rate falls by 40 % after
    every fifth of the epochs. Parameters and attributes are those of `NetworkHasher`.

    Raises
    ------
    ProtocolError
        In fit, if rows have several labels, but not two each.

    Notes
    -----
    Of corners the L1 distance is twice the Hamming distance: similar pairs are to be n_bits / 12 to n_bits / 6 bits
    apart, and all n_bits the others, which no three classes can be: their loss never vanishes.

    References
    ----------
    *Mean Local Group Average Precision*, section 5.2, eq. 20-31, and 5.3.
    """

    decay = (0.6, 5)
    margin: ClassVar[float] = 2
    """m as a multiple of n_bits."""
    zones: ClassVar = {1: {1: (1 / 6, 1 / 3)}, 2: {2: (1 / 12, 1 / 6), 1: (1 / 6, 1 / 3)}}
    """By how many labels every row has, and how many of them a pair shares: r_1 and r_2 as parts of n_bits."""

    def _check_supervision(self, training: TrainingSet) -> None:
        super()._check_supervision(training)
        y = training.labels
        per_row = np.unique(y.sum(axis=1)) if y.ndim == 2 else np.ones(1)
        if len(per_row) > 1 or per_row[0] not in self.zones:
            raise ProtocolError(
                "BufferZone needs labels: wanted one for every row (a class) or two (a class and its superclass), came "
                f"rows with {' and '.join(str(n) for n in per_row[:3])}"
            )

    def _loss(self, outputs: "Tensor", shared: "Tensor", epoch: int) -> "Tensor":
        ranges = self.zones[int(shared[0, 0])]  # what an item shares with itself is all the labels it has
        zones = {n_shared: (self.n_bits * near, self.n_bits * far) for n_shared, (near, far) in ranges.items()}
        return buffered(outputs, shared, zones=zones, margin=self.margin * self.n_bits)
