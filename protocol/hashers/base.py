"""The base class of all hashers: the conventions of scikit-learn without its import, checks, and models as arrays."""

import abc
import contextlib
import json
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol import codes
from protocol.checks import ProtocolError, integer, one_of
from protocol.hashers.linear_algebra import project
from protocol.hashers.training_set import MAGNITUDES, SUPERVISION, TrainingSet, check_magnitude, read_only
from protocol.inputs.validation import matrix
from protocol.registry import Configurable, Count, at_least
from protocol.registry.records import RECORDS

Key = TypeVar("Key", bound=Hashable)
_BLOCK = 1024  # rows encoded at once: few enough to bound the memory, and enough for a fast matrix product


class Hasher(Configurable, abc.ABC):
    """A learned map from features (n, d) to binary codes (n, n_bits).

    A subclass implements two methods, and lists in `learned` the attributes that it learns. ``_fit(training, rng)``
    sets these attributes and returns the fit record, a dict; ``_encode(X)`` maps rows to bits, each row independently
    of the others. Options are annotated class attributes with a default, like the fields of a dataclass, and keyword
    arguments of the constructor, which only stores them. Their annotations may carry their ranges (see
    `protocol.registry`); ``_check()`` raises an error for anything else that is wrong with them.

    A supervised hasher declares its kind of supervision in `supervision`. ``fit(X, y)`` then provides it as
    ``training.labels``, ``training.affinities`` or ``training.pairs`` (see `TrainingSet`), or raises an error before
    any computation. The pipeline computes `y` from the training set alone, and rejects a configuration in which this is
    impossible.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of all random draws, at least 0.

    Attributes
    ----------
    learned : mapping of str to tuple
        Class attribute: the learned arrays, as in ``{"projection_": ("float32", "d", "n_bits")}``, with dtype and
        shape. A length is an integer or a name: d is `n_features_in_`, the name of a parameter is its value, and any
        other name is the same length wherever it occurs.
    supervision : {None, "labels", "affinities", "pairs"}
        Class attribute: the required supervision, a property of `TrainingSet`.
    magnitudes : (float, float)
        Class attribute: the limits of the largest magnitude of features. The default suits hashers that compute squared
        distances in float32.
    n_features_in_ : int
        Number of features in fit.
    fit_record_ : dict
        A record of the fit, serialisable as JSON; may be empty.
    """

    n_bits: Count = 32
    _: KW_ONLY
    seed: Annotated[int, at_least(0)] = 0
    learned: ClassVar[Mapping[str, tuple[str | int, ...]]] = {}
    supervision: ClassVar[str | None] = None
    magnitudes: ClassVar[tuple[float, float]] = MAGNITUDES

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.supervision is not None:
            one_of(cls.supervision, SUPERVISION, f"{cls.__name__}.supervision")

    @abc.abstractmethod
    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        """Learn from the training rows, ``training.X``, and return the fit record."""

    @abc.abstractmethod
    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the bits of a block of rows."""

    def _check(self) -> None:
        """Raise ProtocolError if a parameter of the subclass is wrong in a way that its annotation does not express."""

    def check(self) -> None:
        """Raise ProtocolError if a parameter is out of range; `fit` also does this, but it requires data."""
        self.check_options()
        self._check()

    def _check_features(self, n_features: int) -> None:
        """Raise ProtocolError if the subclass can't learn from rows of `n_features` for another reason than n_bits."""

    def check_features(self, n_features: int, about: str = "") -> None:
        """Raise ProtocolError, which begins with `about`, if the hasher can't learn from rows of `n_features`."""
        record = record_of(type(self))
        if record and record.bits_within_features and self.n_bits > n_features:
            at_most = f"at most {n_features:,}, the number of features"
            raise ProtocolError(f"{about}n_bits must be {at_most}, got {self.n_bits:,}.")
        self._check_features(n_features)

    def fit(self, X: ArrayLike | TrainingSet, y: Any = None) -> Self:
        """Learn the hash functions from the training rows.

        Parameters
        ----------
        X : array_like of float, shape (n, d), or TrainingSet
            Training rows; float32 is used without a copy. Several fits may share a `TrainingSet` and the values that it
            has computed; the results are the same as with separate ones.
        y : array_like or sparse matrix, optional
            The supervision, in a form that `TrainingSet` accepts; not given if `X` is a `TrainingSet`. Supervision that
            a hasher does not require is ignored: `_fit` does not get it.

        Returns
        -------
        self

        Raises
        ------
        ProtocolError
            If a parameter is of a wrong type, out of range or changed by `_fit`, `_fit` writes to the rows or labels,
            `X` is not a finite matrix or does not suffice for `n_bits` bits, the supervision is missing or does not
            fit, or the learned arrays are not finite or not as `learned` declares.
        """
        self.check()
        training = X if isinstance(X, TrainingSet) else TrainingSet(X, y)
        training = training if self.supervision else training.unsupervised
        check_magnitude(training.X, "X", *self.magnitudes)
        self._check_supervision(training)
        self.check_features(training.X.shape[1])
        options, where = self.options, f"{type(self).__name__}._fit"
        with _read_only(where):
            record, n_features = self._fit(training, np.random.default_rng(self.seed)), training.X.shape[1]
        if self.options != options:
            raise ProtocolError(f"{where} must not change n_bits or another option: {options} became {self.options}.")
        if not isinstance(record, dict):
            raise ProtocolError(f"{where} must return a record of the fit, as in `return {{}}`, got {record!r}.")
        arrays = {name: np.asarray(getattr(self, name)) for name in self.learned if hasattr(self, name)}
        # The memory order is that of a model from a file, so that products are rounded equally.
        Hasher._set_learned_arrays(self, arrays, n_features, f"{where}, which sets the arrays of `learned`")
        self.fit_record_, self.n_features_in_ = record, n_features
        return self

    def _check_supervision(self, training: TrainingSet) -> None:
        if self.supervision is not None:
            try:
                getattr(training, self.supervision)
            except ProtocolError as error:
                raise ProtocolError(f"{type(self).__name__} requires {self.supervision}: {error}") from error
        if self.supervision == "pairs":
            check_magnitude(training.pairs, "pairs", *self.magnitudes)

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
            If fit has not been called, or `X` is not a finite matrix with as many columns as in fit, or is too
            large for float32.
        """
        self._check_fitted("transform")
        return self._codes(X, self._encode, self.n_features_in_)

    def transform_database(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return the codes of database rows: those of `transform`, unless the database has a different modality."""
        return self.transform(X)

    def _codes(self, X: ArrayLike, encode: Callable[..., NDArray[np.bool_]], n_features: int) -> NDArray[np.bool_]:
        check_magnitude(X, "X", 0, self.magnitudes[1])
        rows = matrix(X, n_features=n_features)
        bits_of_rows = np.empty((len(rows), self.n_bits), dtype=bool)
        for start in range(0, len(rows), _BLOCK):
            block = read_only(np.ascontiguousarray(rows[start : start + _BLOCK]))
            with _read_only(f"{type(self).__name__}._encode"):
                bits, shape = encode(block), (len(block), self.n_bits)
            if not isinstance(bits, np.ndarray) or bits.dtype != bool or bits.shape != shape:
                got = f"{bits.dtype} of shape {bits.shape}" if isinstance(bits, np.ndarray) else type(bits).__name__
                raise ProtocolError(f"{type(self).__name__}._encode: expected a bool array, shape {shape}, got {got}.")
            bits_of_rows[start : start + _BLOCK] = bits
        return bits_of_rows

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the fitted model as named arrays for storage in a file: the learned arrays and a description.

        The description, under ``model``, is JSON with the name of the hasher, its parameters, the number of features
        and the fit record. Unlike with a pickle, reading a model never executes code from the file.

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
        description: dict[str, Any] = {"hasher": type(self).__name__, "parameters": self.get_params()}
        description |= {"n_features": self.n_features_in_, "fit_record": self.fit_record_}
        return {"model": np.array(json.dumps(description, default=np.generic.item)), **self._learned_arrays()}

    def _learned_arrays(self) -> dict[str, NDArray]:
        return {name: getattr(self, name) for name in self.learned}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        """Return the fitted model from the arrays of `to_arrays`; it gives exactly the same codes.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Exactly the arrays of `to_arrays`; the description may be bytes, as in a file.

        Raises
        ------
        ProtocolError
            If they belong to another hasher, or an array is missing, unknown, not finite, or not of the dtype and
            shape that the parameters require.
        """
        where = f"model of {cls.__name__}"
        try:
            description = json.loads(arrays["model"].astype(str).item())
            name, n_features = description["hasher"], description["n_features"]
            parameters, fit_record = dict(description["parameters"]), dict(description["fit_record"])
        except (ValueError, TypeError, KeyError) as error:
            raise ProtocolError(f"{where}: the description can't be read: {error}") from error
        if name != cls.__name__:
            raise ProtocolError(f"{where}: these are the arrays of {name}.")
        hasher = cls().set_params(**parameters)
        hasher.check()
        learned = {name: array for name, array in arrays.items() if name != "model"}
        hasher._set_learned_arrays(learned, integer(n_features, "n_features"), where)
        hasher.n_features_in_, hasher.fit_record_ = n_features, fit_record
        return hasher

    def _set_learned_arrays(self, arrays: Mapping[str, NDArray], n_features: int, where: str) -> None:
        vars(self).update(self._checked(arrays, self.learned, n_features, where))

    def _checked(
        self, arrays: Mapping[str, NDArray], declared: Mapping[str, tuple[str | int, ...]], n_features: int, where: str
    ) -> dict[str, NDArray]:
        """Return learned arrays as C-contiguous arrays, if they are the declared ones."""
        if set(arrays) != set(declared):
            expected, got = (", ".join(sorted(names)) or "none" for names in (declared, arrays))
            raise ProtocolError(f"{where}: expected the arrays {expected}, got {got}.")
        lengths: dict[Any, Any] = {**self.get_params(), "d": n_features}
        for name, of_dtype_and_shape in declared.items():
            _check_array(arrays[name], of_dtype_and_shape, lengths, f"{where}: array {name!r}")
        return {name: np.require(array, requirements="C") for name, array in arrays.items()}

    def _check_fitted(self, method: str) -> None:
        if not hasattr(self, "n_features_in_"):
            raise ProtocolError(f"{type(self).__name__}.{method}: the hasher is not fitted. Call fit(X) first.")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name; `deep` exists for scikit-learn and has no effect."""
        return self.options

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self; if a name is unknown, set none and raise ProtocolError."""
        for name in params:
            one_of(name, self.defaults(), f"option of {type(self).__name__}")
        vars(self).update(params)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return the tags that pipelines of scikit-learn read: a transformer, which may require a target."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        target = TargetTags(required=self.supervision is not None)
        return Tags(estimator_type="transformer", target_tags=target, transformer_tags=TransformerTags())

    def __repr__(self) -> str:
        changed = {"n_bits", "seed"} | {name for name, value in self.defaults().items() if value != self.options[name]}
        options = (f"{name}={value!r}" for name, value in self.options.items() if name in changed)
        return f"{type(self).__name__}({', '.join(options)})"


