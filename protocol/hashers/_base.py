"""What every hasher shares: scikit-learn's manners without importing scikit-learn, and the checks at the door."""

import abc
import inspect
import numbers
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError, known, matrix

_BLOCK = 4096  # rows encoded at once: bounds the memory, and is enough to keep the matrix product busy


def whole(value: Any, name: str, *, least: int = 1) -> int:
    """Return `value` if it is an integer of at least `least`, else raise ProtocolError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ProtocolError(f"{name}: wanted an integer >= {least}, came {value!r}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """Return `value` if it is a finite number above zero, else raise ProtocolError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
        raise ProtocolError(f"{name}: wanted a finite number > 0, came {value!r}")
    return float(value)


class Hasher(abc.ABC):
    """A learned map from features (n, d) to binary codes (n, n_bits).

    A subclass stores its parameters in ``__init__`` and writes two methods. ``_fit(X, rng)`` sets learned attributes,
    whose names end in an underscore, and returns the fit record. ``_encode(X)`` maps rows to bits, each row by itself.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of every random draw, at least 0.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in fit.
    fit_record_ : dict
        What the fit did, JSON-able; empty where there is nothing to say.
    """

    n_features_in_: int
    fit_record_: dict[str, Any]

    def __init__(self, n_bits: int = 32, *, seed: int = 0) -> None:
        self.n_bits = n_bits
        self.seed = seed

    @abc.abstractmethod
    def _fit(self, X: NDArray[np.float32], rng: np.random.Generator) -> dict[str, Any]:
        """Learn from the training rows, which are finite and contiguous, and return the fit record."""

    @abc.abstractmethod
    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the bits of a block of rows."""

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the hash functions from the training rows.

        Parameters
        ----------
        X : array_like of float, shape (n, d)
            Training rows; float32 is used without a copy.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        self

        Raises
        ------
        ProtocolError
            If a parameter is out of its range, `X` is not a finite matrix, or it can't serve `n_bits` bits.
        """
        whole(self.n_bits, "n_bits")
        rng = np.random.default_rng(whole(self.seed, "seed", least=0))
        training = np.ascontiguousarray(matrix(X))
        self.fit_record_ = self._fit(training, rng)
        self.n_features_in_ = training.shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return the codes of rows.

        Parameters
        ----------
        X : array_like of float, shape (n, n_features_in_)

        Returns
        -------
        ndarray of bool, shape (n, n_bits)

        Raises
        ------
        ProtocolError
            If fit has not been called, or `X` is not a finite matrix as wide as in fit.
        """
        if not hasattr(self, "n_features_in_"):
            raise ProtocolError(f"{type(self).__name__}: transform came before fit; call fit(X) first")
        rows = matrix(X, n_features=self.n_features_in_)
        blocks = (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
        return np.concatenate([self._encode(np.ascontiguousarray(block)) for block in blocks])

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        signature = inspect.signature(cls)
        return {name: parameter.default for name, parameter in signature.parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name; `deep` is for scikit-learn's sake and changes nothing."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self; ProtocolError, and nothing set, if a name is unknown."""
        for name in params:
            known(name, self._defaults(), f"parameter of {type(self).__name__}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, which asks in pipelines, that this is a transformer that needs no target."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer", target_tags=TargetTags(required=False), transformer_tags=TransformerTags()
        )

    def __repr__(self) -> str:
        defaults = self._defaults()
        shown = {
            name: value
            for name, value in self.get_params().items()
            if name in ("n_bits", "seed") or value != defaults[name]
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
