"""What the learned hashers minimise: pure functions of the real-valued codes of a batch and of what its items share.

Every objective is a mean over the unordered pairs of a batch. Codes are tensors (n, k); `shared` (n, n) counts the
labels that two items share: 0 is dissimilar, and a pair of one class and so of one superclass has 2. Gradients are
PyTorch's automatic ones.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_REGULARISER = 0.01
"""alpha of deep supervised hashing, from the paper that introduced it (Liu et al. 2016); mLGAP's names no value."""


def shared_labels(labels: "Tensor") -> "Tensor":
    """Return how many labels two items share, int64 (n, n), from classes (n,) or an indicator (n, n_classes).

    Examples
    --------
    >>> import pytest
    >>> torch = pytest.importorskip("torch", reason="torch is not installed")
    >>> shared_labels(torch.tensor([[1, 1, 0], [1, 0, 1], [0, 0, 1]])).tolist()
    [[2, 1, 0], [1, 2, 1], [0, 1, 1]]
    """
    if labels.ndim == 1:
        return (labels[:, None] == labels).long()
    indicator = labels.float()  # exact for counts, and unlike integers a product that a GPU has
    return (indicator @ indicator.T).round().long()


def squared(codes: "Tensor", shared: "Tensor", *, m: float = 0.0) -> "Tensor":
    r"""Return the squared loss of RAMAP's paper, eq. 4 with m = 0, and J(H; m).

    .. math:: \frac{1}{|S^+|} \sum_{S^+} (m - d_{kl})^2 + \frac{1}{|S^-|} \sum_{S^-} (Q - d_{kl})^2,
        \quad d_{kl} = (Q - h_k \cdot h_l) / 2

    Parameters
    ----------
    codes : Tensor, shape (n, Q)
        In [-1, 1]: of corners d is the Hamming distance.
    shared : Tensor, shape (n, n)
    m : float, default 0
        The distance that similar pairs are pulled to.

    Notes
    -----
    The two lines of eq. 4 differ: the first divides both sums by the number of all pairs, the second each by its own.
    It is the second here, which J(H; m) builds on. S+ has no pair of an item with itself, as its sum has none; without
    pairs of a kind, a batch's sum of that kind is 0.
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
        m: of corners the squared distance is four times the Hamming distance, so m = 2 k requires dissimilar pairs to
        be k / 2 bits apart.

    Notes
    -----
    Eq. 19 prints ``||b_1 - 1||`` twice. Deep supervised hashing, whose objective it is, has ``|| |b| - 1 ||`` of both
    items, and as printed the term would draw every code to all ones; so that is what stands here.
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
        Of pairs that share so many labels, r_1 and r_2: the distances between which nothing draws them.
    margin : float
        m: of corners the L1 distance is twice the Hamming distance, so m = 2 k requires dissimilar pairs to differ in
        every bit, m = k in half of them.

    Notes
    -----
    Eq. 25 as printed draws a pair of one class into the zone of the class and into that of the superclass, which
    have only the distance r_2 = r_3 in common. Here each pair has one zone, by how many labels it shares.
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
    """Return the regulariser's mean over pairs, of which each item is in equally many."""
    return 2 * _REGULARISER * (codes.abs() - 1).abs().sum(dim=1).mean()


def quantisation(outputs: "Tensor") -> "Tensor":
    """Return the mean over the items of ``||u - sign(u)||^2``."""
    return (outputs.abs() - 1).square().sum(dim=1).mean()
