"""HashNet: the weighted likelihood by hand and as a loop over pairs, its continuation and its options."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError  # noqa: E402
from protocol.hashers.networks.base import shared_labels  # noqa: E402
from protocol.hashers.networks.hashnet import HashNet, weighted_pairwise  # noqa: E402

LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])


def test_three_items_by_hand():
    """Inner products 1, 0 and 1 times alpha, 2; the two dissimilar pairs weigh as much as the similar one."""
    codes = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = weighted_pairwise(codes, shared_labels(torch.tensor([0, 0, 1])), alpha=2).item()
    assert found == pytest.approx(0.126928 + (0.693147 + 2.126928) / 2, abs=1e-6)


def test_the_loss_is_the_loop_over_weighted_pairs():
    H = np.tanh(np.random.default_rng(0).normal(size=(5, 4)))
    pairs = list(itertools.combinations(range(5), 2))
    similar = [bool((LABELS[i] & LABELS[j]).any()) for i, j in pairs]
    expected = 0
    for (i, j), s in zip(pairs, similar, strict=True):
        product = 0.7 * H[i] @ H[j]
        weight = len(pairs) / (sum(similar) if s else len(pairs) - sum(similar))
        if s:
            weight *= (LABELS[i] & LABELS[j]).sum() / (LABELS[i] | LABELS[j]).sum()
        expected += weight * (np.log(1 + np.exp(product)) - s * product)
    found = weighted_pairwise(torch.tensor(H), shared_labels(torch.tensor(LABELS)), alpha=0.7).item()
    assert found == pytest.approx(expected / len(pairs), rel=1e-12)


def test_beta_grows_from_one_to_its_option():
    outputs, labels = torch.tensor([[0.3, -0.2], [0.1, 0.4], [-0.5, 0.2]]), torch.tensor([0, 0, 1])
    hasher = HashNet(2, alpha=3, beta=5, epochs=9)
    for epoch, beta in ((0, 1), (3, 10**0.5), (8, 5)):
        expected = weighted_pairwise((beta * outputs).tanh(), shared_labels(labels), alpha=1.5)
        assert hasher._loss(outputs, labels, torch.arange(3), epoch).item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha: expected a finite number > 0, got 0"),
        ({"beta": 0.5}, "beta: expected a number >= 1, got 0.5"),
        ({"beta": "7"}, "beta: expected a finite number > 0, got '7'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ProtocolError, match=message):
        HashNet(8, **options).check()
