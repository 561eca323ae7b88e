"""TALR-NDCG: linear hash functions that maximise tie-aware NDCG, from graded affinities."""

from protocol.hashers.ranking.base import TALR
from protocol.hashers.ranking.objectives import dcg_r, dcg_s, graded_gains
from protocol.registry import HasherRecord, Iterations


@HasherRecord(
    "talr_ndcg",
    printed="TALR-NDCG",
    source="He, Cakir, Bargal and Sclaroff 2018, Hashing as Tie-Aware Learning to Rank, section 4, eq. 12 and 66",
    deviations="As talr_ap, but functions are of 32 principal components. Gains are not cut to 8 bits, and a query "
    "without a relevant row is left out of the mean.",
    bits_within_features=True,
    random=True,
    iterations=Iterations(option="n_steps", ms=5),
)
class TALRNDCG(TALR):
    """Tie-aware learning to rank for NDCG: every training row queries the rest of its minibatch.

    As `TALRAP`, with parameters, attributes and errors of the same names, but for levels of relevance v with gains
    2^v - 1: the objective is the mean NDCG, ``relaxation="simplified"`` its lower bound DCG_s (eq. 66), ``"integral"``
    DCG_r (eq. 12), both divided by the largest DCG in the minibatch.

    Notes
    -----
    Functions are of 32 principal components because the highest levels, which weigh most, have few pairs, and these
    are easily learned by heart: on CIFAR-10's GIST, functions of all 512 gain less over ITQ at every length.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, CVPR 2018, sections 3, 4 and 5.3.

    Examples
    --------
    Labels are affinities too, by how many are shared.

    >>> X = [[2.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-2.0, -1.0]]
    >>> codes = TALRNDCG(n_bits=1).fit(X, [0, 0, 1, 1]).transform(X)
    >>> bool(codes[0] == codes[1] != codes[2] == codes[3])
    True
    """

    supervision = "affinities"
    objectives = {"simplified": dcg_s, "integral": dcg_r}
    components = 32
    _gains = staticmethod(graded_gains)
