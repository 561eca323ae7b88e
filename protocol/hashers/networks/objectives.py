"""The objectives that neural hashers minimise, as pure functions of the real-valued codes and shared labels of a batch.

Every objective is a mean over the unordered pairs of a batch. Codes are tensors (n, k). `shared` (n, n) is the number
of labels that two items share: 0 means dissimilar, and a pair of the same class, and thus the same superclass, has 2.
PyTorch computes the gradients.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_REGULARISER = 0.01
"""alpha of deep supervised hashing, from the paper that introduced it (Liu et al. 2016); the mLGAP paper has no value.
"""


def shared_labels(labels: "Tensor") -> "Tensor":
    """Return the number of labels that two items share, int64 (n, n), from classes (n,) or a 0/1 matrix (n, n_classes).

    Examples
    --------
    >>> import pytest
    >>> torch = pytest.importorskip("torch", reason="torch is not installed")
    >>> shared_labels(torch.tensor([[1, 1, 0], [1, 0, 1], [0, 0, 1]])).tolist()
    [[2, 1, 0], [1, 2, 1], [0, 1, 1]]
    """
    if labels.ndim == 1:
        return (labels[:, None] == labels).long()
    indicator = labels.float()  # exact for counts; GPUs have no product of integer matrices
    return (indicator @ indicator.T).round().long()


def squared(codes: "Tensor", shared: "Tensor", *, m: float = 0.0) -> "Tensor":
    r"""Return the squared loss of RAMAP's paper, eq. 4 with m = 0, and J(H; m).

    .. math:: \frac{1}{|S^+|} \sum_{S^+} (m - d_{kl})^2 + \frac{1}{|S^-|} \sum_{S^-} (Q - d_{kl})^2,
        \quad d_{kl} = (Q - h_k \cdot h_l) / 2

    Parameters
    ----------
    codes : Tensor, shape (n, Q)
        In [-1, 1]; for corners, d is the Hamming distance.
    shared : Tensor, shape (n, n)
    m : float, default 0
        The distance to which similar pairs are drawn.

    Notes
    -----
    The two lines of eq. 4 differ: the first divides both sums by the number of all pairs, the second divides each sum
    by its own number of pairs. We use the second, on which J(H; m) is based. S+ does not contain pairs of an item with
    itself. If a batch has no pairs of one kind, the sum over that kind is 0.
    """
    k = codes.shape[1]
    distance = (k - codes @ codes.T) / 2
    similar, dissimilar = off_diagonal(shared > 0), shared == 0
    pull = ((m - distance) ** 2 * similar).sum() / similar.sum().clamp(min=1)
    return pull + ((k - distance) ** 2 * dissimilar).sum() / dissimilar.sum().clamp(min=1)


def contrastive(codes: "Tensor", shared: "Tensor", *, margin: float) -> "Tensor":
    r"""Return the loss of deep supervised hashing: eq. 16 of mLGAP's paper.

    .. math:: \tfrac12 (1 - y) \|b_1 - b_2\|_2^2 + \tfrac12 y \max(m - \|b_1 - b_2\|_2^2, 0)
        + \alpha (\| |b_1| - 1 \|_1 + \| |b_2| - 1 \|_1)

    Parameters
    ----------
    codes : Tensor, shape (n, k)
        Unbounded; the last term draws them to the corners.
    shared : Tensor, shape (n, n)
    margin : float
        m; for corners, the squared distance is four times the Hamming distance, so m = 2 k requires dissimilar pairs to
        differ in k / 2 bits.

    Notes
    -----
    Eq. 19 prints ``||b_1 - 1||`` twice, which would draw every code to all ones. Deep supervised hashing, the source of
    this objective, has ``|| |b| - 1 ||`` for both items, which we use.
    """
    gram = codes @ codes.T
    norm = gram.diagonal()
    distance = (norm[:, None] + norm - 2 * gram).clamp(min=0)
    attracted, repelled = (shared > 0) * distance, (shared == 0) * (margin - distance).clamp(min=0)
    return mean_over_pairs((attracted + repelled) / 2) + _to_corners(codes)


def buffered(codes: "Tensor", shared: "Tensor", *, zones: Mapping[int, tuple[float, float]], margin: float) -> "Tensor":
    r"""Return the buffer zone's loss: eq. 20 of mLGAP's paper with one zone, eq. 25 with two.

    .. math:: \tfrac12 \max(r_1 - \delta, 0) + \tfrac12 \max(\delta - r_2, 0) \text{ of similar pairs, }
        \tfrac12 \max(m - \delta, 0) \text{ of others, } \delta = \|b_1 - b_2\|_1

    plus the term of `contrastive` that draws codes to the corners.

    Parameters
    ----------
    codes : Tensor, shape (n, k)
    shared : Tensor, shape (n, n)
    zones : mapping of int to (float, float)
        For each number of shared labels, r_1 and r_2: pairs with distances between them have no loss.
    margin : float
        m; for corners, the L1 distance is twice the Hamming distance, so m = 2 k requires dissimilar pairs to differ in
        every bit, and m = k in half of them.

    Notes
    -----
    Eq. 25 as printed draws a pair of the same class both to the zone of the class and to that of the superclass, which
    only have the distance r_2 = r_3 in common. Here, each pair has one zone, determined by its number of shared labels.
    """
    import torch

    distance = torch.cdist(codes, codes, p=1)
    loss = (shared == 0) * (margin - distance).clamp(min=0)
    for n_shared, (nearest, farthest) in zones.items():
        outside = (nearest - distance).clamp(min=0) + (distance - farthest).clamp(min=0)
        loss = loss + (shared == n_shared) * outside
    return mean_over_pairs(loss / 2) + _to_corners(codes)


def off_diagonal(pairs: "Tensor") -> "Tensor":
    """Return the boolean matrix without the pairs of an item with itself."""
    return pairs & ~pairs.new_ones(len(pairs)).diag()


def mean_over_pairs(loss: "Tensor") -> "Tensor":
    """Return the mean of a symmetric matrix over pairs of different items."""
    n = len(loss)
    return (loss.sum() - loss.diagonal().sum()) / (n * (n - 1))


def _to_corners(codes: "Tensor") -> "Tensor":
    """Return the mean of the regulariser over pairs; each item is in the same number of pairs."""
    return 2 * _REGULARISER * (codes.abs() - 1).abs().sum(dim=1).mean()


def quantisation(outputs: "Tensor") -> "Tensor":
    """Return the mean over the items of ``||u - sign(u)||^2``."""
    return (outputs.abs() - 1).square().sum(dim=1).mean()
