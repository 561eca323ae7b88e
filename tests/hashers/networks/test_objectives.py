"""Objectives of networks by hand, and the centres and labels that some require."""

import numpy as np
import pytest
from encoded import refuses

pytest.importorskip("torch", reason="torch is not installed")

import torch

from protocol.hashers.networks.base import shared_labels
from protocol.hashers.networks.buffer_zone import BufferZone, buffered
from protocol.hashers.networks.csq import CSQ
from protocol.hashers.networks.deep_supervised import contrastive
from protocol.hashers.networks.dtsh import triplet
from protocol.hashers.networks.mihash import MIHash
from protocol.hashers.supervised.classifier import class_codes

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


def test_rows_of_a_class_have_one_centre_and_centres_are_half_of_the_bits_apart():
    hasher = CSQ(24, epochs=1).fit(np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 10)
    centres = hasher._centre_of_row
    np.testing.assert_array_equal(centres[10:20], centres[:10])
    np.testing.assert_array_equal((centres[:10, None] != centres[:10]).sum(axis=2), 12 * (1 - np.eye(10)))


def test_several_labels_vote_and_ties_are_random():
    y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 50, dtype=bool)
    hasher = CSQ(16, epochs=1).fit(np.random.default_rng(0).normal(size=(200, 4)), y)
    centres, targets = class_codes(3, 16, np.random.default_rng(0)), hasher._centre_of_row
    np.testing.assert_array_equal(targets[::4], np.broadcast_to(centres[0], (50, 16)))
    agreed = centres[0] == centres[1]
    np.testing.assert_array_equal(targets[1::4, agreed], np.broadcast_to(centres[0, agreed], (50, agreed.sum())))
    np.testing.assert_array_equal(targets[2::4], np.broadcast_to(centres.sum(axis=0) >= 2, (50, 16)))
    for ties in (targets[1::4, ~agreed], targets[3::4]):
        assert 0.4 < ties.mean() < 0.6


X, Y = np.random.default_rng(3).normal(size=(240, 10)), np.arange(240) % 4


@pytest.mark.parametrize(
    ("first", "others", "numbers"), [([0, 0, 0, 0], 0, "0 and 1"), ([1, 1, 0, 0], 0, "1 and 2"), ([0, 1, 1, 1], 1, "3")]
)
def test_odd_numbers_of_labels_are_refused(first, others, numbers):
    labels = np.eye(4, dtype=int)[Y] ^ others
    labels[0] = first
    message = "BufferZone requires 1 or 2 labels per item, the same number for all items, got items with "
    refuses(f"{message}{numbers}[.]$", BufferZone(8).fit, X, labels)