class LinearHasher(Hasher):
    """A hasher of linear functions of centred rows, ``bit_j(x) = [(x - mean) . w_j > t_j]``.

    A subclass learns the w_j as columns of ``projection_``; the t_j are 0, unless `learned` is `THRESHOLDS`.
    """

    learned = {"mean_": ("float32", "d"), "projection_": ("float32", "d", "n_bits")}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        arrays = self._learned_arrays()
        return project(X, arrays["mean_"], arrays["projection_"]) > arrays.get("threshold_", 0)


def record_of(hasher: type[Hasher]) -> Any:
    """Return the record of a class, or of the first of its base classes that has one; None if there is none."""
    records = {one.plugin: one for one in RECORDS["hasher"].values()}
    return next((records[kind] for kind in hasher.__mro__ if kind in records), None)


THRESHOLDS = {**LinearHasher.learned, "threshold_": ("float32", "n_bits")}
"""The learned arrays of a `LinearHasher` with thresholds."""


@contextlib.contextmanager
def _read_only(where: str) -> Iterator[None]:
    """Turn NumPy's error for a write to a read-only array into a ProtocolError that names the method."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        problem = "writes to an array that it may only read, such as the rows. Copy it first: `X = X.copy()`"
        raise ProtocolError(f"{where} {problem}.") from error


def _check_array(array: NDArray, declared: tuple[str | int, ...], lengths: dict[Any, Any], where: str) -> None:
    """Raise ProtocolError if an array differs from its declaration; the first array with a new name sets the length."""
    dtype, *shape = declared
    if array.ndim == len(shape):
        for name, length in zip(shape, array.shape, strict=True):
            if isinstance(name, str):
                lengths.setdefault(name, length)
    expected = tuple(lengths.get(name, name) for name in shape)
    if array.dtype != dtype or array.shape != expected:
        raise ProtocolError(f"{where}: expected {dtype} of shape {expected}, got {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ProtocolError(f"{where} contains NaN or infinity.")


def packed_codes(
    models: Mapping[Key, Hasher],
    blocks: Iterable[NDArray[np.float32]],
    *,
    of_database: bool = False,
    seconds: MutableMapping[Any, float] | None = None,
) -> dict[Key, NDArray[np.uint8]]:
    """Return the packed codes of items by several models; each block of vectors is read once and encoded by all models.

    Parameters
    ----------
    models : mapping of any key to a fitted Hasher
    blocks : iterable of ndarray of float32, shape (n_block, d)
        Blocks of vectors, at least one.
    of_database : bool, default False
        Whether these are database items, whose modality may differ from that of the queries.
    seconds : mapping of any key to float with a default of 0, optional
        The CPU time of each model is added to it.

    Returns
    -------
    dict of ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of all items by each model, packed by `protocol.codes.pack`.
    """
    packed: dict[Key, list[NDArray[np.uint8]]] = {key: [] for key in models}
    for block in blocks:
        for key, model in models.items():
            started = time.process_time()
            packed[key].append(codes.pack(model.transform_database(block) if of_database else model.transform(block)))
            if seconds is not None:
                seconds[key] += time.process_time() - started
    return {key: np.concatenate(parts) for key, parts in packed.items()}
