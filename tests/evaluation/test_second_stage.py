"""Retrieval by two codes, compared with all choices at the cutoff and all orders of ties."""

import itertools

import numpy as np
import pytest

from protocol import codes
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.second_stage import second_stage
from protocol.truth.relevance import NeighbourRelevance


def tops(distance, items, n):
    """Return all sets of the n nearest of some items."""
    cut = np.sort(distance[items])[n - 1]
    sure = [item for item in items if distance[item] < cut]
    tied = [item for item in items if distance[item] == cut]
    return [[*sure, *more] for more in itertools.combinations(tied, n - len(sure))]


def all_orders(first, second, relevant, retrieved, number):
    """Return the worst, the expected and the best share of relevant items."""
    shares = [
        [len(relevant.intersection(final)) / number for final in tops(second, np.array(chosen), number)]
        for chosen in tops(first, np.arange(len(first)), retrieved)
    ]
    flat = list(itertools.chain(*shares))
    return min(flat), np.mean([np.mean(of_choice) for of_choice in shares]), max(flat)


@pytest.mark.parametrize("seed", range(60))
def test_all_orders(seed):
    rng = np.random.default_rng(seed)
    n, number, lengths = int(rng.integers(4, 10)), int(rng.integers(1, 4)), (int(rng.integers(1, 4)), 3)
    sides = [(rng.random((2, bits)) < 0.5, rng.random((n, bits)) < 0.5) for bits in lengths]
    rows = [np.sort(rng.choice(n, number + extra, replace=False)) for extra in (0, int(rng.integers(0, 2)))]
    relevance = NeighbourRelevance(np.cumsum([0, *map(len, rows)]), np.concatenate(rows), n)
    first, second = (
        CodePair(codes.pack(query), codes.pack(database), bits)
        for (query, database), bits in zip(sides, lengths, strict=True)
    )
    retrieved = range(number, n + 1)
    found = second_stage(first, second, {number: relevance}, {number: list(retrieved)})
    for row in range(2):
        distances = [(query[row] != database).sum(axis=1) for query, database in sides]
        for top in retrieved:
            expected = all_orders(*distances, set(rows[row].tolist()), top, number)
            np.testing.assert_allclose(found[number, top][:, row], expected, rtol=1e-12, atol=1e-14)


def test_large_ties_against_draws():
    """3,000 items in two ties, of which 250 are retrieved; the standard error of 4,000 draws is below 0.002."""
    rng = np.random.default_rng(1)
    n, number, retrieved = 3000, 50, 250
    query, database = np.zeros((1, 1), bool), rng.random((n, 1)) < 0.96
    again = rng.random((n, 6)) < 0.4
    relevant = np.sort(rng.choice(n, number, replace=False, p=(weight := 2.0 ** -again.sum(axis=1)) / weight.sum()))
    found = second_stage(
        CodePair(codes.pack(query), codes.pack(database), 1),
        CodePair(codes.pack(np.zeros((1, 6), bool)), codes.pack(again), 6),
        {number: NeighbourRelevance([0, number], relevant, n)},
        {number: [retrieved]},
    )[number, retrieved][:, 0]
    shares = []
    for _ in range(4000):
        order = rng.permutation(n)
        candidates = order[np.argsort(database[order, 0], kind="stable")[:retrieved]]
        final = candidates[np.argsort(again[candidates].sum(axis=1), kind="stable")[:number]]
        shares.append(np.isin(final, relevant).mean())
    assert np.std(shares) / 4000**0.5 < 0.002
    assert abs(np.mean(shares) - found[1]) < 0.008
    assert found[0] <= min(shares) <= max(shares) <= found[2]
