"""The values behind a mean, by run or by query, and the pairing of those that belong to the same items."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RUN, QUERY = "run", "query"


@dataclass(frozen=True, eq=False)
class Values:
    """The values behind one mean.

    Parameters
    ----------
    unit : {"run", "query"}
        The unit that has one value each.
    items : ndarray of str
        For runs, identifiers of the run and its queries, database and ground truth, (n,). For queries, the digest of
        the ground truth, (1,).
    numbers : ndarray of float64, shape (n,)
        NaN where a query is left out.
    """

    unit: str
    items: NDArray[np.str_]
    numbers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Defined values of two methods on the same items; `of` is the number of items for which either has a value."""

    unit: str
    one: NDArray[np.float64]
    other: NDArray[np.float64]
    of: int


def pair(one: Values, other: Values) -> Pairs | str:
    """Return the values of the same runs or queries, or the reason why there are none.

    Examples
    --------
    >>> runs = Values(RUN, np.array(["0 a", "1 b", "2 c"]), np.array([0.4, 0.5, 0.6]))
    >>> pair(runs, Values(RUN, np.array(["1 b", "2 c", "3 d"]), np.array([0.7, 0.8, 0.9]))).one
    array([0.5, 0.6])
    >>> pair(runs, Values(RUN, np.array(["0 x", "1 y"]), np.array([0.7, 0.8])))
    'no run has the same queries, database and ground truth in both'
    """
    if one.unit != other.unit:
        return f"one has a value per {one.unit}, the other a value per {other.unit}"
    if one.unit == RUN:
        _, left, right = np.intersect1d(one.items, other.items, return_indices=True)
        if not left.size:
            return "no run has the same queries, database and ground truth in both"
    elif one.items[0] != other.items[0] or one.numbers.size != other.numbers.size:
        return "the ground truths of their queries differ"
    else:
        left = right = np.arange(one.numbers.size)
    x, y = one.numbers[left], other.numbers[right]
    defined = ~(np.isnan(x) | np.isnan(y))
    if defined.sum() < 2:
        return f"fewer than two {'runs' if one.unit == RUN else 'queries'} have a value in both"
    return Pairs(one.unit, x[defined], y[defined], max(one.numbers.size, other.numbers.size))
