"""HashNet: weighted pairwise likelihood of codes that become binary during training."""

import math

from protocol.checks import ProtocolError
from protocol.hashers.networks.base import NetworkHasher, Tensor, distinct, mean_of, shared_labels
from protocol.registry import NetworkRecord, Positive


@NetworkRecord.declared
class HashNet(NetworkHasher):
    """HashNet: a network trained by weighted pairwise likelihood, with a tanh that approaches the sign.

    With codes ``h = tanh(beta g(x))``, pairs are similar with probability ``sigmoid(alpha / n_bits h_k . h_l)``. The
    loss is the negative log-likelihood. Its weights give similar and dissimilar pairs equal shares; if rows have
    several labels, a similar pair counts by the Jaccard index of its labels. beta grows from 1 in the first epoch, as
    the square root of a linear function. The hash layer starts with weights of standard deviation 0.01, as in the
    authors' code. The learning rate is constant. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    alpha : float, default 10
        Scale of the sigmoid times n_bits, above 0.
    beta : float, default 7.14
        Scale of tanh in the last epoch, at least 1.

    References
    ----------
    Cao, Long, Wang, Yu, *HashNet: Deep Learning to Hash by Continuation*, ICCV 2017, section 3.
    github.com/thuml/HashNet.
    """

    hash_layer_deviation = 0.01

    alpha: Positive = 10
    beta: Positive = 7.14

    def _check(self) -> None:
        if self.beta < 1:
            raise ProtocolError(f"beta: expected a number >= 1, got {self.beta}.")

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        beta = math.sqrt(1 + (self.beta**2 - 1) * epoch / max(1, self.epochs - 1))
        return weighted_pairwise((beta * outputs).tanh(), shared_labels(labels), alpha=self.alpha / self.n_bits)


def weighted_pairwise(codes: Tensor, shared: Tensor, *, alpha: float) -> Tensor:
    r"""Return the weighted mean negative log-likelihood of a minibatch's pairs.

    .. math:: \frac{1}{|S|} \sum_{S} w_{kl} \left[ \log(1 + e^{\alpha h_k \cdot h_l}) - \alpha s_{kl} h_k \cdot h_l
        \right], \quad w_{kl} = c_{kl} |S| / |S_1| \text{ of similar pairs, } |S| / |S_0| \text{ of others}

    Parameters
    ----------
    codes : Tensor, shape (n, k)
        h, in [-1, 1].
    shared : Tensor, shape (n, n)
        The number of labels that two rows share. c is this number divided by the number of labels that either row has,
        which is 1 for single labels.
    alpha : float

    Notes
    -----
    Pairs of a row with itself are excluded. If there are no pairs of one kind, the sum over that kind is 0.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits

    similar = distinct(shared > 0)
    loss = binary_cross_entropy_with_logits(alpha * codes @ codes.T, similar.to(codes), reduction="none")
    n_labels = shared.diagonal()
    jaccard = shared.to(codes) / (n_labels[:, None] + n_labels - shared).clamp(min=1)
    return mean_of(loss * jaccard, similar) + mean_of(loss, shared == 0)
