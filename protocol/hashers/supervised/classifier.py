"""Classifier: codes of the classes predicted by logistic regression, the trivial supervised hasher."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need
from protocol.hashers import Hasher, TrainingSet
from protocol.hashers.linear_algebra import project
from protocol.registry import HasherRecord, Positive, choice

_MAX_ITER = 1000  # of L-BFGS, which takes about 100


@HasherRecord.declared
class Classifier(Hasher):
    r"""Codes of the predicted class, or of the predicted probabilities, of logistic regression.

    Every class has a code c_k in {-1, 1}^n_bits. ``code="class"`` gives an item the code of its most probable class;
    ``code="probabilities"`` gives ``bit_j(x) = [sum_k p_k(x) c_kj > 0]``, which is the code of a class if its
    probability is above one half, and an intermediate code otherwise.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the class codes.
    code : {"class", "probabilities"}, default "class"
        Whether a code represents the most probable class or the probabilities of all classes.
    regularisation : float, default 0.02
        Weight of half the squared norm of the weights, relative to the mean log loss; above 0. It refers to features
        scaled to a root mean square of 1.
    temperature : float, default 1
        Divisor of the scores before they become probabilities; above 0. It has no effect on ``code="class"``.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    projection_ : ndarray of float32, shape (n_features_in_, n_classes)
        Weights of the classes as columns, for centred rows.
    intercept_ : ndarray of float32, shape (n_classes,)
    class_codes_ : ndarray of bool, shape (n_classes, n_bits)
        See `class_codes`.
    several_ : ndarray of bool, shape (1,)
        Whether an item may have several labels; each class then has an independent probability.
    fit_record_ : dict
        ``accuracy``, the share of training labels that are predicted correctly, and ``iterations``, the largest number
        of iterations of L-BFGS for any class.

    Raises
    ------
    ProtocolError
        In fit, if labels are missing, of another length or all equal.

    Notes
    -----
    If items have several labels, each class has a separate logistic regression; a class that contains no training row,
    or all of them, has a constant score. If the weighted sum of class codes is exactly 0, the bit is 0.

    References
    ----------
    Sablayrolles, Douze, Usunier, Jegou, *How should we evaluate supervised hashing?*, ICASSP 2017: the
    output of a classifier is a better code than those of supervised hashers if the classes are known in training.

    Examples
    --------
    Two classes on different sides of zero:

    >>> X = [[2.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]]
    >>> codes = Classifier(n_bits=4).fit(X, [3, 3, 8, 8]).transform(X)
    >>> [int((codes[0] != code).sum()) for code in codes]
    [0, 0, 2, 2]
    """

    supervision = "labels"
    learned = {
        "mean_": ("float32", "d"),
        "projection_": ("float32", "d", "n_classes"),
        "intercept_": ("float32", "n_classes"),
        "class_codes_": ("bool", "n_classes", "n_bits"),
        "several_": ("bool", 1),
    }

    code: Annotated[str, choice("class", "probabilities")] = "class"
    regularisation: Positive = 0.02
    temperature: Positive = 1.0

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        several, has_label = training.labels.ndim == 2, training.memberships
        rows = (training.X - training.mean) / np.float32(training.scale)
        inverse, n_classes = 1 / (self.regularisation * len(rows)), has_label.shape[1]
        model = need("sklearn.linear_model", "pipeline").LogisticRegression(C=inverse, max_iter=_MAX_ITER)
        weights, intercept, n_iter = np.zeros((rows.shape[1], n_classes)), np.zeros(n_classes), 0
        if several:
            shares = has_label.mean(axis=0)
            intercept[shares == 0], intercept[shares == 1] = -50, 50
            for k in np.flatnonzero((shares > 0) & (shares < 1)):
                model.fit(rows, has_label[:, k])
                weights[:, k], intercept[k] = model.coef_[0], model.intercept_[0]
                n_iter = max(n_iter, int(model.n_iter_.max()))
        else:
            n_iter = int(model.fit(rows, has_label.argmax(axis=1)).n_iter_.max())
            learned = slice(1, None) if n_classes == 2 else slice(None)  # one function, for the second of two classes
            weights[:, learned], intercept[learned] = model.coef_.T, model.intercept_
        self.mean_, self.several_ = training.mean, np.array([several])
        self.projection_ = (weights / training.scale).astype(np.float32)
        self.intercept_ = intercept.astype(np.float32)
        self.class_codes_ = class_codes(n_classes, self.n_bits, rng)
        scores = self._scores(training.X)
        correct = (scores > 0) == has_label if several else scores.argmax(axis=1) == has_label.argmax(axis=1)
        return {"accuracy": round(float(correct.mean()), 6), "iterations": n_iter}

    def _scores(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        return project(X, self.mean_, self.projection_) + self.intercept_

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        scores = self._scores(X)
        if self.code == "class":
            return self.class_codes_[scores.argmax(axis=1)]
        from scipy.special import expit, softmax

        logits = scores.astype(np.float64) / self.temperature
        probabilities = expit(logits) if self.several_[0] else softmax(logits, axis=1)
        return probabilities @ np.where(self.class_codes_, 1.0, -1.0) > 0


def class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a code for each class: rows of a Hadamard matrix, or random balanced codes if there is none.

    Rows of a Hadamard matrix differ in half of the bits. They are used in random order and with random signs, so that
    no bit is constant over all classes by construction; for more than n_bits classes, the negated rows are also used.
    Balanced codes have as many ones as zeros, or one more or fewer if n_bits is odd, and are distinct as long as there
    are enough of them.

    Examples
    --------
    >>> found = class_codes(10, 12, np.random.default_rng(0))
    >>> sorted({int((found[0] != other).sum()) for other in found[1:]})
    [6]
    """
    H = hadamard(n_bits)
    if H is not None and n_classes <= 2 * n_bits:
        rows = H[rng.permutation(n_bits)] ^ (rng.random((n_bits, 1)) < 0.5)
        return np.vstack([rows, ~rows])[:n_classes]
    distinct: dict[bytes, NDArray[np.bool_]] = {}
    again: list[NDArray[np.bool_]] = []
    for _ in range(100 * n_classes):
        code = rng.permutation(n_bits) < (n_bits + int(rng.integers(2))) // 2
        (again.append(code) if code.tobytes() in distinct else distinct.setdefault(code.tobytes(), code))
        if len(distinct) == n_classes:
            break
    return np.array([*distinct.values(), *again])[:n_classes]


def hadamard(order: int) -> NDArray[np.bool_] | None:
    """Return a matrix (order, order) in which any two rows differ in half of the entries; None for an impossible order.

    Orders 1 and 2 are trivial. A prime p = order - 1 with p mod 4 = 3 gives a matrix (Paley 1933, construction I), and
    so does a matrix of half the order (Sylvester 1867). Possible orders are thus 4, 8, 12, 16, 20, 24, 32, 40, 44, 48,
    64, ...; of the multiples of 4 up to 128, only 28, 36, 52, 56, 76, 92, 100, 112, 116 and 124 are not possible.
    """
    if order == 1:
        return np.ones((1, 1), dtype=bool)
    p = order - 1
    if p % 4 == 3 and all(p % divisor for divisor in range(2, int(p**0.5) + 1)):
        positive = np.isin(np.subtract.outer(np.arange(p), np.arange(p)) % p, np.arange(1, p) ** 2 % p)
        # Q - I of the Jacobsthal matrix Q, bordered by ones: H H' = order I.
        return np.block([[np.ones((1, order), dtype=bool)], [np.ones((p, 1), dtype=bool), positive]])
    half = hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, ~half]])
