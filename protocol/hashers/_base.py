"""What every hasher shares: scikit-learn's manners without importing scikit-learn, and the checks at the door."""

import abc
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError, integer, known, matrix
from protocol.hashers._training import TrainingSet

SUPERVISION = ("labels", "affinities", "pairs")
"""What a hasher may need besides the training rows, each a property of `TrainingSet`."""
_BLOCK = 1024  # rows encoded at once: bounds the memory, and is enough to keep the matrix product busy


class Hasher(abc.ABC):
    """A learned map from features (n, d) to binary codes (n, n_bits).

    A subclass stores its parameters in ``__init__``, names what it learns in `learned` and writes two methods.
    ``_fit(training, rng)`` sets those attributes and returns the fit record; ``_encode(X)`` maps rows to bits, each row
    by itself. Where parameters have ranges, ``_check()`` refuses those outside.

    A supervised hasher names what it needs in `supervision`; nothing else changes. ``fit(X, y)`` then hands it on as
    ``training.labels``, ``training.affinities`` or ``training.pairs`` (see `TrainingSet`), or refuses before any work.
    The pipeline makes `y` from the training split alone, and refuses a setting that can't give it.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of every random draw, at least 0.

    Attributes
    ----------
    learned : mapping of str to tuple of str
        Of the class: what a fit learns, as ``{"projection_": ("float32", "d", "n_bits")}``: an array's dtype and its
        lengths, of which d is `n_features_in_`, and a parameter's name its value; another letter stands for the same
        length wherever it comes.
    supervision : {None, "labels", "affinities", "pairs"}
        Of the class: what a fit needs besides the rows, a property of `TrainingSet`; None where that is nothing.
    checkpoints : bool
        Of the class: whether a fit may take long enough to be broken off; ``_fit`` then takes `checkpoint`.
    n_features_in_ : int
        Number of features seen in fit.
    fit_record_ : dict
        What the fit did, JSON-able; empty where there is nothing to say.
    """

    learned: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    supervision: ClassVar[str | None] = None
    checkpoints: ClassVar[bool] = False
    n_features_in_: int
    fit_record_: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.supervision is not None:
            known(cls.supervision, SUPERVISION, f"supervision of {cls.__name__}")

    def __init__(self, n_bits: int = 32, *, seed: int = 0) -> None:
        self.n_bits = n_bits
        self.seed = seed

    @abc.abstractmethod
    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        """Learn from the training rows, ``training.X``, and return the fit record."""

    @abc.abstractmethod
    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the bits of a block of rows."""

    def _check(self) -> None:  # noqa: B027 - most hashers have no parameters of their own
        """Raise ProtocolError if a parameter of the subclass is out of its range."""

    def check(self) -> None:
        """Raise ProtocolError if a parameter is out of its range; fit does so too, but only once there is data."""
        integer(self.n_bits, "n_bits")
        integer(self.seed, "seed", minimum=0)
        self._check()

    def fit(self, X: ArrayLike | TrainingSet, y: Any = None, *, checkpoint: str | Path | None = None) -> Self:
        """Learn the hash functions from the training rows.

        Parameters
        ----------
        X : array_like of float, shape (n, d), or TrainingSet
            Training rows; float32 is used without a copy. A `TrainingSet` serves several fits: they learn the same from
            it, and share what it has computed.
        y : array_like or sparse matrix, optional
            What supervises learning, as `TrainingSet` takes it; a `TrainingSet` brings its own, and what a hasher does
            not need is ignored.
        checkpoint : path, optional
            Where a hasher with `checkpoints` leaves its state as it trains, and goes on from if the file is there from
            a training that was broken off; whoever gives the path removes the file. Others ignore it.

        Returns
        -------
        self

        Raises
        ------
        ProtocolError
            If a parameter is out of its range, `X` is not a finite matrix, it can't serve `n_bits` bits, or what
            supervises learning is missing or does not fit.
        """
        self.check()
        training = X if isinstance(X, TrainingSet) else TrainingSet(X, y)
        self._check_supervision(training)
        kept = {"checkpoint": checkpoint} if self.checkpoints else {}
        self.fit_record_ = self._fit(training, np.random.default_rng(self.seed), **kept)
        for name in self.learned:  # in the memory order of a model from a file, so that products are rounded alike
            setattr(self, name, np.ascontiguousarray(getattr(self, name)))
        self.n_features_in_ = training.X.shape[1]
        return self

    def _check_supervision(self, training: TrainingSet) -> None:
        if self.supervision is not None:
            try:
                getattr(training, self.supervision)
            except ProtocolError as error:
                raise ProtocolError(f"{type(self).__name__} needs {self.supervision}: {error}") from error

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
        self._check_fitted("transform")
        return self._codes(X, self._encode, self.n_features_in_)

    def transform_database(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return the codes of database rows: those of `transform`, unless the database is of another modality."""
        return self.transform(X)

    def _codes(
        self, X: ArrayLike, encode: Callable[[NDArray[np.float32]], NDArray[np.bool_]], n_features: int
    ) -> NDArray[np.bool_]:
        rows = matrix(X, n_features=n_features)
        codes = np.empty((len(rows), self.n_bits), dtype=bool)
        for start in range(0, len(rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            codes[block] = encode(np.ascontiguousarray(rows[block]))
        return codes

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the fitted model as named arrays to keep in a file: what was learned, and a text that says of what.

        The text, under ``model``, is JSON: the hasher's name, its parameters, the number of features and the fit
        record. So nothing of it is ever executed on the way back, as a pickle would be.

        Raises
        ------
        ProtocolError
            If fit has not been called.

        Examples
        --------
        >>> from protocol.hashers.lsh import LSH
        >>> sorted(LSH(n_bits=8).fit([[1.0, 2.0]]).to_arrays())
        ['model', 'projection_']
        """
        self._check_fitted("to_arrays")
        description = {
            "hasher": type(self).__name__,
            "parameters": self.get_params(),
            "n_features": self.n_features_in_,
            "fit_record": self.fit_record_,
        }
        learned = {name: getattr(self, name) for name in self.learned}
        return {"model": np.array(json.dumps(description, default=np.generic.item)), **learned}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        """Return the fitted model that `to_arrays` described; it gives the same codes, bit for bit.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Those of `to_arrays`, no more and no less; the text may be bytes, as it comes from a file.

        Raises
        ------
        ProtocolError
            If they are another hasher's, or an array is missing, unknown, not finite, or of another dtype or shape than
            the parameters say.
        """
        wanted = {"model", *cls.learned}
        if set(arrays) != wanted:
            raise ProtocolError(
                f"model of {cls.__name__}: wanted the arrays {', '.join(sorted(wanted))}, came "
                f"{', '.join(sorted(arrays)) or 'none'}"
            )
        try:
            description = json.loads(arrays["model"].astype(str).item())
            name, parameters = description["hasher"], dict(description["parameters"])
            n_features, fit_record = description["n_features"], dict(description["fit_record"])
        except (ValueError, TypeError, KeyError) as error:
            raise ProtocolError(f"model of {cls.__name__}: its description can't be read: {error}") from error
        if name != cls.__name__:
            raise ProtocolError(f"model of {cls.__name__}: these are the arrays of a model of {name}")
        hasher = cls().set_params(**parameters)
        hasher.check()
        lengths = hasher._lengths(integer(n_features, "n_features"))
        for name, (dtype, *shape) in cls.learned.items():
            hasher._set_learned(name, arrays[name], dtype, shape, lengths)
        hasher.n_features_in_, hasher.fit_record_ = n_features, fit_record
        return hasher

    def _lengths(self, n_features: int) -> dict[str, int]:
        """Return what the letters in `learned` stand for, as far as parameters and the number of features tell."""
        return {**self.get_params(), "d": n_features}

    def _set_learned(
        self, name: str, array: NDArray, dtype: str, shape: Sequence[str], lengths: dict[str, int]
    ) -> None:
        """Set a learned attribute if it is as declared; a letter's first array says what it stands for."""
        if array.ndim == len(shape):
            for letter, length in zip(shape, array.shape, strict=True):
                lengths.setdefault(letter, length)
        wanted = tuple(lengths.get(letter, letter) for letter in shape)
        place = f"model of {type(self).__name__}: array {name!r}: wanted finite {dtype} of shape {wanted}"
        if array.dtype != dtype or array.shape != wanted:
            raise ProtocolError(f"{place}, came {array.dtype} of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ProtocolError(f"{place}, came NaN or infinity")
        setattr(self, name, np.ascontiguousarray(array))

    def _check_fitted(self, method: str) -> None:
        if not hasattr(self, "n_features_in_"):
            raise ProtocolError(f"{type(self).__name__}: {method} came before fit; call fit(X) first")

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
        """Tell scikit-learn, which asks in pipelines, that this is a transformer, and whether it needs a target."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        target = TargetTags(required=self.supervision is not None)
        return Tags(estimator_type="transformer", target_tags=target, transformer_tags=TransformerTags())

    def __repr__(self) -> str:
        defaults = self._defaults()
        shown = {
            name: value
            for name, value in self.get_params().items()
            if name in ("n_bits", "seed") or value != defaults[name]
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
