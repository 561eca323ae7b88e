"""GRH: codes that are smoothed over a graph of related rows, and learned by a support vector machine for each bit."""

from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import number
from protocol.hashers import THRESHOLDS, Affinities, LinearHasher, TrainingSet
from protocol.hashers.itq import ITQ
from protocol.hashers.lsh import LSH
from protocol.registry import Count, HasherRecord, Positive, choice

_STARTS = {"itq": ITQ, "lsh": LSH}
_STEPS = 100  # upper limit for the gradient method, which takes about 30
_TOLERANCE = 1e-3  # of the norm of the preconditioned gradient, relative to that at zero

Floats = NDArray[np.floating]


@HasherRecord.declared
class GRH(LinearHasher):
    r"""Graph regularised hashing: related rows get similar codes, and linear functions learn these codes.

    From codes L_0 in {-1, 1}^(n x n_bits) of LSH or ITQ, repeated n_iter times: ``L = sign(alpha D^-1 S L + (1 - alpha)
    L_0)``, with S the adjacency matrix of the training rows and D its row sums; then, for every bit, the maximum-margin
    hyperplane that separates the rows by their bit is found, and L becomes the sides of the rows. The last hyperplanes
    give ``bit_j(x) = [w_j . (x - mean) > t_j]``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1; at most the number of features if the initial codes come from ITQ.
    seed : int, default 0
        Seed of the initial codes.
    start : {"lsh", "itq"}, default "lsh"
        The hasher of the initial codes, with its default options, on centred rows.
    alpha : float, default 0.9
        Weight of the neighbours' codes, relative to the initial codes, from 0 to 1. Up to 0.5, codes never change.
    n_iter : int, default 3
        Number of iterations, at least 1.
    regularisation : float, default 0.02
        Weight of half the squared norm of a hyperplane's normal, relative to the mean loss; above 0. It refers to
        features scaled to a root mean square of 1.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The w_j as columns.
    threshold_ : ndarray of float32, shape (n_bits,)
        The t_j.
    fit_record_ : dict
        For each iteration, ``changed``, the share of bits that the graph changed, and ``learned``, the share of bits
        that the hyperplanes reproduced.

    Raises
    ------
    ProtocolError
        In fit, if affinities are missing, of another size, or relate no pair, or if `start` is ITQ and n_bits exceeds
        the number of features.

    Notes
    -----
    Affinities are either class labels, one or several per row, in which case rows that share a label are neighbours, or
    levels of pairs, in which case pairs with a level above 0 are neighbours. The adjacency matrix of labels is never
    computed, because sums over neighbours are sums over classes. A row without neighbours keeps its initial code.

    References
    ----------
    Moran, Lavrenko, *Graph Regularised Hashing*, ECIR 2015. Moran, *Learning to Hash for Large Scale Image Retrieval*,
    thesis, 2016, chapter 6.

    Examples
    --------
    Two classes that differ in the second feature:

    >>> X = [[2.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-2.0, -1.0]]
    >>> codes = GRH(n_bits=4, alpha=1.0).fit(X, [0, 0, 1, 1]).transform(X)
    >>> bool((codes[0] == codes[1]).all() and (codes[2] == codes[3]).all())
    True
    """

    supervision = "affinities"
    learned = THRESHOLDS

    start: Annotated[str, choice(*_STARTS)] = "lsh"
    alpha: Annotated[float, partial(number, maximum=1)] = 0.9
    n_iter: Count = 3
    regularisation: Positive = 0.02

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        rows = (training.X - training.mean) / np.float32(training.scale)
        first = _STARTS[self.start](n_bits=self.n_bits, seed=self.seed).fit(rows).transform(rows)
        first = codes = np.where(first, np.float32(1), np.float32(-1))
        machines = Machines(rows, self.regularisation)
        record: dict[str, list[float]] = {"changed": [], "learned": []}
        for _ in range(self.n_iter):
            smooth = smoothed(codes, first, training.affinities, self.alpha)
            record["changed"].append(round(float((smooth != codes).mean()), 6))
            w, t = machines.planes(smooth)
            codes = np.where(rows @ w > t, np.float32(1), np.float32(-1))
            record["learned"].append(round(float((smooth == codes).mean()), 6))
        self.mean_, self.projection_, self.threshold_ = training.mean, w / np.float32(training.scale), t
        return record


def smoothed(codes: Floats, first: Floats, affinities: Affinities, alpha: float) -> Floats:
    """Return ``sign(alpha D^-1 S codes + (1 - alpha) first)``, shape (n, n_bits); ties do not change a bit."""
    degree = affinities.sums(np.ones((len(codes), 1), dtype=np.float32))
    mean = affinities.sums(codes) / np.maximum(degree, 1)
    value = alpha * mean + (1 - alpha) * first
    return np.where(value == 0, codes, np.sign(value)).astype(codes.dtype)


class Machines:
    """Linear support vector machines with squared hinge loss over the same rows, one for each bit.

    Minimises ``regularisation / 2 ||w||^2 + mean_i max(0, 1 - l_i (w . x_i - t))^2`` by Nesterov's accelerated gradient
    method. It is preconditioned by the Hessian for the case that every row is within the margin, which is an upper
    bound of all others; the condition number is therefore determined by the share of such rows.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
        Rows with mean 0.
    regularisation : float
        Weight of the squared norm, above 0.
    """

    def __init__(self, rows: NDArray[np.float32], regularisation: float) -> None:
        self._rows, self._regularisation = rows, regularisation
        n, d = rows.shape
        hessian = 2 * (rows.T @ rows).astype(np.float64) / n
        hessian[np.diag_indices(d)] += regularisation
        self._inverse = np.linalg.inv(hessian).astype(np.float32)

    def planes(self, codes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the normals (d, n_bits) and thresholds (n_bits,) for codes (n, n_bits) of -1 and 1.

        The normal is 0 for a bit that is equal for all rows.
        """
        n, n_bits = codes.shape
        w, t = np.zeros((self._rows.shape[1], n_bits), dtype=np.float32), -codes.mean(axis=0)
        v, s, momentum, first = w, t, 1.0, 0.0
        for step in range(_STEPS):
            short = np.maximum(1 - codes * (self._rows @ v - s), 0) * codes
            by_w = self._inverse @ (self._regularisation * v - 2 / np.float32(n) * (self._rows.T @ short))
            by_t = short.mean(axis=0)  # its second derivative is at most 2
            length = float(np.sqrt((by_w**2).sum() + (by_t**2).sum()))
            first = first or length
            before, w, t = (w, t), v - by_w, s - by_t
            if length <= _TOLERANCE * first or step == _STEPS - 1:
                break
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight = np.float32((momentum - 1) / following)
            v, s, momentum = w + weight * (w - before[0]), t + weight * (t - before[1]), following
        return w, t
