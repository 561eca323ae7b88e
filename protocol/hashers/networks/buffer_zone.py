"""The buffer zone: codes of similar pairs are close but not equal, so that codes are spread."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from protocol.checks import ProtocolError
from protocol.hashers.networks.base import NetworkHasher, Tensor, pair_mean, shared_labels
from protocol.hashers.networks.deep_supervised import to_corners
from protocol.hashers.training_set import TrainingSet
from protocol.registry import NetworkRecord, Positive


@NetworkRecord.declared
class BufferZone(NetworkHasher):
    """The buffer zone: deep supervised hashing in which similar pairs are pulled to a range of distances, not to zero.

    With the L1 distance instead of the squared distance, the loss is ``1/2 max(r_1 - d, 0) + 1/2 max(d - r_2, 0)`` for
    similar pairs, ``1/2 max(m - d, 0)`` for others, and ``0.01 || |b| - 1 ||_1`` for every item. ``bit_j(x) = [b_j(x)
    >= 0]``; all layers start as in `NetworkHasher`, and the learning rate falls by 40 % after every fifth of the
    epochs. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    margin : float, default 2
        m as a multiple of n_bits, above 0. The paper sets "m = 2k to encourage dissimilar images at least k/2 apart",
        which is contradictory under the L1 distance. For binary codes, it is twice the Hamming distance, so 2
        (m = 2k, as printed) requires dissimilar pairs to differ in all k bits, and 1 (m = k) in k/2 of them, as in the
        text. 2k and k/2 agree under the squared L2 distance of deep supervised hashing.

    Raises
    ------
    ProtocolError
        In fit, if rows have not all one label, or all two: a class and its superclass, as 0/1 columns.

    Notes
    -----
    For binary codes, the L1 distance is twice the Hamming distance. By default, similar pairs are therefore pulled to
    n_bits / 12 to n_bits / 6 bits, and all others to n_bits, which is impossible for three or more classes: the loss
    never vanishes. With a margin of 1 it can vanish: for example, Hadamard codes of up to 2 n_bits classes differ in at
    least n_bits / 2 bits.

    References
    ----------
    *Mean Local Group Average Precision*, section 5.2, eq. 20-31, and 5.3.
    """

    decay = (0.6, 5)
    PAPER_ZONES: ClassVar = {1: ((1 / 6, 1 / 3),), 2: ((1 / 6, 1 / 3), (1 / 12, 1 / 6))}
    """r_1 and r_2 over n_bits for each number of shared labels from 1, by the number of labels that every row has."""

    margin: Positive = 2

    def _check_supervision(self, training: TrainingSet) -> None:
        super()._check_supervision(training)
        y = training.labels
        per_row = np.unique(y.sum(axis=1)).tolist() if y.ndim == 2 else [1]
        if per_row not in ([1], [2]):
            required, numbers = "1 or 2 labels per item, the same number for all items", map(str, per_row[:3])
            raise ProtocolError(f"BufferZone requires {required}, got items with {' and '.join(numbers)}.")

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        shared = shared_labels(labels)
        zones = self.PAPER_ZONES[int(shared[0, 0])]  # an item shares all its labels with itself
        scaled = {n: (self.n_bits * near, self.n_bits * far) for n, (near, far) in enumerate(zones, start=1)}
        return buffered(outputs, shared, zones=scaled, margin=self.margin * self.n_bits)


def buffered(codes: Tensor, shared: Tensor, *, zones: Mapping[int, tuple[float, float]], margin: float) -> Tensor:
    r"""Return the buffer zone's loss: eq. 20 of mLGAP's paper with one zone, eq. 25 with two.

    .. math:: \tfrac12 \max(r_1 - \delta, 0) + \tfrac12 \max(\delta - r_2, 0) \text{ of similar pairs, }
        \tfrac12 \max(m - \delta, 0) \text{ of others, } \delta = \|b_1 - b_2\|_1

    plus the term of `contrastive` that pulls codes towards {-1, +1}^k.

    Parameters
    ----------
    codes : Tensor, shape (n, k)
    shared : Tensor, shape (n, n)
    zones : mapping of int to (float, float)
        For each number of shared labels, r_1 and r_2: pairs with distances between them have no loss.
    margin : float
        m; for binary codes, the L1 distance is twice the Hamming distance, so m = 2 k requires dissimilar pairs to
        differ in every bit, and m = k in half of them.

    Notes
    -----
    Eq. 25 as printed pulls a pair of the same class both to the zone of the class and to that of the superclass, which
    only have the distance r_2 = r_3 in common. Here, each pair has one zone, determined by its number of shared labels.
    """
    import torch

    distance = torch.cdist(codes, codes, p=1)
    loss = (shared == 0) * (margin - distance).clamp(min=0)
    for n_shared, (nearest, farthest) in zones.items():
        outside = (nearest - distance).clamp(min=0) + (distance - farthest).clamp(min=0)
        loss = loss + (shared == n_shared) * outside
    return pair_mean(loss / 2) + to_corners(codes)
