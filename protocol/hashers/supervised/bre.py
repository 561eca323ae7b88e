"""BRE: kernel functions whose Hamming distances reconstruct given distances, optimised one weight at a time."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.supervised.base import AnchorHasher, Floats, Learned, labelled
from protocol.hashers.training_set import TrainingSet
from protocol.registry import Count, HasherRecord, at_least

_TOLERANCE = 4e-5  # of the mean square error: half its sum over 50,000 pairs changes by 1, as in the released code

Rows = NDArray[np.int64]


@HasherRecord.declared
class BRE(AnchorHasher):
    r"""Binary reconstructive embedding: relative Hamming distances approach 0 for related rows and 1 for others.

    ``min sum_(i, j) (d_ij - dist(h(x_i), h(x_j)) / n_bits)^2`` over random pairs, with ``d = 0`` for related rows and 1
    for others, and ``h_b(x) = [sum_q W_qb phi_q(x) > 0]`` of anchor kernels phi, of which each bit uses a random
    subset. In each pass, one random weight of every bit moves to its best value, which is found exactly: each row
    changes its bit at one value of the weight, so n + 1 intervals have to be compared.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the anchors, the labelled rows, their pairs, and the initial and the optimised weights.
    n_anchors : int, default 300
        Number of anchors, at least 1; if there are fewer training rows, some are used more than once.
    width : float, default 1
        Width of the kernel, above 0; 1 is the root mean square distance between training rows and anchors.
    n_labelled : int, default 5000
        Number of random training rows whose pairs are used for learning, at least 2; all rows if there are fewer.
    anchors_per_bit : int, default 50
        Number of anchors in each function, at least 1; all anchors if there are fewer.
    n_pairs : int, default 50
        Number of random pairs of each row, at least 1.
    n_iter : int, default 100
        Largest number of passes over all bits, at least 1; a fit ends earlier if the objective hardly changes.

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
        ``n_labelled``, and ``objective``: the mean square error of the pairs before the first and after every pass.

    Raises
    ------
    ProtocolError
        In fit, if affinities are missing, of another size, or relate no pair, or no pair of the labelled rows.

    References
    ----------
    Kulis, Darrell, *Learning to Hash with Binary Reconstructive Embeddings*, NIPS 2009, section 2.

    Examples
    --------
    No pass makes the objective worse:

    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> record = BRE(n_bits=8).fit(rows, (rows > 0) @ [1, 2, 4]).fit_record_
    >>> bool((np.diff(record["objective"]) <= 0).all())
    True
    """

    supervision = "affinities"

    n_labelled: Annotated[int, at_least(2)] = 5000
    anchors_per_bit: Count = 50
    n_pairs: Count = 50
    n_iter: Count = 100

    def _functions(self, K: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> Learned:
        K, affinities = labelled(K, training.affinities, self.n_labelled, rng)
        n, m = K.shape
        i = np.repeat(np.arange(n), self.n_pairs)
        j = (i + rng.integers(1, n, len(i))) % n
        target = np.where(affinities.among(np.arange(n))[i, j] > 0, 0.0, 1.0)
        used = [rng.permutation(m)[: self.anchors_per_bit] for _ in range(self.n_bits)]
        A = np.zeros((m, self.n_bits))
        for b, anchors in enumerate(used):
            A[anchors, b] = rng.standard_normal(len(anchors))
        values = K.astype(np.float64) @ A

        def differ(v: Floats) -> Floats:
            bits = v > 0
            return (bits[i] != bits[j]) / self.n_bits

        error = sum(differ(v) for v in values.T) - target
        objective = [float(np.mean(error**2))]
        for _ in range(self.n_iter):
            for b, anchors in enumerate(used):
                q, v = rng.choice(anchors), values[:, b]
                error -= differ(v)
                # The squared error of a pair is linear in whether its bits differ, because that is 0 or 1.
                change = best_change(v, K[:, q].astype(np.float64), i, j, 2 * error + 1 / self.n_bits)
                A[q, b] += change
                v += change * K[:, q]
                error += differ(v)
            objective.append(float(np.mean(error**2)))
            if objective[-2] - objective[-1] <= _TOLERANCE:
                break
        return A, np.zeros(self.n_bits), {"n_labelled": n, "objective": [round(value, 6) for value in objective]}


def best_change(v: Floats, k: Floats, i: Rows, j: Rows, cost: Floats) -> float:
    """Return the c for which the bits ``v + c k > 0`` minimise the sum of `cost` over pairs with different bits.

    Parameters
    ----------
    v : ndarray of float64, shape (n,)
        Values of the function at each row.
    k : ndarray of float64, shape (n,)
        Change of these values per unit of the weight.
    i : ndarray of int64, shape (n_pairs,)
        The first row of each pair.
    j : ndarray of int64, shape (n_pairs,)
        The second row of each pair.
    cost : ndarray of float64, shape (n_pairs,)

    Examples
    --------
    The first two rows should differ, and the last two should not:

    >>> v, k = np.array([1.0, 2.0, 3.0]), np.ones(3)
    >>> best_change(v, k, np.array([0, 1]), np.array([1, 2]), np.array([-1.0, 1.0]))
    -1.5
    """
    n, moves = len(v), k != 0
    changes = np.full(n, np.inf)  # where a row's bit changes, for growing c
    np.divide(-v, k, out=changes, where=moves)
    order, n_changes = np.argsort(changes, kind="stable"), int(moves.sum())
    if not n_changes:
        return 0.0
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    lowest = np.where(moves, k < 0, v > 0)  # the bits for c below all changes
    gain = np.where(lowest[i] != lowest[j], -cost, cost)  # while one row of the pair has changed, but not the other
    first, last = position[i], position[j]
    first, last = np.minimum(first, last) + 1, np.maximum(first, last) + 1
    total = np.cumsum(np.bincount(first, gain, n + 2) - np.bincount(last, gain, n + 2))[: n_changes + 1]
    thresholds = changes[order[:n_changes]]
    total[1:-1][np.diff(thresholds) <= 0] = np.inf  # no c lies between equal values
    margin = (thresholds[-1] - thresholds[0]) / n_changes or 1.0
    middles = (thresholds[1:] + thresholds[:-1]) / 2
    return float([thresholds[0] - margin, *middles, thresholds[-1] + margin][total.argmin()])
