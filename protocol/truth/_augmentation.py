r"""Augment vectors so that one float32 inner product compares a pair's distance with a bound, with a known error.

A *key* represents a distance: it increases with the distance and consists of inner products.

- Euclidean: the squared distance, :math:`|a - b|^2 = \langle (-2a, |a|^2, 1), (b, 1, |b|^2) \rangle`.
- Cosine and dot: minus the inner product of the query, of length about 1, and the item.

Each query q has a bound :math:`s_q` on its keys. The inner product of an augmented query and an augmented item is the
pair's key minus the bound minus an allowance for rounding errors. So it is never positive for a pair within the bound,
and the key exceeds product + bound by at most the sum of the *uncertainties* of the query and of the item. Both
statements hold for the key of the exact vectors and for that of the distance that `protocol.truth._distances`
computes in float64.

Items that float32 can't represent, because they are more than a thousand times larger than the queries and a sample of
the database, have an infinite uncertainty.

The errors
----------
The centre of a sample of the database is subtracted from the items, which makes norms, and therefore rounding errors,
small (for inner products, this shifts all keys of a query equally). Then items are scaled by a power of two, so that
float32 neither overflows nor underflows. Let :math:`\alpha, \beta` be two such items in exact arithmetic, `a`, `b`
their float32 values, m = d + 2, u = 2^-24 the unit roundoff, and :math:`\gamma = mu / (1 - mu)`, with mu < 1/15. An
inner product of m terms :math:`\sum x_i y_i`, added in any order, with or without fused operations, is off by at most
:math:`\gamma |x||y|` (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1), and by 2^-126 for
each term that underflows, even if underflow is flushed to zero. No norm of an item is above 2^32, so the same underflow
of an item's component changes a key by less than 2^-90 m.

**Euclidean.** Let :math:`A = |a|^2 + |b|^2`. The difference between :math:`|\alpha - \beta|^2 - s` and the product has
these causes:

- centring: :math:`|a - \alpha| \le u |\alpha|`, so the squared distance changes by less than 4.1 u A;
- two norms in float32: :math:`u (A + |s|)`;
- the product: :math:`\gamma (2|a||b| + A + |s|) \le \gamma (2 A + |s|)`;
- float64 in norms and in the reference distances: below u A / 1000 for few dimensions, and below 0.1 mu A for many.

The sum is less than :math:`c (A + |s|) + t` with c = (3m + 8) u and t = 2^-89 m.

**Cosine and dot.** The query is divided by its length (cosine), or by a power of two so that its length is in [1/2, 1)
(dot); the item b is divided by its length for the cosine. Let g be the centre, which is subtracted only from the item.
The difference between :math:`-\langle \alpha, \beta \rangle - s` and the product has these causes:

- the query in float32: :math:`|a - \alpha| \le u`, so the key changes by less than 1.1 u |b|;
- centring: 1.1 u |b|, and for the cosine the division by the length, two roundings of a unit vector: 2.1 u;
- bound and allowance in float32: 1.1 u |s| + 0.1 u |b|;
- the product: :math:`\gamma (|b| + 1.1 |s| + 0.1 |b|) \le 1.2\,mu\,(|b| + |s|)`;
- float64, in the formula and in the inner product of query and centre: :math:`(d + 8) 2^{-52} (|b| + |g|)`; and if
  the formula of dot underflows in float64, 2^-1074 d times the factors by which query and item were scaled.

The sum is less than :math:`c (|b| + |s|) + 2^{-52} (d + 8) (|b| + |g|) + t` with c = (1.2m + 6) u, and 3 u more
for the cosine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.truth._distances import balanced

MOST_FEATURES = 1 << 20
"""The maximum number of features for which the bounds on rounding errors hold."""
FARTHEST = 2.0**68
"""Larger than the key of any pair that float32 can represent; an upper limit on keys and bounds."""
_LARGEST_NORM = 2.0**32
_LARGEST_NUMBER = 2.0**500  # a million squares of it can be added in float64
_NUMBERS = 1 << 22  # in the sample for the centre and the scale, and per block of checks
_U = 2.0**-24
_Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


class Augmented(NamedTuple):
    """Augmented vectors (n, d + 2), and the uncertainty that each adds to the keys of its pairs (n,)."""

    vectors: NDArray[np.float32]
    uncertainty: NDArray[np.float64]


class AugmentedQueries(NamedTuple):
    """Augmented queries without their bounds.

    Parameters
    ----------
    vectors : (n, d + 2) float32
        The second to last column is for the bounds.
    constant, error : (n,) float64
        The value of that column for a bound of 0, and the allowance for rounding errors.
    relative : float
        The allowance for errors caused by a bound, as a fraction of the bound.
    keys : callable
        ``keys(distances, rows)`` returns intervals, far narrower than any uncertainty, that contain the keys of
        distances from these rows of the queries. Equal distances from a row have equal intervals.
    """

    vectors: NDArray[np.float32]
    constant: NDArray[np.float64]
    error: NDArray[np.float64]
    relative: float
    keys: Callable[[NDArray[np.float64], NDArray[np.integer]], _Interval]

    def within(self, bound: NDArray[np.float64]) -> Augmented:
        """Return the left side of the product for bounds (n,) with magnitudes up to `FARTHEST`."""
        error = self.error + self.relative * np.abs(bound)
        vectors = self.vectors.copy()
        vectors[:, -2] = self.constant - bound - error
        return Augmented(vectors, 2 * error)


class SquaredAugmentation:
    """Augments vectors for the Euclidean distance.

    Parameters
    ----------
    query, database : (n, d)
        Checked queries, and the database, of which only a sample is read.
    """

    def __init__(self, query: NDArray, database: NDArray) -> None:
        sample = _sample(database)
        centre = _mean(sample, database.shape[1])
        farthest = [np.maximum(X.max(axis=0) - centre, centre - X.min(axis=0)) for X in (query, sample) if len(X)]
        self._frame = _Frame.around(centre, float(max(map(np.linalg.norm, farthest))), narrow=_narrow(database))
        self._m = database.shape[1] + 2
        self._relative, self._absolute = (3 * self._m + 8) * _U, self._m * 2.0**-89

    def key(self, distance: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the keys of distances, correct to 50 bits."""
        with np.errstate(over="ignore"):
            return np.minimum(np.square(np.asarray(distance) * self._frame.scale), FARTHEST)

    def _keys(self, distance: NDArray[np.float64], rows: NDArray[np.integer]) -> _Interval:
        key = self.key(distance)
        return key * (1 - 2.0**-49), key * (1 + 2.0**-49)

    def queries(self, X: NDArray) -> AugmentedQueries:
        """Return augmented queries without their bounds; `X` must have passed the checks."""
        augmented, squared = self._centred(X)
        augmented[:, :-2] *= -2
        augmented[:, -1] = 1
        error = self._relative * squared + self._absolute
        return AugmentedQueries(augmented, squared, error, self._relative, self._keys)

    def items(self, X: NDArray, first_row: int) -> Augmented:
        """Return the right side of the product for some items; raise ProtocolError if one is not finite."""
        augmented, squared = self._centred(X)
        error = self._relative * squared
        augmented[:, -2] = 1
        augmented[:, -1] = squared - error
        return _unlimited(Augmented(augmented, 2 * error), squared, X, first_row)

    def _centred(self, X: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the centred and scaled vectors, with two more columns to be filled, and their squared norms."""
        augmented = np.empty((len(X), self._m), dtype=np.float32)
        centred = self._frame.move(X, augmented[:, :-2])
        return augmented, np.einsum("ij,ij->i", centred, centred, dtype=np.float64)


class InnerAugmentation:
    """Augments vectors for the distances based on an inner product.

    Parameters
    ----------
    database : (n, d)
        Only a sample of it is read.
    unit : bool
        Whether vectors are divided by their lengths, as for the cosine distance.
    """

    def __init__(self, database: NDArray, *, unit: bool) -> None:
        self._unit = unit
        sample = _sample(database)
        sample = _of_length_one(sample[sample.any(axis=1)], 0) if unit else sample
        centre = sample.mean(axis=0, dtype=np.float64) if len(sample) else np.zeros(database.shape[1])
        reach = float(np.linalg.norm(sample - centre, axis=1).max()) if len(sample) and not unit else 0.0
        self._frame = _Frame.around(centre, reach, narrow=_narrow(database))
        self._m = database.shape[1] + 2
        self._relative, self._absolute = (1.2 * self._m + 6) * _U, self._m * 2.0**-89
        self._float64 = (self._m + 6) * 2.0**-52

    def queries(self, X: NDArray) -> AugmentedQueries:
        """Return augmented queries without their bounds; `X` must have passed the checks."""
        directions, exponents = balanced(X)
        norms = np.linalg.norm(directions, axis=1)
        if self._unit:
            directions, exponents = directions / norms[:, None], np.zeros_like(exponents)
        else:
            more = np.frexp(norms)[1]
            directions = np.ldexp(directions, -more[:, None])
            exponents = self._frame.exponent - exponents - more
        augmented = np.empty((len(X), self._m), dtype=np.float32)
        np.negative(directions, out=augmented[:, :-2], casting="same_kind")
        augmented[:, -1] = 1
        constant = directions @ self._frame.centre.astype(np.float64) - self._unit
        underflow = np.ldexp(float(self._m), exponents - 1074)

        def keys(distance: NDArray[np.float64], rows: NDArray[np.integer]) -> _Interval:
            parts = np.ldexp(distance, exponents[rows]), constant[rows]
            slack = (np.abs(parts[0]) + np.abs(parts[1])) * 2.0**-49
            low, high = (np.clip(parts[0] + parts[1] + side, -FARTHEST, FARTHEST) for side in (-slack, slack))
            return low, high

        return AugmentedQueries(augmented, np.zeros(len(X)), self._absolute + underflow, self._relative, keys)

    def items(self, X: NDArray, first_row: int) -> Augmented:
        """Return the right side of the product for some items.

        Raises ProtocolError if one is not finite or, for the cosine distance, zero.
        """
        augmented = np.empty((len(X), self._m), dtype=np.float32)
        centred = self._frame.move(_of_length_one(X, first_row) if self._unit else X, augmented[:, :-2])
        squared = np.vecdot(centred, centred).astype(np.float64)
        norm = 1.04 * np.sqrt(squared)  # the square may be off by 8 % in float32
        error = self._relative * norm + self._float64 * (norm + self._frame.centre_norm) + 3 * _U * self._unit
        augmented[:, -2] = 1
        augmented[:, -1] = -error
        return _unlimited(Augmented(augmented, 2 * error), squared, X, first_row)


@dataclass(frozen=True)
class _Frame:
    """A transformation of vectors: scaling by ``2**exponent``, and then subtraction of the centre."""

    exponent: int
    centre: NDArray[np.floating]
    centre_norm: float

    @classmethod
    def around(cls, centre: NDArray[np.float64], reach: float, *, narrow: bool) -> "_Frame":
        """Return the frame in which vectors within `reach` of the centre have norms of about 2^20 or less.

        The centre is float32 if the database is narrow. The scale ensures that its rounding changes norms little.
        """
        exponent = min(100, 20 - int(np.frexp(reach)[1])) if reach else 0
        exponent = min(exponent, (36 if narrow else 64) - int(np.frexp(np.abs(centre).max())[1]))
        scaled = np.ldexp(centre, exponent)
        return cls(exponent, scaled.astype(np.float32) if narrow else scaled, float(np.linalg.norm(scaled)))

    @property
    def scale(self) -> float:
        return 2.0**self.exponent

    def move(self, X: NDArray, out: NDArray[np.float32]) -> NDArray[np.float32]:
        """Write the transformed vectors to `out`, using float64 if float32 can't represent X or the centre."""
        if _narrow(X) and _narrow(self.centre):
            np.multiply(X, np.float32(self.scale), out=out)
            out -= self.centre
        else:
            np.subtract(X * self.scale, self.centre, out=out, casting="same_kind")
        return out


def check_rows(X: NDArray, name: str, first_row: int = 0, *, unit: bool = False) -> None:
    """Raise ProtocolError for the first row that is not finite, too large for float64 to square, or, if `unit`, zero.

    Parameters
    ----------
    X : (n, d)
    name : str
        Name of the array, for the message.
    first_row : int, default=0
        Number of the first row, for the message.
    unit : bool, default=False
    """
    size = max(1, _NUMBERS // X.shape[1])
    for start in range(0, len(X), size):
        block = X[start : start + size]
        finite, zero = np.isfinite(block), (np.count_nonzero(block, axis=1) == 0) & unit
        within = np.abs(block.astype(np.float64)) <= _LARGEST_NUMBER
        bad = np.flatnonzero(~within.all(axis=1) | zero)
        if bad.size:
            row = bad[0]
            if zero[row]:
                expected, got = "a vector that is not zero, because its cosine distance is undefined", "zeros only"
            elif finite[row].all():
                expected, got = f"numbers up to {_LARGEST_NUMBER:.1e}", block[row][~within[row]][0]
            else:
                expected, got = "finite numbers", block[row][~finite[row]][0]
            raise ProtocolError(f"{name} row {first_row + start + row}: expected {expected}, got {got}.")


def _unlimited(augmented: Augmented, squared: NDArray[np.float64], X: NDArray, first_row: int) -> Augmented:
    """Return augmented items; those too large for float32 are within every bound, with infinite uncertainty."""
    large = ~(squared <= _LARGEST_NORM**2)
    if large.any():
        check_rows(X, "database", first_row)
        augmented.vectors[large] = 0
        augmented.vectors[large, -1] = -(2.0**100)
        augmented.uncertainty[large] = np.inf
    return augmented


def _of_length_one(X: NDArray, first_row: int) -> NDArray[np.floating]:
    """Return rows of the database divided by their lengths, in float32 if their type is narrow and lengths are normal.

    Raises ProtocolError if one is not finite or zero.
    """
    vectors = X.astype(np.float32) if _narrow(X) else balanced(X)[0]
    squared = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    if not (squared.min(initial=1) > 0 and squared.max(initial=1) < np.inf):
        check_rows(X, "database", first_row, unit=True)
    lengths = np.sqrt(squared)
    if vectors.dtype == np.float32 and lengths.min(initial=1) > 2.0**-100 and lengths.max(initial=1) < 2.0**100:
        vectors *= (1 / lengths).astype(np.float32)[:, None]
        return vectors
    return vectors / lengths[:, None]


def _sample(database: NDArray) -> NDArray:
    """Return up to 1,024 rows, evenly spaced in the database, without those that are not finite."""
    n_rows = max(1, min(1024, _NUMBERS // database.shape[1]))
    sample = database[:: len(database) // n_rows + 1]
    return sample[(np.abs(sample.astype(np.float64)) <= _LARGEST_NUMBER).all(axis=1)]


def _mean(sample: NDArray, d: int) -> NDArray[np.float64]:
    return sample.mean(axis=0, dtype=np.float64) if len(sample) else np.zeros(d)


def _narrow(X: NDArray) -> bool:
    """Return whether float32 can represent all values of the array's dtype."""
    return np.can_cast(X.dtype, np.float32)
