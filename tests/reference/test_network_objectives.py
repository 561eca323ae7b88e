"""The networks' losses and gradients are those of the papers' equations, and so are the objectives of linear TALR."""

import importlib.util
import itertools

import network_objectives as reference
import numpy as np
import pytest

from protocol import registry
from protocol.hashers import NetworkHasher
from protocol.hashers.talr import objectives

EVERY = list(itertools.product(reference.LOSSES, reference.LABELS))
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def agrees(name, labels, loss, gradient):
    expected, by_outputs = reference.computed(name, labels)
    assert loss == pytest.approx(expected, rel=1e-8)
    largest = np.abs(by_outputs).max()
    assert largest > 1e-4
    np.testing.assert_allclose(gradient, by_outputs, rtol=0, atol=1e-6 * largest)


def test_every_network_has_a_reference():
    networks = [name for name in registry.names("hasher") if issubclass(registry.get("hasher", name), NetworkHasher)]
    assert sorted({name.split()[0] for name in reference.LOSSES}) == networks


@needs_torch
@pytest.mark.parametrize(("name", "labels"), EVERY)
def test_losses_and_gradients_are_those_of_the_equations(name, labels):
    import torch

    plugin, _, relaxation = name.partition(" ")
    options = {"relaxation": relaxation} if relaxation else {}
    hasher = registry.get("hasher", plugin)(reference.N_BITS, epochs=reference.EPOCHS, **options)
    hasher._centre_of_row = reference.CENTRES  # of CSQ
    outputs = torch.tensor(reference.OUTPUTS, requires_grad=True)
    y = reference.LABELS[labels]
    y = torch.tensor(y.argmax(axis=1) if labels == "classes" else y > 0)
    loss = hasher._loss(outputs, y, torch.arange(len(y)), reference.EPOCH)
    loss.backward()
    agrees(name, labels, loss.item(), outputs.grad.numpy())


@pytest.mark.parametrize("labels", reference.LABELS)
@pytest.mark.parametrize(
    ("name", "objective", "gains"),
    [
        ("talr_ap_network", objectives.ap_s, objectives.binary_gains),
        ("talr_ap_network integral", objectives.ap_r, objectives.binary_gains),
        ("talr_ndcg_network", objectives.dcg_s, objectives.graded_gains),
        ("talr_ndcg_network integral", objectives.dcg_r, objectives.graded_gains),
    ],
)
def test_the_objectives_of_linear_functions_are_those_of_the_equations(name, objective, gains, labels):
    y, codes = reference.LABELS[labels], np.tanh(reference.OUTPUTS)
    levels = y @ y.T * (1 - np.eye(len(y), dtype=int))
    value, by_codes = objectives.mean_objective(codes, *gains(levels), objective)
    agrees(name, labels, -value, -by_codes * (1 - codes**2))
