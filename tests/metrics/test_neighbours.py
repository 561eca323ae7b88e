"""neighbours@K and 1-recall@K, against all orders of the tied items."""

import itertools

import numpy as np
import pytest

from protocol import metrics
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts
from protocol.metrics import neighbours_found


def orders(distance):
    """Yield all orders of items by distance, each order of ties."""
    ties = [np.flatnonzero(distance == value).tolist() for value in np.unique(distance)]
    for parts in itertools.product(*(itertools.permutations(tie) for tie in ties)):
        yield [item for part in parts for item in part]


def counts_of(distance, relevant):
    n_distances = distance.max() + 1
    return HammingCounts.from_histograms(
        [np.bincount(distance, minlength=n_distances)], [np.bincount(distance[sorted(relevant)], minlength=n_distances)]
    )


@pytest.mark.parametrize("seed", range(12))
def test_all_orders(seed):
    """Up to six items, several of them as far as the K-th nearest."""
    rng = np.random.default_rng(seed)
    n, nearest = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    distance = rng.integers(0, 3, n)
    relevant = set(rng.choice(n, min(n, nearest + int(rng.integers(0, 3))), replace=False).tolist())
    counts = counts_of(distance, relevant)
    for retrieved in range(1, n + 1):
        shares = [min(len(relevant.intersection(order[:retrieved])), nearest) / nearest for order in orders(distance)]
        for ties, expected in (("worst", min(shares)), ("expected", np.mean(shares)), ("best", max(shares))):
            found = neighbours_found(counts, nearest=nearest, retrieved=retrieved, ties=ties)
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_many_equally_near_items():
    """The chance that none of 40,000 of 100,000 equally near items is among the first 20."""
    counts = HammingCounts.from_histograms([[100_000]], [[40_000]])
    absent = np.prod((60_000 - np.arange(20)) / (100_000 - np.arange(20)))
    np.testing.assert_allclose(neighbours_found(counts, nearest=1, retrieved=20), 1 - absent, rtol=1e-12)


@pytest.mark.parametrize(("metric", "n_relevant"), [("neighbours@2", 1), ("1-recall@2[best]", 0)])
def test_counts_that_lack_nearest_items_are_refused(metric, n_relevant):
    with pytest.raises(
        ProtocolError, match=rf"counts: the relevant items .* its . nearest, but a query has {n_relevant}"
    ):
        metrics.evaluate(HammingCounts.from_histograms([[9]], [[n_relevant]]), [metric])
