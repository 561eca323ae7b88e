"""The networks' losses and gradients are those of the papers' equations."""

import network_objectives as reference
import numpy as np
import pytest

from protocol import registry
from protocol.hashers import NetworkHasher

CASES = [
    *((name, {}, labels) for name in reference.LOSSES for labels in ("classes", "two levels")),
    *((name, {}, "one class") for name in ("dpsh", "deep_squared", "deep_supervised", "buffer_zone", "hashnet")),
    *((name, {}, "all different") for name in ("dpsh", "dtsh", "deep_squared", "deep_supervised", "hashnet")),
    *((name, {"relaxation": "integral"}, "two levels") for name in ("talr_ap_network", "talr_ndcg_network")),
    *(("mihash", options, "two levels") for options in ({"bin_width": 1.5}, {"bin_width": 3}, {"slope": 0.7})),
    ("dpsh", {"quantisation": 0.5}, "classes"),
    ("dtsh", {"margin": 0.25, "quantisation": 0.1}, "two levels"),
    ("hashnet", {"alpha": 3, "beta": 5}, "two levels"),
    ("buffer_zone", {"margin": 1}, "two levels"),
    ("m_dsh", {"margin": 2}, "classes"),
]


def test_every_network_has_a_reference():
    networks = [name for name in registry.names("hasher") if issubclass(registry.get("hasher", name), NetworkHasher)]
    assert sorted(reference.LOSSES) == networks


@pytest.mark.parametrize(("name", "options", "labels"), CASES)
def test_losses_and_gradients_are_those_of_the_equations(name, options, labels):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    hasher = registry.get("hasher", name)(reference.N_BITS, epochs=reference.EPOCHS, **options)
    hasher._centre_of_row = reference.CENTRES  # of CSQ
    outputs = torch.tensor(reference.OUTPUTS, requires_grad=True)
    y = reference.LABELS[labels]
    y = torch.tensor(y > 0 if labels == "two levels" else y.argmax(axis=1))
    loss = hasher._loss(outputs, y, torch.arange(len(y)), reference.EPOCH)
    loss.backward()
    expected, by_outputs = reference.computed(name, labels, **options)
    assert loss.item() == pytest.approx(expected, rel=1e-8)
    largest = np.abs(by_outputs).max()
    assert largest > 1e-4
    np.testing.assert_allclose(outputs.grad.numpy(), by_outputs, rtol=0, atol=1e-6 * largest)
