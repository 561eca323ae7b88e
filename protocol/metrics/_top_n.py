"""Precision and recall of the top N of the Hamming ranking, as curves over N; `protocol.metrics` offers them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer
from protocol.metrics._undefined import mean, ratio
from protocol.ranking import HammingCounts

_LARGEST, _EVERY, _STEP = 1000, 100, 10


class TopNCurve(NamedTuple):
    """Precision and recall of the top N items, means over the queries; each of shape (n_cutoffs,)."""

    n: NDArray[np.int64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


def top_n_curve(counts: HammingCounts, cutoffs: Sequence[int] | None = None, *, empty: str = "zero") -> TopNCurve:
    r"""Precision and recall of the top N items for several N, expected over ties and averaged over the queries.

    .. math:: P@N = \frac{1}{N} \left(P + \frac{m}{n} (N - S)\right), \quad R@N = \frac{N}{N^+} P@N

    The tie that holds the N-th place has n items, m of them relevant, after S items, P of them relevant: within a tie,
    the expected number of relevant items is linear in N.

    Parameters
    ----------
    counts : HammingCounts
    cutoffs : sequence of int, optional
        N, at least 1 each; the whole database if larger. If None: every N up to 100 and then every tenth up to 1,000,
        or up to the size of the database if that is smaller.
    empty : {"zero", "drop"}, default="zero"
        The recall of a query without relevant items: 0, or left out of the mean.

    Returns
    -------
    TopNCurve

    Raises
    ------
    ProtocolError
        If a cutoff is below 1, or `empty` is unknown.

    References
    ----------
    The figures of papers on hashing that show precision or recall over the number of retrieved items, for example Cao,
    Long, Wang, Yu 2017, *HashNet: Deep Learning to Hash by Continuation*. The values are those of P@K and R@K.

    Examples
    --------
    >>> top_n_curve(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), [1, 2, 3]).recall
    array([0.5 , 0.75, 1.  ])
    """
    size = counts.n_database
    chosen = _default(size) if cutoffs is None else [min(integer(n, "cutoff"), size) for n in cutoffs]
    n = np.array(chosen, dtype=np.int64)
    items, relevant = (np.pad(within, ((0, 0), (1, 0))) for within in (counts.retrieved_within, counts.relevant_within))
    found = np.array([np.interp(n, *knots) for knots in zip(items, relevant, strict=True)])
    recall = ratio(found, counts.n_relevant[:, None], empty=empty)
    return TopNCurve(n, found.mean(axis=0) / n, np.array([mean(values) for values in recall.T]))


def _default(size: int) -> list[int]:
    last = min(_LARGEST, size)
    return sorted({*range(1, min(_EVERY, last) + 1), *range(_EVERY, last + 1, _STEP), last})
