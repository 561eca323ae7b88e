"""FastHash: bits inferred from similarities one after the other, each learned by boosted decision trees."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need
from protocol.hashers import Hasher, TrainingSet
from protocol.hashers.supervised.ksh import residue
from protocol.registry import Count, HasherRecord, Positive

_ROUNDS = 5  # passes over all blocks in the inference of a bit, which ends earlier if no block changes
_BINS = 31  # of a feature, between which trees split

Floats = NDArray[np.floating]


@HasherRecord.declared
class FastHash(Hasher):
    r"""Fast supervised hashing: two steps for each bit, inference of the bit and boosted decision trees that learn it.

    ``min ||H H' - n_bits S||_F^2``, where S is 1 for related rows and -1 for others. Bit k is the z in {-1, 1}^n with a
    large ``z' R z``, where ``R = n_bits S - (products of previous bits)``. Trees learn z from the features, and their
    output on the training rows replaces z in H, so that later bits correct their errors.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the blocks and of the features of each bit.
    n_trees : int, default 100
        Number of trees per bit, at least 1.
    depth : int, default 4
        Depth of a tree, at least 1.
    shrinkage : float, default 0.2
        Factor of the values of every tree, above 0.
    features_per_bit : int, default 256
        Number of random features for the trees of a bit, at least 1; all features if there are fewer.

    Attributes
    ----------
    feature_ : ndarray of int64, shape (n_bits, n_trees, 2**depth - 1)
        The feature of each inner node of a complete tree; the children of node i are 2 i + 1 and 2 i + 2.
    split_ : ndarray of float32, shape (n_bits, n_trees, 2**depth - 1)
        Rows whose feature exceeds it go to the second child.
    value_ : ndarray of float32, shape (n_bits, n_trees, 2**depth)
        The values of the leaves.
    intercept_ : ndarray of float32, shape (n_bits,)
        A bit is 1 if its intercept plus the values of its trees exceeds 0.
    fit_record_ : dict
        ``agreement``, the share of inferred bits that the trees reproduce, and ``residue``, the mean square of the
        entries of ``S - H H' / n_bits``.

    Raises
    ------
    ProtocolError
        In fit, if affinities are missing, of another size, or relate no pair.

    Notes
    -----
    Affinities are as for `KSH`. Inference starts from the signs of the largest eigenvector of R. For every block, a
    row with all rows related to it, it then tries 1, -1, and the signs of ``R z``, until no block changes.

    References
    ----------
    Lin, Shen, Shi, van den Hengel, Suter, *Fast Supervised Hashing with Decision Trees for High-Dimensional Data*, CVPR
    2014.

    Examples
    --------
    Two classes, the second on both sides of the first:

    >>> X = np.repeat([[-2.0], [0.0], [2.0]], 20, axis=0)
    >>> codes = FastHash(n_bits=2, n_trees=5).fit(X, np.repeat([1, 0, 1], 20)).transform(X)
    >>> bool((codes[:20] == codes[40:]).all() and (codes[0] != codes[20]).any())
    True
    """

    supervision = "affinities"
    learned = {
        "feature_": ("int64", "n_bits", "n_trees", "n_inner"),
        "split_": ("float32", "n_bits", "n_trees", "n_inner"),
        "value_": ("float32", "n_bits", "n_trees", "n_leaves"),
        "intercept_": ("float32", "n_bits"),
    }

    n_trees: Count = 100
    depth: Count = 4
    shrinkage: Positive = 0.2
    features_per_bit: Count = 256

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        n, d = training.X.shape
        affinities = training.affinities
        left, blocks = np.ones(n, dtype=bool), list[NDArray[np.int64]]()
        for row in rng.permutation(n):  # random rows with all rows that are related to them, until no row is left
            if left[row]:
                one = (np.arange(n) == row).astype(float)
                blocks.append(np.flatnonzero(affinities.sums(one[:, None])[:, 0] + one))
                left[blocks[-1]] = False
        H = np.zeros((n, self.n_bits))
        trees = self.n_bits, self.n_trees
        self.feature_ = np.zeros((*trees, 2**self.depth - 1), dtype=np.int64)
        self.split_ = np.zeros(self.feature_.shape, dtype=np.float32)
        self.value_ = np.zeros((*trees, 2**self.depth), dtype=np.float32)
        self.intercept_ = np.zeros(self.n_bits, dtype=np.float32)
        agreement = 0.0
        for k in range(self.n_bits):
            before = H[:, :k]

            def product(V: Floats, before: Floats = before) -> Floats:
                return self.n_bits * affinities.signed_sums(V) - before @ (before.T @ V)

            z = inferred_bit(product, blocks, rng.standard_normal((n, 1)))
            features = np.sort(rng.permutation(d)[: self.features_per_bit])
            self._learn(k, training.X[:, features], z > 0)
            self.feature_[k] = features[self.feature_[k]]
            H[:, k] = np.where(self._bit(training.X, k), 1, -1)
            agreement += float((H[:, k] == z).mean()) / self.n_bits
        return {"agreement": round(agreement, 6), "residue": round(residue(H, affinities.signed_sums), 6)}

    def _learn(self, k: int, X: NDArray[np.float32], bits: NDArray[np.bool_]) -> None:
        if bits.all() or not bits.any():
            self.intercept_[k] = 1 if bits[0] else -1
            return
        boosting = need("sklearn.ensemble", "pipeline").HistGradientBoostingClassifier
        sizes = {"max_iter": self.n_trees, "max_depth": self.depth, "max_leaf_nodes": None, "max_bins": _BINS}
        model = boosting(**sizes, learning_rate=self.shrinkage, early_stopping=False).fit(X, bits)
        self.intercept_[k] = model._baseline_prediction[0, 0]
        for tree, (predictor,) in enumerate(model._predictors):
            self._complete(k, tree, predictor.nodes, 0, 0)

    def _complete(self, k: int, tree: int, nodes: Any, node: int, at: int) -> None:
        """Copy scikit-learn's node, and all below, to index `at` of the complete tree."""
        n_inner = self.feature_.shape[2]
        if not nodes["is_leaf"][node]:
            split = np.float32(nodes["num_threshold"][node])
            if split > nodes["num_threshold"][node]:  # float32 rows compare equally with the next lower number
                split = np.nextafter(split, np.float32(-np.inf))
            self.feature_[k, tree, at], self.split_[k, tree, at] = nodes["feature_idx"][node], split
            self._complete(k, tree, nodes, nodes["left"][node], 2 * at + 1)
            self._complete(k, tree, nodes, nodes["right"][node], 2 * at + 2)
            return
        first = last = at
        while first < n_inner:
            first, last = 2 * first + 1, 2 * last + 2
        self.value_[k, tree, first - n_inner : last - n_inner + 1] = nodes["value"][node]

    def _bit(self, X: NDArray[np.float32], k: int) -> NDArray[np.bool_]:
        n_trees, n_inner = self.feature_.shape[1:]
        at = np.zeros((len(X), n_trees), dtype=np.int64)
        for _ in range(self.depth):
            inner = at + n_inner * np.arange(n_trees)
            above = np.take_along_axis(X, self.feature_[k].ravel()[inner], axis=1) > self.split_[k].ravel()[inner]
            at = 2 * at + 1 + above
        values = self.value_[k].ravel()[at - n_inner + (n_inner + 1) * np.arange(n_trees)]
        return self.intercept_[k] + values.sum(axis=1) > 0

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return np.stack([self._bit(X, k) for k in range(self.n_bits)], axis=1)


