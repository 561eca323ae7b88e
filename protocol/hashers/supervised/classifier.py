"""Classifier: the code of the class that logistic regression predicts, the trivial supervised hasher."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need, one_of, positive_number
from protocol.hashers.base import Hasher
from protocol.hashers.linear_algebra import project
from protocol.hashers.training_set import TrainingSet
from protocol.registry import HasherRecord

_MAX_ITER = 1000  # of L-BFGS, which needs about 100


@HasherRecord(
    "classifier",
    printed="Classifier",
    source="No method of a paper: the baseline that supervised hashers have to beat, after Sablayrolles, Douze, "
    "Usunier, Jegou, How should we evaluate supervised hashing?, ICASSP 2017",
    deviations="That paper stores the predicted class or its probabilities; here a class has a row of a "
    "Hadamard matrix, so that all classes are equally far apart at any code length, and the codes of probabilities are "
    "the signs of the sum of class codes that they weigh.",
    bits_within_features=False,
    random=True,
)
class Classifier(Hasher):
    r"""Codes of the predicted class, or of the predicted probabilities, of logistic regression.

    Every class has a code c_k in {-1, 1}^n_bits. ``code="class"`` gives an item the code of its most probable class;
    ``code="probabilities"`` gives ``bit_j(x) = [sum_k p_k(x) c_kj > 0]``, the code of the class where one has more than
    half of the probability, and another code between classes.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the class codes.
    code : {"class", "probabilities"}, default "class"
    regularisation : float, default 0.02
        Weight of half the squared norm of the weights, next to the mean log loss; above 0. Features count as scaled to
        a root mean square of 1.
    temperature : float, default 1
        The scores are divided by it before they become probabilities; above 0. It has no effect on ``code="class"``.

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
        Whether an item may have several labels; each class then has a probability of its own.
    fit_record_ : dict
        ``accuracy``: the share of training labels that are predicted right; ``iterations`` of L-BFGS, the most of any
        class.

    Raises
    ------
    ProtocolError
        In fit, if labels are missing, of another length or all the same.

    Notes
    -----
    With several labels for an item, a class has a logistic regression of its own, and one that no training row, or
    every one, belongs to has a constant score. If the probabilities weigh the class codes to exactly 0, the bit is 0.

    References
    ----------
    Sablayrolles, Douze, Usunier, Jegou, *How should we evaluate supervised hashing?*, ICASSP 2017: a classifier's
    output is a better code than those of supervised hashers when the classes are known in training.

    Examples
    --------
    Two classes on two sides of zero.

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

    def __init__(
        self,
        n_bits: int = 32,
        *,
        seed: int = 0,
        code: str = "class",
        regularisation: float = 0.02,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(n_bits, seed=seed)
        self.code = code
        self.regularisation = regularisation
        self.temperature = temperature

    def _check(self) -> None:
        one_of(self.code, ("class", "probabilities"), "code")
        positive_number(self.regularisation, "regularisation")
        positive_number(self.temperature, "temperature")

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        y = training.labels
        several = y.ndim == 2
        has_label = y if several else y[:, None] == np.unique(y)
        rows = (training.X - training.mean) / np.float32(training.scale)
        weights, intercept, n_iter = self._regression(rows, has_label, several)
        self.mean_, self.several_ = training.mean, np.array([several])
        self.projection_ = (weights / training.scale).astype(np.float32)
        self.intercept_ = intercept.astype(np.float32)
        self.class_codes_ = class_codes(has_label.shape[1], self.n_bits, rng)
        scores = self._scores(training.X)
        right = (scores > 0) == has_label if several else scores.argmax(axis=1) == has_label.argmax(axis=1)
        return {"accuracy": round(float(right.mean()), 6), "iterations": n_iter}

    def _regression(
        self, rows: NDArray[np.float32], has_label: NDArray[np.bool_], several: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Return weights (d, n_classes), intercepts (n_classes,), and the most iterations of L-BFGS."""
        inverse = 1 / (self.regularisation * len(rows))
        model = need("sklearn.linear_model", "pipeline").LogisticRegression(C=inverse, max_iter=_MAX_ITER)
        weights, intercept = np.zeros((rows.shape[1], has_label.shape[1])), np.zeros(has_label.shape[1])
        if not several:
            model.fit(rows, has_label.argmax(axis=1))
            if has_label.shape[1] == 2:  # one function, of the second class
                weights[:, 1], intercept[1] = model.coef_[0], model.intercept_[0]
            else:
                weights[:], intercept[:] = model.coef_.T, model.intercept_
            return weights, intercept, int(model.n_iter_.max())
        n_iter, shares = 0, has_label.mean(axis=0)
        intercept[shares == 0], intercept[shares == 1] = -np.inf, np.inf
        intercept = np.clip(intercept, -50, 50)
        for k in np.flatnonzero((shares > 0) & (shares < 1)):
            model.fit(rows, has_label[:, k])
            weights[:, k], intercept[k] = model.coef_[0], model.intercept_[0]
            n_iter = max(n_iter, int(model.n_iter_.max()))
        return weights, intercept, n_iter

    def _scores(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        return project(X, self.mean_, self.projection_) + self.intercept_

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        scores = self._scores(X)
        if self.code == "class":
            return self.class_codes_[scores.argmax(axis=1)]
        signs = np.where(self.class_codes_, 1.0, -1.0)
        return _probabilities(scores.astype(np.float64) / self.temperature, bool(self.several_[0])) @ signs > 0


def _probabilities(scores: NDArray[np.float64], several: bool) -> NDArray[np.float64]:
    if several:
        return 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a code for each class: rows of a Hadamard matrix, or random balanced codes where there is none.

    Rows of a Hadamard matrix differ in half of the bits. They are taken in a random order and with random signs, so
    that no bit is the same for all classes by construction; more than n_bits classes have the negated rows, too.
    Balanced codes have as many ones as zeros, or one more or fewer if n_bits is odd, and are different from each other
    as long as there are enough of them.

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
    found: dict[bytes, NDArray[np.bool_]] = {}
    again: list[NDArray[np.bool_]] = []
    for _ in range(100 * n_classes):
        code = rng.permutation(n_bits) < (n_bits + int(rng.integers(2))) // 2
        (again.append(code) if code.tobytes() in found else found.setdefault(code.tobytes(), code))
        if len(found) == n_classes:
            break
    return np.array([*found.values(), *again])[:n_classes]


def hadamard(order: int) -> NDArray[np.bool_] | None:
    """Return a matrix (order, order) of which any two rows differ in half of the entries; None if none is made.

    Those of 1 and 2 are trivial; a prime p = order - 1 with p mod 4 = 3 gives one (Paley 1933, construction I), and a
    matrix of half the order another one (Sylvester 1867). So 4, 8, 12, 16, 20, 24, 32, 40, 44, 48, 64, ... are made,
    and of the multiples of 4 up to 128 only 28, 36, 52, 56, 76, 92, 100, 112, 116 and 124 are not.
    """
    if order == 1:
        return np.ones((1, 1), dtype=bool)
    p = order - 1
    if p % 4 == 3 and all(p % divisor for divisor in range(2, int(p**0.5) + 1)):
        difference = np.subtract.outer(np.arange(p), np.arange(p)) % p
        positive = np.isin(difference, np.arange(1, p) ** 2 % p)
        # Q - I of the Jacobsthal matrix Q, bordered by ones: H H' = order I.
        return np.block([[np.ones((1, order), dtype=bool)], [np.ones((p, 1), dtype=bool), positive]])
    half = hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, ~half]])
