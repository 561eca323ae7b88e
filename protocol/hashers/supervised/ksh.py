"""KSH: kernel functions that are learned bit by bit, each to fit the residue of the similarities."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.supervised.base import AnchorHasher, Floats, Learned, gram_matrix, labelled
from protocol.hashers.training_set import TrainingSet
from protocol.registry import Count, HasherRecord, at_least

_RIDGE = 1e-6
"""Added to the diagonal of the Gram matrix, in units of its mean, because repeated anchors make the matrix singular."""
_WHITENING_RIDGE = 0.1
"""The same for the coordinates of the gradient method: without it, 1,000 labelled rows are overfitted."""


@HasherRecord.declared
class KSH(AnchorHasher):
    r"""Supervised hashing with kernels: greedy bits whose inner products approach the similarity of pairs.

    ``min ||H H' - n_bits S||_F^2`` with ``H = sign(K A)``: S is 1 for related rows and -1 for others, and K the centred
    Gaussian kernel of the labelled rows with the anchors. Bit k maximises ``h' R h`` with the residue
    ``R = n_bits S - (products of previous bits)``: first with the relaxation to the largest generalised eigenvector of
    ``K' R K a = lambda K' K a``, then by gradients with ``2 / (1 + exp(-K a)) - 1`` instead of the sign. The better of
    the two results is used.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the anchors and of the labelled rows.
    n_anchors : int, default 300
        Number of anchors, at least 1; if there are fewer training rows, some are used more than once.
    width : float, default 1
        Width of the kernel, above 0; 1 is the root mean square distance between training rows and anchors.
    n_labelled : int, default 5000
        Number of random training rows whose pairs are used for learning, at least 2; all rows if there are fewer.
    n_iter : int, default 50
        Number of iterations of L-BFGS per bit, at least 1.

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
        Thresholds of the bits, shape (n_bits,): 0, because the kernel is centred.
    fit_record_ : dict
        ``n_labelled``; ``spectral``, the number of bits from the eigenvector, because gradients gave no improvement;
        and ``residue``, the mean square of the entries of ``S - H H' / n_bits``.

    Raises
    ------
    ProtocolError
        In fit, if affinities are missing, of another size, or relate no pair, or no pair of the labelled rows.

    Notes
    -----
    Affinities are either class labels, one or several per row, in which case rows that share a label are related, or
    levels of pairs, in which case pairs with a level above 0 are related. All other pairs are unrelated: the paper's
    third kind, pairs of unknown relation, is not supported. S is never computed, because its products with vectors are
    sums over classes or over stored pairs.

    References
    ----------
    Liu, Wang, Ji, Jiang, Chang, *Supervised Hashing with Kernels*, CVPR 2012, sections 2 and 3.

    Examples
    --------
    Two classes, the second on both sides of the first:

    >>> X = [[-2.0], [-1.9], [0.0], [0.1], [2.0], [2.1]]
    >>> codes = KSH(n_bits=2, width=0.5).fit(X, [1, 1, 0, 0, 1, 1]).transform(X)
    >>> bool((codes[:2] == codes[4:]).all() and (codes[2] != codes[0]).any())
    True
    """

    supervision = "affinities"

    n_labelled: Annotated[int, at_least(2)] = 5000
    n_iter: Count = 50

    def _functions(self, K: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> Learned:
        from scipy.linalg import eigh

        K, affinities = labelled(K, training.affinities, self.n_labelled, rng)
        (n, m), n_bits, similarity = K.shape, self.n_bits, affinities.signed_sums  # the product of S and columns (n, k)
        mean_square = float(np.einsum("ij,ij->", K, K, dtype=np.float64)) / m
        gram = gram_matrix(K, _RIDGE * mean_square or 1.0)
        factor = np.linalg.cholesky(gram_matrix(K, _WHITENING_RIDGE * mean_square or 1.0) / n)
        from_white = np.linalg.inv(factor).T
        white = (K @ from_white).astype(np.float32)
        left = n_bits * (K.T @ similarity(K))  # K' R K
        A, H, n_spectral = np.zeros((m, n_bits)), np.zeros((n, n_bits)), 0
        for k in range(n_bits):
            before = H[:, :k]  # the bits of the rows as -1 and 1

            def product(b: Floats, before: Floats = before) -> Floats:
                return n_bits * similarity(b[:, None])[:, 0] - before @ (before.T @ b)

            _, vectors = eigh((left + left.T) / 2, gram, subset_by_index=[m - 1, m - 1])
            spectral = vectors[:, 0] * np.sqrt(n)  # a' gram a = 1
            spectral *= np.sign(spectral[np.abs(spectral).argmax()])
            candidates = [spectral, from_white @ _maximised(white, product, factor.T @ spectral, self.n_iter)]
            signs = [np.where(_times(K, a) > 0, 1.0, -1.0) for a in candidates]
            values = [float(h @ product(h)) for h in signs]
            best = int(values[1] > values[0])
            n_spectral += 1 - best
            A[:, k], H[:, k] = candidates[best], signs[best]
            projected = _times(K.T, signs[best])
            left -= np.outer(projected, projected)
        record = {"n_labelled": n, "spectral": n_spectral, "residue": round(residue(H, similarity), 6)}
        return A, np.zeros(n_bits), record


def _maximised(K: NDArray[np.float32], product: Callable[[Floats], Floats], start: Floats, n_iter: int) -> Floats:
    """Return a that maximises ``b' R b`` of the smooth bits ``b = 2 / (1 + exp(-K a)) - 1`` (eq. 14 and 15)."""
    from scipy.optimize import minimize

    scale = float(len(K)) ** 2

    def objective(a: Floats) -> tuple[float, Floats]:
        b = np.tanh(_times(K, a) / 2)
        Rb = product(b)
        return -float(b @ Rb) / scale, -_times(K.T, Rb * (1 - b**2)) / scale

    return minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": n_iter}).x


def _times(K: NDArray[np.float32], v: Floats) -> Floats:
    """Return a product in the precision of K, because converting K would take longer than the product."""
    return (K @ v.astype(np.float32)).astype(np.float64)


def residue(H: Floats, similarity: Callable[[Floats], Floats]) -> float:
    """Return the mean square of the entries of ``S - H H' / n_bits``, whose S has entries of -1 and 1."""
    n, n_bits = H.shape
    inner = H.T @ H
    return float(1 - 2 * np.sum(H * similarity(H)) / (n_bits * n**2) + np.sum(inner**2) / (n_bits * n) ** 2)
