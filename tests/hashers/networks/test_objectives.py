"""Edges of the networks' objectives; tests/reference compares values and gradients with the equations as loops."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch

from protocol.hashers.networks.base import shared_labels
from protocol.hashers.networks.buffer_zone import buffered
from protocol.hashers.networks.deep_supervised import contrastive
from protocol.hashers.networks.dtsh import triplet
from protocol.hashers.networks.mihash import MIHash

CORNERS = torch.tensor(np.where(np.arange(12) < np.arange(13)[:, None], 1.0, -1.0))


def test_the_margins_require_half_of_the_bits_and_all_bits():
    """2 k is k / 2 bits under the squared distance, all of them under the L1 distance of the buffer zone; k is half."""

    def bits_apart(objective, **options):
        losses = [objective(CORNERS[[0, d]], shared_labels(torch.tensor([0, 1])), **options) for d in range(13)]
        return losses.index(0)

    assert bits_apart(contrastive, margin=24) == 6
    assert bits_apart(buffered, zones={}, margin=24) == 12
    assert bits_apart(buffered, zones={}, margin=12) == 6


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_without_a_triplet_the_loss_is_zero(labels):
    outputs = torch.randn(3, 4, requires_grad=True)
    loss = triplet(outputs, shared_labels(torch.tensor(labels)), margin=2)
    loss.backward()
    assert loss.item() == 0
    assert not outputs.grad.any()


def test_equal_rows_have_finite_gradients():
    """Their distances lie on the centre of a bin, next to one that is empty."""
    outputs = torch.full((4, 6), 50.0, requires_grad=True)
    MIHash(6)._loss(outputs, torch.tensor([0, 0, 1, 1]), torch.arange(4), 0).backward()
    assert torch.isfinite(outputs.grad).all()
