"""Checks that the training set and the seed determine a model, and that the model and a row determine its code."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError, listed
from protocol.hashers.base import Hasher, record_of
from protocol.hashers.training_set import TrainingSet

FEW = 500
"""Training rows with which the pipeline checks the fits of a user's hasher: these fits take a second or so."""
_ROWS = 63  # encoded again after an odd number of others, so that they change between odd and even rows of a batch
_ROUNDED = 0.01  # the largest share of bits that may differ, because an output is within rounding of its threshold
_REPEATS = 5  # of encoding, to find noise that changes few bits
_DRAW, _LEARN = "Draw random numbers only in _fit, from `rng`", "Learn thresholds and scales in _fit"
_log = logging.getLogger(__name__)


def check_hasher(hasher: Hasher, X: ArrayLike | TrainingSet, y: Any = None) -> None:
    """Raise ProtocolError unless two fits give the same model, which gives each row the same code in every batch.

    Its codes must also stay the same when another model is fitted. The pipeline checks the codes of every model, but
    the fits only of a user's hasher, and only with 500 of the training rows: this function takes four complete fits.
    If the record of the class says `random=False`, another seed must give the same model; otherwise, a warning is
    logged if it does.

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
    before = [encode(rows) for encode, rows in _sides(model, training)]
    for _ in range(_REPEATS):
        _check_same(model, training, before, "rows are encoded again", _DRAW)
    check_codes(model.from_arrays(first), training)
    second = type(model)(**options).fit(training).to_arrays()
    different = [key for key in first if first[key].tobytes() != second[key].tobytes()]
    if different:
        arrays = listed("the fit record" if key == "model" else key for key in different)
        raise ProtocolError(f"{name}._fit: two fits with one seed differ in {arrays}. Draw random numbers from `rng`.")
    other = type(model)(**options | {"seed": model.seed + 1})
    _check_seed(model, other.fit(training).to_arrays(), first)
    other.fit(training.altered())
    advice = "Keep what _fit learns in the arrays of `learned` alone, not in the module or the class"
    _check_same(model, training, before, "another model is fitted", advice)


def _check_same(model: Hasher, training: TrainingSet, before: Iterable[NDArray], when: str, advice: str) -> None:
    """Raise ProtocolError if a bit of the codes is no longer as before."""
    for (encode, rows), codes in zip(_sides(model, training), before, strict=True):
        if (encode(rows) != codes).any():
            name = f"{type(model).__name__}.{encode.__name__}"
            raise ProtocolError(f"{name}: the codes change when {when}. {advice}.")


def _check_seed(model: Hasher, other: Mapping[str, NDArray], first: Mapping[str, NDArray]) -> None:
    """Raise ProtocolError if the arrays for another seed differ, although the record denies it; log the opposite."""
    name, record = type(model).__name__, record_of(type(model))
    different = [key for key in model.learned if first[key].tobytes() != other[key].tobytes()]
    if record and different and not record.random:
        advice = "Remove random=False from its record, or draw nothing from `rng`"
        raise ProtocolError(f"{name}._fit: with another seed, {listed(different)} change. {advice}.")
    if record and record.random and not different:
        _log.warning("%s: another seed gives the same model. If this is always so, declare random=False", name)


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
        limit = model.magnitudes[1]
        few, far = np.repeat(rows[:1], len(rows) // 2, axis=0), np.clip(10 * rows[:1], -limit, limit)
        for batches, when, advice in (
            ([rows], "they are encoded again", _DRAW),
            ([np.concatenate([few, rows])], "other rows precede them", _LEARN),
            ([np.concatenate([far, rows])], "a row ten times as large as the first one precedes them", _LEARN),
            (np.split(rows, len(rows)), "each is encoded alone", _LEARN),
        ):
            again = np.concatenate([*map(encode, batches)])[-len(rows) :]
            if (share := (again != codes).mean()) > _ROUNDED:
                changes = f"{share:.1%} of the bits of {len(rows)} rows change if {when}. {advice}."
                raise ProtocolError(f"{type(model).__name__}.{encode.__name__}: {changes}")
