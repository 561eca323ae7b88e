"""TALR-AP: linear hash functions that maximise tie-aware average precision, from class labels."""

from protocol.hashers.talr.base import TALR
from protocol.hashers.talr.objectives import AP
from protocol.registry import HasherRecord


@HasherRecord.declared
class TALRAP(TALR):
    r"""Tie-aware learning to rank for AP, with each row as a query to the rest of its minibatch.

    Linear functions ``bit_j(x) = [w_j . (x - mean) > t_j]`` with relaxed bits ``tanh(alpha (w_j . (x - mean) - t_j))``
    maximise the mean AP of soft Hamming distances ``(b - phi . phi') / 2``; rows that share a label are relevant to
    each other.

    Parameters
    ----------
    n_bits : int, default 32
        Code length b, from 1 to the number of features.
    seed : int, default 0
        Seed of the initial functions and of the minibatches.
    relaxation : {"simplified", "integral"}, default "simplified"
        AP_s (eq. 62) or AP_r (eq. 11); see `protocol.hashers.talr.objectives`.
    alpha : float, default 1
        Scale of tanh at the first step, above 0. Initially, a function has unit variance over the training rows, or
        less if n_components is below n_bits.
    growth : float, default 1
        Total factor by which alpha grows during training, geometrically; 1 keeps it constant.
    n_steps : int, default 400
        Number of minibatches, at least 1.
    batch_size : int, default 256
        Number of rows in a minibatch, at least 2; all rows if there are fewer.
    learning_rate : float, default 0.1
        Learning rate of the first step, above 0; it falls to zero along half a cosine. It refers to features scaled to
        a root mean square of 1.
    n_components : int or None, default None
        The w_j are combinations of this many leading principal components of the training rows, or of all if there are
        fewer. None means all components in `TALRAP`, and 32 in `TALRNDCG`.
    start : {"itq", "random"}, default "itq"
        The initial functions: those of ITQ, scaled to unit variance over the training rows; or, as in the authors'
        code, random weights of variance 2 / d, for d features scaled to a root mean square of 1.
    rate_over_alpha : bool, default False
        Whether the gradient of each step is divided by alpha, so that steps do not grow with alpha.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The w_j as columns.
    threshold_ : ndarray of float32, shape (n_bits,)
        The t_j.
    fit_record_ : dict
        ``objective``: the mean objective of the minibatches in each of twenty equal parts of the training.

    Raises
    ------
    ProtocolError
        In fit, if labels are missing, of another length or all equal, no two rows share a label, n_bits exceeds the
        number of features, or the objective is not finite at some step, which the message gives.

    Notes
    -----
    We use plain momentum because its result does not depend on the basis of the features. With Adam it does: on
    CIFAR-10's GIST, Adam was equally good in the original basis, and worse by 0.015 mAP in that of the principal
    components.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, CVPR 2018, sections 3 and 4, appendices E, F.

    Examples
    --------
    One bit distinguishes two classes that differ in the second, smaller feature:

    >>> X = [[2.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-2.0, -1.0]]
    >>> codes = TALRAP(n_bits=1).fit(X, [0, 0, 1, 1]).transform(X)
    >>> bool(codes[0] == codes[1] != codes[2] == codes[3])
    True
    """

    supervision = "labels"
    metric = AP
    components = None
