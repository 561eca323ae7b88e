"""Checks that the training set and the seed determine a model, and that the model and a row determine its code."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from protocol.checks import ProtocolError, listed
from protocol.hashers.base import Hasher
from protocol.hashers.training_set import TrainingSet

_ROWS = 63  # encoded again after an odd number of others, so that they change between odd and even rows of a batch
_ROUNDED = 0.01  # the largest share of bits that may differ, because an output is within rounding of its threshold


def check_hasher(hasher: Hasher, X: ArrayLike | TrainingSet, y: Any = None) -> None:
    """Raise ProtocolError unless two fits give the same model, which gives each row the same code in every batch.

    The pipeline checks the codes of every model. A second fit would take as long as the first, so it is left to the
    authors of hashers.

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
    training, name = X if isinstance(X, TrainingSet) else TrainingSet(X, y), type(hasher).__name__
    first, second = (type(hasher)(**hasher.get_params()).fit(training).to_arrays() for _ in range(2))
    different = [key for key in first if first[key].tobytes() != second[key].tobytes()]
    if different:
        arrays = listed("the fit record" if key == "model" else key for key in different)
        raise ProtocolError(f"{name}._fit: two fits with one seed differ in {arrays}. Draw random numbers from `rng`.")
    check_codes(hasher.from_arrays(first), training)


def check_codes(model: Hasher, training: TrainingSet) -> None:
    """Raise ProtocolError if codes of training rows change with a repetition or other rows, or can't be computed."""
    sides = [(model.transform, training.X)]
    if model.supervision == "pairs":
        sides.append((model.transform_database, training.pairs))
    for encode, X in sides:
        rows = X[:: max(1, len(X) // _ROWS)][:_ROWS]
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
