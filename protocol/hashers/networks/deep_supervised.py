"""Deep supervised hashing: similar pairs get close codes, dissimilar pairs codes that differ in half of the bits."""

from protocol.hashers.networks.base import NetworkHasher, Tensor, pair_mean, shared_labels
from protocol.registry import NetworkRecord

_REGULARISER = 0.01
"""alpha of deep supervised hashing, from the paper that introduced it (Liu et al. 2016); the mLGAP paper has no value.
"""


@NetworkRecord.declared
class DeepSupervised(NetworkHasher):
    """Deep supervised hashing: a network whose codes are close for similar pairs and beyond a margin for others.

    The loss is ``1/2 ||b_1 - b_2||^2`` for similar pairs, ``1/2 max(2 n_bits - ||b_1 - b_2||^2, 0)`` for others, and
    ``0.01 || |b| - 1 ||_1`` for every item; for binary codes, the margin is n_bits / 2 bits. ``bit_j(x) = [b_j(x) >=
    0]``; all layers start as in `NetworkHasher`, and the learning rate falls by 40 % after every fifth of the epochs.
    Parameters and attributes are as for `NetworkHasher`.

    References
    ----------
    *Mean Local Group Average Precision*, section 5.2, eq. 16-19, and 5.3. Liu, Wang, Shan, Chen, *Deep Supervised
    Hashing for Fast Image Retrieval*, CVPR 2016.
    """

    decay = (0.6, 5)

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        return contrastive(outputs, shared_labels(labels), margin=2 * self.n_bits)


def contrastive(codes: Tensor, shared: Tensor, *, margin: float) -> Tensor:
    r"""Return the loss of deep supervised hashing: eq. 16 of mLGAP's paper.

    .. math:: \tfrac12 (1 - y) \|b_1 - b_2\|_2^2 + \tfrac12 y \max(m - \|b_1 - b_2\|_2^2, 0)
        + \alpha (\| |b_1| - 1 \|_1 + \| |b_2| - 1 \|_1)

    Parameters
    ----------
    codes : Tensor, shape (n, k)
        Unbounded; the last term pulls codes towards {-1, +1}^k.
    shared : Tensor, shape (n, n)
    margin : float
        m; for binary codes, the squared distance is four times the Hamming distance, so m = 2 k requires dissimilar
        pairs to differ in k / 2 bits.

    Notes
    -----
    Eq. 19 as printed has ``||b_1 - 1||`` twice, which would pull every code to all ones. Deep supervised hashing, the
    source of this objective, has ``|| |b| - 1 ||`` for both items, which we use.
    """
    gram = codes @ codes.T
    norm = gram.diagonal()
    distance = (norm[:, None] + norm - 2 * gram).clamp(min=0)
    attracted, repelled = (shared > 0) * distance, (shared == 0) * (margin - distance).clamp(min=0)
    return pair_mean((attracted + repelled) / 2) + to_corners(codes)


def to_corners(codes: Tensor) -> Tensor:
    """Return the mean of the regulariser over pairs; each item is in the same number of pairs."""
    return 2 * _REGULARISER * (codes.abs() - 1).abs().sum(dim=1).mean()
