"""TALR-AP as the objective of a network: maximises tie-aware average precision."""

from typing import Annotated, ClassVar

import numpy as np

from protocol.hashers.networks.base import NetworkHasher, Tensor, shared_labels
from protocol.hashers.talr.objectives import AP, Metric, mean_objective
from protocol.registry import NetworkRecord, Positive, choice


@NetworkRecord.declared
class TALRAPNetwork(NetworkHasher):
    """TALR-AP as a network: every row of a minibatch queries the others, and the mean tie-aware AP is maximised.

    Soft Hamming distances are ``(n_bits - h . h') / 2`` of codes ``h = tanh(alpha g(x))``, and rows that share a label
    are relevant to each other. All layers start as in `NetworkHasher`, as the hash layer does in the authors' code. The
    learning rate is constant. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    relaxation : {"simplified", "integral"}, default "simplified"
        AP_s (eq. 62) or AP_r (eq. 11), as in `TALRAP`, whose functions are linear.
    alpha : float, default 1
        Scale of tanh, above 0.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, CVPR 2018, sections 3, 4 and 5.
    github.com/kunhe/TALR.
    """

    metric: ClassVar[Metric] = AP

    relaxation: Annotated[str, choice("simplified", "integral")] = "simplified"
    alpha: Positive = 1

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        codes = (self.alpha * outputs).tanh()
        levels = shared_labels(labels).cpu().numpy()
        np.fill_diagonal(levels, 0)
        fixed, objective = codes.detach(), self.metric.objectives[self.relaxation]
        value, gradient = mean_objective(fixed.double().cpu().numpy(), *self.metric.gains(levels), objective)
        # A linear function with this value and gradient, through which PyTorch differentiates the network.
        return -(value + (codes.new_tensor(gradient) * (codes - fixed)).sum())
