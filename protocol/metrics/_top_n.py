"""Precision and recall of the top N items of the Hamming ranking, as curves over N; exported by `protocol.metrics`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.counting import HammingCounts
from protocol.metrics._undefined import ratio

_LARGEST, _EVERY, _STEP = 1000, 100, 10


class TopNCurve(NamedTuple):
    """Mean precision and mean recall of the top N items over the queries, each of shape (n_cutoffs,)."""

    n: NDArray[np.int64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


def top_n_curve(counts: HammingCounts, cutoffs: Sequence[int] | None = None, *, empty: str = "zero") -> TopNCurve:
    r"""Return precision and recall of the top N items for several N, as expected values over ties and query means.

    .. math:: P@N = \frac{1}{N} \left(P + \frac{m}{n} (N - S)\right), \quad R@N = \frac{N}{N^+} P@N

    The tie that contains rank N has n items, m of them relevant, and follows S items, P of them relevant. Within a tie,
    the expected number of relevant items is linear in N.

    Parameters
    ----------
    counts : HammingCounts
    cutoffs : sequence of int, optional
        The values of N, at least 1 each; larger values than the size of the database mean the complete database. If
        None, every N up to 100 and every tenth from there to 1,000, or to the size of the database if that is smaller.
    empty : {"zero", "drop"}, default="zero"
        The recall of a query without relevant items: 0, or left out of the mean.

    Returns
    -------
    TopNCurve

    Raises
    ------
    ProtocolError
        If there is no cutoff, one is below 1, or `empty` is unknown.

    References
    ----------
    Papers on hashing show such figures of precision or recall over the number of retrieved items, for example Cao,
    Long, Wang, Yu 2017, *HashNet: Deep Learning to Hash by Continuation*. The values are those of P@K and R@K.

    Examples
    --------
    >>> top_n_curve(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), [1, 2, 3]).recall
    array([0.5 , 0.75, 1.  ])
    """
    size = counts.n_database
    chosen = _default(size) if cutoffs is None else [min(integer(n, "cutoff"), size) for n in cutoffs]
    if not chosen:
        raise ProtocolError("cutoffs: expected at least one, got none.")
    n = np.array(chosen, dtype=np.int64)
    n_relevant = counts.n_relevant
    share = ratio(np.ones(n_relevant.size), n_relevant, empty=empty)
    n_defined = np.count_nonzero(~np.isnan(share))
    precision = _sum_of_found(counts, np.ones(n_relevant.size), int(n.max()))[n - 1] / (counts.n_queries * n)
    recall = ratio(_sum_of_found(counts, np.nan_to_num(share), int(n.max()))[n - 1], n_defined, empty="drop")
    return TopNCurve(n, precision, recall)


def _sum_of_found(counts: HammingCounts, weights: NDArray[np.float64], top: int) -> NDArray[np.float64]:
    """Return the weighted sum over the queries of the expected relevant items among the top 1, 2, ..., `top`, (top,).

    At each of its ranks, a tie adds its share of relevant items. The changes of this share from rank to rank are summed
    over the queries first, and then over the ranks.
    """
    ends = np.minimum(counts.retrieved_within, top)
    starts = np.minimum(counts.retrieved_within - counts.retrieved, top)
    share = counts.relevant / np.maximum(counts.retrieved, 1) * weights[:, None] * (ends > starts)
    rises, falls = (np.bincount(ranks.ravel(), share.ravel(), top + 1) for ranks in (starts, ends))
    return np.cumsum(np.cumsum(rises - falls)[:top])


def _default(size: int) -> list[int]:
    last = min(_LARGEST, size)
    return sorted({*range(1, min(_EVERY, last) + 1), *range(_EVERY, last + 1, _STEP), last})
