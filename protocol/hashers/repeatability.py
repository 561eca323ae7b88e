"""Checks that the training set and the seed determine a model, and that the model and a row determine its code."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError, listed
from protocol.hashers.base import Hasher
from protocol.hashers.training_set import TrainingSet

FEW = 500
"""Training rows with which the pipeline checks the fits of a user's hasher: these fits take a second or so."""
_ROWS = 63  # encoded again after an odd number of others, so that they change between odd and even rows of a batch
_ROUNDED = 0.01  # the largest share of bits that may differ, because an output is within rounding of its threshold
_log = logging.getLogger(__name__)


def check_hasher(hasher: Hasher, X: ArrayLike | TrainingSet, y: Any = None) -> None:
    """Raise ProtocolError unless two fits give the same model, which gives each row the same code in every batch.

    Its codes must also stay the same when another model is fitted. The pipeline checks the codes of every model, but
    the fits only of a user's hasher, and only with 500 of the training rows: this function takes three complete fits.

    Parameters
    ----------
    hasher : Hasher
        With the options to check; it is not changed.
    X, y
        The training rows and their supervision, as for `Hasher.fit`.

    Examples
    --------
    >>> from protocol.hashers.lsh import LSH
    >>> check_hasher(LSH(n_bits=8), [[1.0, 2.0], [3.0, 1.0]])
    """
    training = X if isinstance(X, TrainingSet) else TrainingSet(X, y)
    _check_fits(type(hasher)(**hasher.get_params()).fit(training), training)


def check_few(hasher: Hasher, training: TrainingSet) -> None:
    """Raise ProtocolError if fits with a few of the training rows do not repeat; note it if these are not enough."""
    few, model = training.some(FEW), type(hasher)(**hasher.get_params())
    try:
        model.fit(few)
    except Exception as error:  # noqa: BLE001 - the fit with all rows raises it if they are not the reason
        _log.info("not checked whether fits repeat, because one with %d rows failed: %s", len(few.X), error)
    else:
        _check_fits(model, few)


def _check_fits(model: Hasher, training: TrainingSet) -> None:
    """Raise the errors of `check_codes`, or if another fit gives another model or, of other rows, changes the codes."""
    name, options, first = type(model).__name__, model.get_params(), model.to_arrays()
    check_codes(model.from_arrays(first), training)
    second = type(model)(**options).fit(training).to_arrays()
    different = [key for key in first if first[key].tobytes() != second[key].tobytes()]
    if different:
        arrays = listed("the fit record" if key == "model" else key for key in different)
        raise ProtocolError(f"{name}._fit: two fits with one seed differ in {arrays}. Draw random numbers from `rng`.")
    before = [encode(rows) for encode, rows in _sides(model, training)]
    type(model)(**options | {"seed": model.seed + 1}).fit(training.altered())
    for (encode, rows), codes in zip(_sides(model, training), before, strict=True):
        if (encode(rows) != codes).any():
            advice = "Keep what _fit learns in the arrays of `learned` alone, not in the module or the class"
            raise ProtocolError(f"{name}.{encode.__name__}: the codes change when another model is fitted. {advice}.")


def _sides(model: Hasher, training: TrainingSet) -> Iterator[tuple[Callable[..., NDArray[np.bool_]], NDArray]]:
    """Yield each function of the model that encodes, with some of the training rows that it can encode."""
    yield model.transform, training.X[:: max(1, len(training.X) // _ROWS)][:_ROWS]
    if model.supervision == "pairs":
        yield model.transform_database, training.pairs[:: max(1, len(training.X) // _ROWS)][:_ROWS]


def check_codes(model: Hasher, training: TrainingSet) -> None:
    """Raise ProtocolError if codes of training rows change with a repetition or other rows, or can't be computed."""
    for encode, rows in _sides(model, training):
        try:
            codes = encode(rows)
        except AttributeError as error:
            if error.obj is not model:
                raise
            where = f"{type(model).__name__}._encode"
            raise ProtocolError(f"{where} reads {error.name!r}, which `learned` must declare.") from error
        for before, when, advice in (
            (rows[:0], "they are encoded again", "Draw random numbers only in _fit, from `rng`"),
            (np.repeat(rows[:1], len(rows) // 2, axis=0), "other rows precede them", "Learn thresholds in _fit"),
        ):
            again = encode(np.concatenate([before, rows]))[len(before) :]
            if (share := (again != codes).mean()) > _ROUNDED:
                changes = f"{share:.1%} of the bits of {len(rows)} rows change if {when}. {advice}."
                raise ProtocolError(f"{type(model).__name__}.{encode.__name__}: {changes}")
