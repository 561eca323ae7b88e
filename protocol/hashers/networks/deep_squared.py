"""Deep squared hashing: similar pairs get equal codes, dissimilar pairs codes that are as far apart as possible."""

from typing import ClassVar

from protocol.hashers.networks.base import NetworkHasher, Tensor, distinct, mean_of, shared_labels
from protocol.registry import NetworkRecord


@NetworkRecord.declared
class DeepSquared(NetworkHasher):
    """Deep squared hashing: a network that pulls similar pairs to distance 0 and pushes others to distance n_bits.

    The loss is ``mean over S+ of d^2 + mean over S- of (n_bits - d)^2``, with ``d = (n_bits - h_k . h_l) / 2`` for the
    codes ``h = tanh(beta g(x))`` of a minibatch. beta is 1 in the first epoch and 7.35 in the last, and grows by the
    same factor every epoch. All layers start as in `NetworkHasher`, and the learning rate is halved for the second
    half, as in the paper. Parameters and attributes are as for `NetworkHasher`.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.2, eq. 4, and section 5.1.
    """

    decay = (0.5, 2)
    margin: ClassVar[float] = 0.0
    """The distance to which similar pairs are pulled."""
    beta_growth: ClassVar[float] = 1.005
    """The factor by which beta grows in each of the paper's 400 epochs."""

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        beta = (self.beta_growth**400) ** (epoch / max(1, self.epochs - 1))
        return squared((beta * outputs).tanh(), shared_labels(labels), m=self.margin)


def squared(codes: Tensor, shared: Tensor, *, m: float = 0.0) -> Tensor:
    r"""Return the squared loss of RAMAP's paper, eq. 4 with m = 0, and J(H; m).

    .. math:: \frac{1}{|S^+|} \sum_{S^+} (m - d_{kl})^2 + \frac{1}{|S^-|} \sum_{S^-} (Q - d_{kl})^2,
        \quad d_{kl} = (Q - h_k \cdot h_l) / 2

    Parameters
    ----------
    codes : Tensor, shape (n, Q)
        In [-1, 1]; for binary codes, d is the Hamming distance.
    shared : Tensor, shape (n, n)
    m : float, default 0
        The distance to which similar pairs are pulled.

    Notes
    -----
    The two lines of eq. 4 differ: the first divides both sums by the number of all pairs, the second divides each sum
    by its own number of pairs. We use the second, on which J(H; m) is based. S+ does not contain pairs of an item with
    itself. If a batch has no pairs of one kind, the sum over that kind is 0.
    """
    k = codes.shape[1]
    distance = (k - codes @ codes.T) / 2
    return mean_of((m - distance) ** 2, distinct(shared > 0)) + mean_of((k - distance) ** 2, shared == 0)
