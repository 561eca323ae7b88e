r"""Retrieval by two codes: the top N by the first are re-ranked by the second; the nearest items among the first K.

Both rankings have ties. Of the n items at the distance of the first cutoff, t are retrieved, with all subsets of t
items equally likely; items at equal distance by the second code are in random order. At a distance e of the second
code, let a be the number of items that are certainly retrieved, and b the number of items in the tie at the cutoff. Let
X be the number of retrieved items of the tie that are nearer than e, and Y the number of retrieved items among the b.
X is hypergeometric, and so is Y given X. With L retrieved items nearer than e, a known number of them certain,

.. math:: M = \min(\max(K - L, 0),\ a + Y)

of the a + Y items at e are among the first K, all equally likely; r_a + Y r_b / b of the a + Y items are expected to be
relevant. The expected number of relevant items among the first K is therefore the sum over e of the mean of
M (r_a + Y r_b / b) / (a + Y) over X and Y.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.evaluation.code_pairs import CodePair
from protocol.metrics import hypergeometric
from protocol.truth.relevance import Relevance

_BLOCK = 1 << 14  # items whose distances are computed at once
_NEGLIGIBLE = 1e-20
"""Smaller probabilities are ignored: their sum is below the precision of float64."""


class _Tie(NamedTuple):
    """The numbers of retrieved items of a query by distance in the second code, (n_bits + 1,) each.

    `sure` items are certainly retrieved, `sure_relevant` of them are relevant. In addition, `drawn` of the items that
    `tied` counts are retrieved; `tied_relevant` of the tied items are relevant.
    """

    sure: NDArray[np.int64]
    sure_relevant: NDArray[np.int64]
    tied: NDArray[np.int64]
    tied_relevant: NDArray[np.int64]
    drawn: int


def second_stage(
    first: CodePair,
    second: CodePair,
    relevances: Mapping[int, Relevance],
    retrieved: Mapping[int, Sequence[int]],
    *,
    progress: Callable[[int], object] | None = None,
) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Return the share of the K nearest items after re-ranking: worst, expected and best over the ties of both codes.

    Parameters
    ----------
    first : CodePair
        The codes by which items are retrieved.
    second : CodePair
        The codes of the same items by which these are re-ranked.
    relevances : mapping of int to Relevance
        For each K, the K nearest items of each query.
    retrieved : mapping of int to sequence of int
        For each K, the numbers N of items that the first code retrieves, from K to the size of the database.
    progress : callable, optional
        Called with the number of queries that were just processed.

    Returns
    -------
    dict of (int, int) to ndarray of float64, shape (3, n_queries)
        The values for each pair of K and N.

    Notes
    -----
    Queries are processed one at a time, so memory grows with the database, not with queries x database.
    """
    n_queries = len(first.query)
    shares = {(number, top): np.empty((3, n_queries)) for number, tops in retrieved.items() for top in tops}
    most = max((top for _, top in shares), default=0)
    of_queries, again_of_queries = codes.words(first.query), codes.words(second.query)
    items, again_of_items = np.ascontiguousarray(codes.words(first.database).T), codes.words(second.database)
    for row in range(n_queries if shares else 0):
        distance = _distances(of_queries[row], items)
        within = np.cumsum(np.bincount(distance, minlength=first.n_bits + 1))
        candidates = np.flatnonzero(distance <= np.searchsorted(within, most))
        order = np.argsort(distance[candidates], kind="stable")
        candidates = candidates[order]
        again = _distances(again_of_queries[row], again_of_items[candidates].T).astype(np.int64)
        for number, relevance in relevances.items():
            relevant = np.isin(candidates, relevance.row(row)[0])
            for top in retrieved[number]:
                cut = np.searchsorted(within, top)
                before = int(within[cut - 1]) if cut else 0
                tie = _counted(again, relevant, before, int(within[cut]), top, second.n_bits)
                ends = _extreme(tie, number, best=False), _expected(tie, number), _extreme(tie, number, best=True)
                shares[number, top][:, row] = np.array(ends) / number
        if progress is not None:
            progress(1)
    return shares


