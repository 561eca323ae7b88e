"""TALR-NDCG: linear hash functions that maximise tie-aware NDCG, from graded affinities."""

from protocol.hashers.talr.base import TALR
from protocol.hashers.talr.objectives import NDCG
from protocol.registry import HasherRecord


@HasherRecord.declared
class TALRNDCG(TALR):
    """Tie-aware learning to rank for NDCG, with each row as a query to the rest of its minibatch.

    Parameters, attributes and errors are as for `TALRAP`, but relevance levels v have gains 2^v - 1, and the
    objective is the mean NDCG: ``relaxation="simplified"`` is its lower bound DCG_s (eq. 66), ``"integral"`` is DCG_r
    (eq. 12), both divided by the largest DCG in the minibatch.

    Notes
    -----
    Functions use 32 principal components because the highest levels, which have the largest weights, have few pairs, so
    that overfitting is easy: on CIFAR-10's GIST, functions of all 512 components gain less over ITQ at every code
    length.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, CVPR 2018, sections 3, 4 and 5.3.

    Examples
    --------
    With labels, the level is the number of shared labels:

    >>> X = [[2.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-2.0, -1.0]]
    >>> codes = TALRNDCG(n_bits=1).fit(X, [0, 0, 1, 1]).transform(X)
    >>> bool(codes[0] == codes[1] != codes[2] == codes[3])
    True
    """

    supervision = "affinities"
    metric = NDCG
    components = 32
