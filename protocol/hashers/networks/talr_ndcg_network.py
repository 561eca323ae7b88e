"""TALR-NDCG as the objective of a network: maximises tie-aware NDCG by the number of shared labels."""

from protocol.hashers.networks.talr_ap_network import TALRAPNetwork
from protocol.hashers.talr.objectives import NDCG
from protocol.registry import NetworkRecord


@NetworkRecord.declared
class TALRNDCGNetwork(TALRAPNetwork):
    """TALR-NDCG as a network: every row of a minibatch queries the others, and the mean tie-aware NDCG is maximised.

    Parameters and attributes are as for `TALRAPNetwork`, but the level v of a pair is its number of shared labels,
    with the gain 2^v - 1: ``relaxation="simplified"`` is the lower bound DCG_s (eq. 66), ``"integral"`` is DCG_r
    (eq. 12), both divided by the largest DCG in the minibatch.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, CVPR 2018, sections 3, 4 and 5.3.
    """

    metric = NDCG
