"""DPSH: maximises the likelihood of pairwise labels, given the inner products of codes."""

from protocol.hashers.networks.base import NetworkHasher, Tensor, pair_mean, quantisation, shared_labels
from protocol.registry import NetworkRecord, NotNegative


@NetworkRecord.declared
class DPSH(NetworkHasher):
    """Deep pairwise-supervised hashing: a network whose inner products predict which pairs share a label.

    With ``theta = u_k . u_l / 2`` of the outputs u, pairs are similar with probability sigmoid(theta). The loss is the
    mean negative log-likelihood of all pairs, plus quantisation times the mean of ``||u - sign(u)||^2``. The hash layer
    starts with weights of standard deviation 0.01, as in the authors' code; larger ones saturate the likelihood, since
    theta grows with n_bits. The learning rate is constant. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    quantisation : float, default 0.01
        Weight of the quantisation term, at least 0.

    References
    ----------
    Li, Wang, Kang, *Feature Learning based Deep Supervised Hashing with Pairwise Labels*, IJCAI 2016, section 3.
    """

    hash_layer_deviation = 0.01

    quantisation: NotNegative = 0.01

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        return pairwise(outputs, shared_labels(labels)) + self.quantisation * quantisation(outputs)


def pairwise(outputs: Tensor, shared: Tensor) -> Tensor:
    r"""Return the mean negative log-likelihood of a minibatch's pairs.

    .. math:: \log(1 + e^{\theta_{kl}}) - s_{kl} \theta_{kl}, \quad \theta_{kl} = u_k \cdot u_l / 2

    Parameters
    ----------
    outputs : Tensor, shape (n, k)
        u, unbounded.
    shared : Tensor, shape (n, n)
        The number of labels that two rows share; s is 1 if there are any.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits

    theta, similar = outputs @ outputs.T / 2, (shared > 0).to(outputs)
    return pair_mean(binary_cross_entropy_with_logits(theta, similar, reduction="none"))
