"""DTSH: maximises the likelihood of triplets, in which an item is nearer to a similar item than to another one."""

from protocol.hashers.networks.base import NetworkHasher, Tensor, distinct, mean_of, quantisation, shared_labels
from protocol.registry import NetworkRecord, NotNegative


@NetworkRecord.declared
class DTSH(NetworkHasher):
    """Deep triplet-supervised hashing: a network whose items are nearer to similar items than to others, by a margin.

    With ``theta_kl = u_k . u_l / 2`` of the outputs u, a triplet of a query q, a similar item p and a dissimilar one n
    is in order with probability ``sigmoid(theta_qp - theta_qn - margin n_bits)``. The loss is the mean negative
    log-likelihood of all triplets, plus quantisation times the mean of ``||u - sign(u)||^2``. The hash layer starts
    with weights of standard deviation 0.01, as in the authors' code. The learning rate is constant. Parameters and
    attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    margin : float, default 0.5
        alpha as a multiple of n_bits, at least 0. For binary codes, theta_qp - theta_qn is the number of bits by which
        p is nearer than n.
    quantisation : float, default 0.0044
        Weight of the quantisation term, at least 0.

    References
    ----------
    Wang, Shi, Kitani, *Deep Supervised Hashing with Triplet Labels*, ACCV 2016, section 3. github.com/Minione/DTSH.
    """

    hash_layer_deviation = 0.01

    margin: NotNegative = 0.5
    quantisation: NotNegative = 0.0044

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        ordered = triplet(outputs, shared_labels(labels), margin=self.margin * self.n_bits)
        return ordered + self.quantisation * quantisation(outputs)


def triplet(outputs: Tensor, shared: Tensor, *, margin: float) -> Tensor:
    r"""Return the mean negative log-likelihood of a minibatch's triplets; 0 if there are none.

    .. math:: -\log \sigma(\theta_{qp} - \theta_{qn} - \alpha), \quad \theta_{kl} = u_k \cdot u_l / 2

    Parameters
    ----------
    outputs : Tensor, shape (n, k)
        u, unbounded.
    shared : Tensor, shape (n, n)
        The number of labels that two rows share; q and p share some, q and n share none.
    margin : float
        alpha.
    """
    from torch.nn.functional import softplus

    theta = outputs @ outputs.T / 2
    query, similar = distinct(shared > 0).nonzero(as_tuple=True)
    return mean_of(softplus(margin + theta[query] - theta[query, similar][:, None]), shared[query] == 0)
