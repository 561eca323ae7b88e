"""DTSH: the triplet likelihood by hand and as a loop over triplets, and its options."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError  # noqa: E402
from protocol.hashers.networks.base import shared_labels  # noqa: E402
from protocol.hashers.networks.dtsh import DTSH, triplet  # noqa: E402

LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])


def test_three_items_by_hand():
    """Of two triplets the first is in order by 2, the second by 0; the margin is half of two bits."""
    outputs = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    labels, rows = torch.tensor([0, 0, 1]), torch.arange(3)
    assert triplet(outputs, shared_labels(labels), margin=1).item() == pytest.approx(0.813262, abs=1e-6)
    assert DTSH(2, quantisation=0.5)._loss(outputs, labels, rows, 0).item() == pytest.approx(1.813262, abs=1e-6)


def test_the_loss_is_the_loop_over_triplets():
    U, shared = np.random.default_rng(0).normal(size=(5, 4)), LABELS @ LABELS.T > 0
    theta = U @ U.T / 2
    expected = [
        np.log1p(np.exp(-(theta[q, p] - theta[q, n] - 1.5)))
        for q, p, n in itertools.permutations(range(5), 3)
        if shared[q, p] and not shared[q, n]
    ]
    found = triplet(torch.tensor(U), shared_labels(torch.tensor(LABELS)), margin=1.5).item()
    assert found == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_without_a_triplet_the_loss_is_zero(labels):
    outputs = torch.randn(3, 4, requires_grad=True)
    loss = triplet(outputs, shared_labels(torch.tensor(labels)), margin=2)
    loss.backward()
    assert loss.item() == 0
    assert not outputs.grad.any()


@pytest.mark.parametrize("name", ["margin", "quantisation"])
def test_options_are_not_negative(name):
    with pytest.raises(ProtocolError, match=f"{name}: expected a finite number > 0, got -1"):
        DTSH(8, **{name: -1}).check()
    assert DTSH(8, **{name: 0}).check() is None