def _distances(query: NDArray[np.uint64], items: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the Hamming distance of every item, in blocks; `query` is (n_words,), `items` is (n_words, n_items)."""
    distance = np.zeros(items.shape[1], dtype=np.uint16)
    for start in range(0, distance.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        for of_query, of_items in zip(query, items, strict=True):
            distance[block] += np.bitwise_count(of_items[block] ^ of_query)
    return distance


def _counted(
    distance: NDArray[np.int64], relevant: NDArray[np.bool_], before: int, within: int, top: int, n_bits: int
) -> _Tie:
    """Count candidates in the order of the first code: those before the cutoff, and those tied at it."""

    def counted(part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        items, are_relevant = distance[part], relevant[part]
        return np.bincount(items, minlength=n_bits + 1), np.bincount(items[are_relevant], minlength=n_bits + 1)

    return _Tie(*counted(slice(before)), *counted(slice(before, within)), top - before)


def _extreme(tie: _Tie, number: int, *, best: bool) -> int:
    """Return the number of relevant items among the first K in the best or the worst order of the ties of both codes.

    In the best order, the items drawn from the tie at the first cutoff are the relevant ones that are nearest by the
    second code, as many as possible, and then the non-relevant ones that are farthest. No other choice can be better:
    a relevant item is never worse than a non-relevant one, a relevant item is never worse for being nearer, and a
    non-relevant one is never better for being nearer. The worst order is the opposite.
    """
    other = tie.tied - tie.tied_relevant
    favoured, rest = (tie.tied_relevant, other) if best else (other, tie.tied_relevant)
    taken = np.clip(tie.drawn - (np.cumsum(favoured) - favoured), 0, favoured)
    filled = np.clip(tie.drawn - int(taken.sum()) - (np.cumsum(rest[::-1])[::-1] - rest), 0, rest)
    relevant = tie.sure_relevant + (taken if best else filled)
    total = tie.sure + taken + filled
    before = np.cumsum(total) - total + (0 if best else total - relevant)
    return int(np.clip(number - before, 0, relevant).sum())


def _expected(tie: _Tie, number: int) -> float:
    """Return the expected number of relevant items among the first K."""
    sure, sure_relevant, tied, tied_relevant, drawn = tie
    n_tied = int(tied.sum())
    sure_before, tied_before = np.cumsum(sure) - sure, np.cumsum(tied) - tied
    fewest_before = sure_before + np.maximum(0, drawn - (n_tied - tied_before))
    most_within = sure_before + sure + np.minimum(tied_before + tied, drawn)
    inside = most_within <= number
    total = float(sure_relevant[inside].sum() + tied_relevant[inside].sum() * (drawn / max(n_tied, 1)))
    divided = ~inside & (fewest_before < number) & (sure_relevant + tied_relevant > 0)
    for e in np.flatnonzero(divided).tolist():
        total += _expected_at(
            int(sure[e]),
            int(sure_relevant[e]),
            int(tied[e]),
            int(tied_relevant[e]),
            drawn=drawn,
            tied=n_tied,
            tied_before=int(tied_before[e]),
            places=number - int(sure_before[e]),
        )
    return total


def _expected_at(
    a: int, relevant_a: int, b: int, relevant_b: int, *, drawn: int, tied: int, tied_before: int, places: int
) -> float:
    """Return the expected number of relevant items among the first K at one distance of the second code.

    `places` of the K remain after the certain items that are nearer. The letters are those of the module's docstring.
    """
    x = np.arange(max(0, drawn - (tied - tied_before)), min(tied_before, drawn) + 1)
    chance_x = hypergeometric(x[None], np.array([[tied]]), np.array([[tied_before]]), np.array([[drawn]]))[0]
    likely = (x < places) & (chance_x > _NEGLIGIBLE)
    x, chance_x = x[likely, None], chance_x[likely]
    behind, left = tied - tied_before, drawn - x  # items of the tie at e or farther, and how many are drawn
    lowest, highest = np.maximum(0, left - (behind - b)), np.minimum(b, left)
    y = lowest + np.arange((highest - lowest).max(initial=0) + 1)
    chance = hypergeometric(y, behind, b, left)
    items = np.maximum(a + y, 1)
    share = np.minimum(places - x, items) / items
    expected = (chance * share * (relevant_a + y * (relevant_b / max(b, 1)))).sum(axis=1)
    return float((chance_x * expected).sum())
