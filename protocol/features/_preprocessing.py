"""Preprocessing of vectors after extraction: unit length and centring, learned only from the training rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.features._feature import Feature, Sliceable
from protocol.inputs.validation import matrix

STEPS = ("l2", "centre", "grand_mean")
CENTRING = ("centre", "grand_mean")
BLOCK = 4096
_MODEL = "model/"


class Preprocessing:
    """Map raw descriptors to float32 vectors: the feature's encoding, then the steps in the given order.

    ``l2`` divides a row by its Euclidean length; a zero row stays zero. ``centre`` subtracts the mean (float64) of the
    training rows after the preceding steps, so ("l2", "centre") centres rows of unit length. ``grand_mean`` subtracts
    a single number, the mean of all values of those rows, so the means of the dimensions do not change relative to each
    other.

    Examples
    --------
    >>> from protocol.features.gist import Gist
    >>> raw = np.zeros((2, 512), dtype=np.float32)
    >>> raw[0, 0] = 2
    >>> preprocessing = Preprocessing.fit(Gist(), raw, ("centre",), seed=0)
    >>> preprocessing.transform(raw)[:, 0]
    array([ 1., -1.], dtype=float32)
    """

    def __init__(
        self, feature: Feature, steps: Sequence[str], model: Mapping[str, NDArray], mean: NDArray[np.float64] | None
    ) -> None:
        self.feature = feature
        self.steps = tuple(steps)
        self.model = dict(model)
        self.mean = mean

    @classmethod
    def fit(cls, feature: Feature, raw_train: NDArray, steps: Sequence[str], seed: int, *, block: int = BLOCK) -> Self:
        """Learn from the training items the values that the feature and the steps require.

        Parameters
        ----------
        feature : Feature
        raw_train : ndarray, shape (n_train, ...)
            Raw descriptors of the training items, as returned by the feature's `extract`.
        steps : sequence of {"l2", "centre", "grand_mean"}
            In order of application; each at most once, and at most one that subtracts a mean. May be empty.
        seed : int, in [0, 2**32)
            Seed of the feature's `fit`.
        block : int, default 4096
            Number of items to encode at a time.

        Raises
        ------
        ProtocolError
            If a step is unknown or repeated, two steps subtract a mean, or vectors are not finite; the message then
            gives the number of such rows and the first of them.
        """
        _check_steps(steps)
        preprocessing = cls(feature, steps, feature.fit(raw_train, seed), None)
        centring = _centring(steps)
        if centring is not None:
            X = preprocessing._encode(raw_train, block)
            if "l2" in steps[: list(steps).index(centring)]:
                _to_unit_length(X)
            preprocessing.mean = X.mean(axis=0, dtype=np.float64)
            if centring == "grand_mean":
                preprocessing.mean = np.full_like(preprocessing.mean, preprocessing.mean.mean())
        return preprocessing

    def transform(self, raw: Sliceable, *, block: int = BLOCK) -> NDArray[np.float32]:
        """Return the vectors, float32 (n, d), of raw descriptors (n, ...), which are read in blocks of `block` items.

        Raises
        ------
        ProtocolError
            If a vector is not finite, or its length is not d or not that of the mean.
        """
        X = self._encode(raw, block)
        if self.mean is not None and self.mean.shape != X.shape[1:]:
            raise ProtocolError(
                f"mean: step {_centring(self.steps)!r} of {self.feature}: expected shape {X.shape[1:]}, got shape "
                f"{self.mean.shape}."
            )
        for start in range(0, len(X), block):
            rows = X[start : start + block]
            for step in self.steps:
                if step == "l2":
                    _to_unit_length(rows)
                elif self.mean is not None:
                    rows[:] = rows - self.mean  # in float64, so that it is rounded only once
        return X

    def blocks(self, raw: Sliceable, *, block: int = BLOCK) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of `transform` in blocks of items."""
        for start in range(0, len(raw), block):
            yield self.transform(raw[start : start + block])

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the learned values as named arrays, to store in a file."""
        arrays = {_MODEL + name: values for name, values in self.model.items()}
        return arrays if self.mean is None else arrays | {"mean": self.mean}

    @classmethod
    def from_arrays(cls, feature: Feature, steps: Sequence[str], arrays: Mapping[str, NDArray]) -> Self:
        """Restore the preprocessing from the result of `to_arrays`, for the same feature and steps.

        Raises
        ------
        ProtocolError
            If a step is unknown or repeated, two steps subtract a mean, or the mean is missing.
        """
        _check_steps(steps)
        centring = _centring(steps)
        mean = None if centring is None else arrays.get("mean")
        if centring is not None and mean is None:
            raise ProtocolError(f"mean is missing, which step {centring!r} of {feature} subtracts.")
        model = {name.removeprefix(_MODEL): values for name, values in arrays.items() if name.startswith(_MODEL)}
        return cls(feature, steps, model, mean)

    def _encode(self, raw: Sliceable, block: int) -> NDArray[np.float32]:
        """Return a new, finite float32 matrix (n, d)."""
        d = self.feature.dimension or self.feature.encode(raw[:1], self.model).shape[1]
        X = np.empty((len(raw), d), dtype=np.float32)
        for start in range(0, len(X), block):
            rows = X[start : start + block]
            encoded = self.feature.encode(raw[start : start + block], self.model)
            if encoded.shape != rows.shape:
                raise ProtocolError(f"{self.feature}: expected vectors of shape {rows.shape}, got {encoded.shape}.")
            rows[:] = encoded
        return matrix(X, "features")


def _check_steps(steps: Sequence[str]) -> None:
    for step in steps:
        one_of(step, STEPS, "preprocessing step")
    if len(set(steps)) < len(steps):
        raise ProtocolError(f"preprocessing: a step is repeated: {', '.join(steps)}.")
    if set(CENTRING) <= set(steps):
        raise ProtocolError(f"preprocessing: {' and '.join(CENTRING)} exclude each other. Remove one.")


def _centring(steps: Sequence[str]) -> str | None:
    """Return the step that subtracts a mean, if there is one."""
    return next((step for step in steps if step in CENTRING), None)


def _to_unit_length(X: NDArray[np.float32]) -> None:
    """Divide each row by its Euclidean length, in place; float64 prevents overflow and underflow of lengths."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    np.divide(X, length[:, None], out=X, where=length[:, None] > 0, casting="same_kind")
