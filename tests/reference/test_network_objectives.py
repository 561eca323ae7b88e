"""The networks' losses and gradients are those of the papers' equations, and so are the objectives of linear TALR."""

import importlib.util

import network_objectives as reference
import numpy as np
import pytest

from protocol import registry
from protocol.hashers import NetworkHasher
from protocol.hashers.talr import objectives

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
CASES = [
    *((name, {}, labels) for name in reference.LOSSES for labels in ("classes", "two levels")),
    *((name, {}, "one class") for name in ("dpsh", "deep_squared", "deep_supervised", "buffer_zone", "hashnet")),
    *((name, {}, "all different") for name in ("dpsh", "dtsh", "deep_squared", "deep_supervised", "hashnet")),
    *((name, {"relaxation": "integral"}, "two levels") for name in ("talr_ap_network", "talr_ndcg_network")),
    *(("mihash", {"bin_width": width}, "two levels") for width in (1, 1.5, 3)),
    ("mihash", {"slope": 0.7}, "classes"),
    ("dpsh", {"quantisation": 0.5}, "classes"),
    ("dtsh", {"margin": 0.25, "quantisation": 0.1}, "two levels"),
    ("hashnet", {"alpha": 3, "beta": 5}, "two levels"),
    ("buffer_zone", {"margin": 1}, "two levels"),
    ("buffer_zone", {"zones": [[0.1, 0.5]]}, "classes"),
    ("m_dsh", {"margin": 2}, "classes"),
]


def agrees(loss, gradient, expected, by_outputs):
    assert loss == pytest.approx(expected, rel=1e-8)
    largest = np.abs(by_outputs).max()
    assert largest > 1e-4
    np.testing.assert_allclose(gradient, by_outputs, rtol=0, atol=1e-6 * largest)


def test_every_network_has_a_reference():
    networks = [name for name in registry.names("hasher") if issubclass(registry.get("hasher", name), NetworkHasher)]
    assert sorted(reference.LOSSES) == networks


@needs_torch
@pytest.mark.parametrize(("name", "options", "labels"), CASES)
def test_losses_and_gradients_are_those_of_the_equations(name, options, labels):
    import torch

    hasher = registry.get("hasher", name)(reference.N_BITS, epochs=reference.EPOCHS, **options)
    hasher._centre_of_row = reference.CENTRES  # of CSQ
    outputs = torch.tensor(reference.OUTPUTS, requires_grad=True)
    y = reference.LABELS[labels]
    y = torch.tensor(y > 0 if labels == "two levels" else y.argmax(axis=1))
    loss = hasher._loss(outputs, y, torch.arange(len(y)), reference.EPOCH)
    loss.backward()
    agrees(loss.item(), outputs.grad.numpy(), *reference.computed(name, labels, **options))


@pytest.mark.parametrize("labels", ["classes", "two levels"])
@pytest.mark.parametrize(
    ("name", "relaxation", "objective", "gains"),
    [
        ("talr_ap_network", "simplified", objectives.ap_s, objectives.binary_gains),
        ("talr_ap_network", "integral", objectives.ap_r, objectives.binary_gains),
        ("talr_ndcg_network", "simplified", objectives.dcg_s, objectives.graded_gains),
        ("talr_ndcg_network", "integral", objectives.dcg_r, objectives.graded_gains),
    ],
)
def test_the_objectives_of_linear_functions_are_those_of_the_equations(name, relaxation, objective, gains, labels):
    y, codes = reference.LABELS[labels], np.tanh(reference.OUTPUTS)
    levels = y @ y.T * (1 - np.eye(len(y), dtype=int))
    value, by_codes = objectives.mean_objective(codes, *gains(levels), objective)
    agrees(-value, -by_codes * (1 - codes**2), *reference.computed(name, labels, relaxation=relaxation))
