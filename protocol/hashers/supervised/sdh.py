"""SDH: discrete codes that predict labels linearly, optimised bit by bit, and kernel functions that fit these codes."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.supervised.base import AnchorHasher, Floats, Learned, gram_matrix
from protocol.hashers.training_set import TrainingSet
from protocol.registry import Count, HasherRecord, NotNegative, Positive

_ROUNDS = 10  # passes over all bits in one step of the codes, which ends earlier if no bit changes
_RIDGE = 1e-2  # in the regression of the functions, as in the released code


@HasherRecord.declared
class SDH(AnchorHasher):
    r"""Supervised discrete hashing: codes that predict labels linearly, without a relaxation of the bits.

    ``min ||Y - B W||_F^2 + lambda ||W||_F^2 + nu ||B - F(X)||_F^2`` over B in {-1, 1}^(n x n_bits), W and the
    functions ``F(x) = P' phi(x) + c`` of an anchor kernel map. P and W are found by regression. B is optimised one bit
    at a time, for all rows, given the other bits (discrete cyclic coordinate descent): ``z = sign(q - B' W' w)``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the anchors and of the initial codes.
    n_anchors : int, default 1000
        Number of anchors, at least 1; if there are fewer training rows, some are used more than once.
    width : float, default 1
        Width of the kernel, above 0; 1 is the root mean square distance between training rows and anchors.
    regularisation : float, default 1
        The paper's lambda: weight of the squared norm of W, above 0.
    nu : float, default 1e-5
        Weight of the distance between codes and functions, at least 0.
    n_iter : int, default 5
        Number of iterations of all three steps, at least 1.

    Attributes
    ----------
    anchors_ : ndarray of float32
        Anchors of the kernel map, see `AnchorHasher`.
    width_ : ndarray of float32
        Widths of the kernel.
    offset_ : ndarray of float32
        Offsets, for which the mean of the kernel map over the training rows is 0.
    projection_ : ndarray of float32
        Weights of the anchors in the function of each bit.
    threshold_ : ndarray of float32
        Thresholds of the bits, shape (n_bits,): -c.
    fit_record_ : dict
        ``objective`` after each iteration, divided by n, and ``agreement``, the share of bits of B that the functions
        reproduce.

    Raises
    ------
    ProtocolError
        In fit, if labels are missing, of another length or all equal.

    Notes
    -----
    Y is 1 where a row has the label and 0 elsewhere; a row may have several.

    References
    ----------
    Shen, Shen, Liu, Tao Shen, *Supervised Discrete Hashing*, CVPR 2015, section 2.

    Examples
    --------
    Every iteration lowers the objective:

    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> record = SDH(n_bits=8).fit(rows, (rows > 0) @ [1, 2, 4]).fit_record_
    >>> bool((np.diff(record["objective"]) <= 0).all())
    True
    """

    supervision = "labels"

    n_anchors: Count = 1000
    regularisation: Positive = 1.0
    nu: NotNegative = 1e-5
    n_iter: Count = 5

    def _functions(self, K: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> Learned:
        Y = training.memberships.astype(np.float32)
        B = np.where(rng.random((len(K), self.n_bits)) < 0.5, np.float32(1), np.float32(-1))
        gram = gram_matrix(K, _RIDGE)
        objective = []
        for _ in range(self.n_iter):
            P, c = _functions_of(B, K, gram)
            W = np.linalg.solve(B.T @ B + self.regularisation * np.eye(self.n_bits), B.T @ Y)
            F = K @ P.astype(np.float32) + c.astype(np.float32)
            B = discrete_codes(B, Y @ W.T.astype(np.float32) + np.float32(self.nu) * F, W)
            parts = (Y - B @ W, np.sqrt(self.regularisation) * W, np.sqrt(self.nu) * (B - F))
            objective.append(round(sum(float((part**2).sum(dtype=np.float64)) for part in parts) / len(K), 6))
        P, c = _functions_of(B, K, gram)
        agreement = float(((K @ P.astype(np.float32) > -c) == (B > 0)).mean())
        return P, -c, {"objective": objective, "agreement": round(agreement, 6)}


def _functions_of(B: Floats, K: NDArray[np.float32], gram: Floats) -> tuple[Floats, Floats]:
    """Return P and c of the regression of codes on the kernel map, whose columns have a mean of 0."""
    return np.linalg.solve(gram, K.T @ B), B.mean(axis=0, dtype=np.float64)


def discrete_codes(B: Floats, Q: Floats, W: Floats) -> Floats:
    """Return codes that lower ``||B W||_F^2 - 2 tr(B' Q)``, bit by bit, until no bit changes or for 10 passes.

    Parameters
    ----------
    B : ndarray of float, shape (n, n_bits)
        The initial codes, -1 and 1.
    Q : ndarray of float, shape (n, n_bits)
        ``Y W' + nu F``.
    W : ndarray of float, shape (n_bits, n_classes)

    Returns
    -------
    ndarray of float, shape (n, n_bits)
    """
    B, products = B.copy(), (W @ W.T).astype(B.dtype)
    others = products - np.diag(np.diag(products))
    for _ in range(_ROUNDS):
        changed = False
        for k in range(B.shape[1]):
            best = Q[:, k] - B @ others[:, k]
            z = np.where(best == 0, B[:, k], np.sign(best))
            changed |= bool((z != B[:, k]).any())
            B[:, k] = z
        if not changed:
            break
    return B