def inferred_bit(product: Callable[[Floats], Floats], blocks: list[NDArray[np.int64]], start: Floats) -> Floats:
    """Return z of -1 and 1 with a large ``z' R z``, shape (n,).

    Parameters
    ----------
    product : callable
        A function that multiplies R by columns (n, k).
    blocks : list of ndarray of int64
        The rows of each block.
    start : ndarray of float64, shape (n, 1)
        The first vector of the iterations that find the eigenvector.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = len(start)
    R = LinearOperator((n, n), matvec=lambda v: product(v.reshape(n, 1))[:, 0], dtype=np.float64)
    vector = eigsh(R, 1, which="LA", v0=start[:, 0], tol=1e-3)[1] if n > 2 else start
    z = np.where(vector[:, 0] > 0, 1.0, -1.0)
    Rz = product(z[:, None])[:, 0]
    for _ in range(_ROUNDS):
        changed = False
        for block in blocks:
            steps = np.zeros((n, 3))
            steps[block] = np.stack([1 - z[block], -1 - z[block], np.where(Rz[block] > 0, 1, -1) - z[block]], axis=1)
            by_R = product(steps)
            gains = 2 * steps.T @ Rz + (steps * by_R).sum(axis=0)
            best = int(gains.argmax())
            if gains[best] > 1e-9 * n * n:
                z, Rz, changed = z + steps[:, best], Rz + by_R[:, best], True
        if not changed:
            break
    return z
