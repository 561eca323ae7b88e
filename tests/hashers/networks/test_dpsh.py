"""DPSH: the pairwise likelihood by hand and as a loop over pairs, and its options."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError  # noqa: E402
from protocol.hashers.networks.base import quantisation, shared_labels  # noqa: E402
from protocol.hashers.networks.dpsh import DPSH, pairwise  # noqa: E402

LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])


def test_three_items_by_hand():
    """Inner products 4, 0 and 4, so theta is 2 of the similar pair, 0 and 2 of the others."""
    outputs = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    shared = shared_labels(torch.tensor([0, 0, 1]))
    assert pairwise(outputs, shared).item() == pytest.approx((0.126928 + 0.693147 + 2.126928) / 3, abs=1e-6)
    assert quantisation(outputs).item() == 2
    labels, rows = torch.tensor([0, 0, 1]), torch.arange(3)
    assert DPSH(2, quantisation=0.5)._loss(outputs, labels, rows, 0).item() == pytest.approx(1.982334, abs=1e-6)


def test_the_loss_is_the_loop_over_pairs_that_share_a_label_or_none():
    U = np.random.default_rng(0).normal(size=(5, 4))
    expected = []
    for i, j in itertools.combinations(range(5), 2):
        probability = 1 / (1 + np.exp(-U[i] @ U[j] / 2))
        expected.append(-np.log(probability if (LABELS[i] & LABELS[j]).any() else 1 - probability))
    found = pairwise(torch.tensor(U), shared_labels(torch.tensor(LABELS))).item()
    assert found == pytest.approx(np.mean(expected), rel=1e-12)


def test_the_weight_of_the_quantisation_term_is_not_negative():
    with pytest.raises(ProtocolError, match="quantisation: expected a finite number > 0, got -1"):
        DPSH(8, quantisation=-1).check()
    assert DPSH(8, quantisation=0).check() is None
