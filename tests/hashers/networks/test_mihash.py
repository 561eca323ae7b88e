"""MIHash: mutual information by hand and as a loop, its histograms compared with those of TALR, and its options."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError  # noqa: E402
from protocol.hashers.networks.base import shared_labels  # noqa: E402
from protocol.hashers.networks.mihash import MIHash, mutual_information, soft_histogram  # noqa: E402
from protocol.hashers.talr import objectives as ranking  # noqa: E402

LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])


def slow_information(H, similar, width):
    """Return the mean of I(D; C) over the rows, from loops over bins and other rows."""
    n, k = H.shape
    centres = np.arange(0, k + width, width)

    def entropy(distances):
        histogram = [sum(max(0, 1 - abs(d - centre) / width) for d in distances) for centre in centres]
        return -sum(p * np.log2(p) for p in np.divide(histogram, max(1, len(distances))) if p > 0)

    found = []
    for q in range(n):
        distances = {True: [], False: []}
        for i in set(range(n)) - {q}:
            distances[bool(similar[q, i])].append((k - H[q] @ H[i]) / 2)
        given = sum(len(of) / (n - 1) * entropy(of) for of in distances.values())
        found.append(entropy(distances[True] + distances[False]) - given)
    return np.mean(found)


def test_three_items_by_hand():
    """Distances 1/2, 2 and 3/2: the first query learns 1 bit, the second 1/2, the third has no neighbour."""
    codes = torch.tensor([[1.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    shared = shared_labels(torch.tensor([0, 0, 1]))
    assert mutual_information(codes, shared, bin_width=1).item() == pytest.approx((1 + 0.5 + 0) / 3)
    corners = torch.tensor([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    assert mutual_information(corners, shared, bin_width=2).item() == pytest.approx(2 / 3)


@pytest.mark.parametrize("width", [1, 2, 1.5, 20])
def test_mutual_information_is_the_loop_over_bins_and_rows(width):
    H, similar = np.tanh(np.random.default_rng(0).normal(size=(6, 7))), LABELS @ LABELS.T > 0
    found = mutual_information(torch.tensor(H), shared_labels(torch.tensor(LABELS)), bin_width=width).item()
    assert found == pytest.approx(slow_information(H, similar, width), rel=1e-12)
    assert found > 0


def test_the_histograms_are_those_of_tie_aware_learning_to_rank():
    rng = np.random.default_rng(1)
    H, relevant = np.tanh(rng.normal(size=(9, 5))), rng.random((9, 9)) < 0.4
    gains, seen = relevant & ~np.eye(9, dtype=bool), []

    def observed(gain, total, best):
        seen.extend([gain, total])
        return ranking.ap_s(gain, total, best)

    ranking.mean_objective(H, gains.astype(float), np.ones(9), observed)
    distance = torch.tensor((5 - H @ H.T) / 2)
    for counted, expected in zip((gains, ~np.eye(9, dtype=bool)), seen, strict=True):
        found = soft_histogram(distance, torch.tensor(counted), 5, 1)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_equal_rows_have_finite_gradients():
    """Their distances lie on the centre of a bin, next to one that is empty."""
    outputs = torch.full((4, 6), 50.0, requires_grad=True)
    MIHash(6)._loss(outputs, torch.tensor([0, 0, 1, 1]), torch.arange(4), 0).backward()
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize("name", ["bin_width", "slope"])
def test_options_are_positive(name):
    with pytest.raises(ProtocolError, match=f"{name}: expected a finite number > 0, got 0"):
        MIHash(8, **{name: 0}).check()
