"""The objectives of networks by hand and by statements of the papers; tests/reference has the equations as loops."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch

from protocol.hashers.networks.base import quantisation, shared_labels
from protocol.hashers.networks.buffer_zone import buffered
from protocol.hashers.networks.deep_squared import squared
from protocol.hashers.networks.deep_supervised import contrastive
from protocol.hashers.networks.dpsh import DPSH, pairwise
from protocol.hashers.networks.dtsh import DTSH, triplet
from protocol.hashers.networks.hashnet import HashNet, weighted_pairwise
from protocol.hashers.networks.mihash import MIHash, mutual_information, soft_histogram
from protocol.hashers.talr import objectives as ranking


def value(objective, codes, y, **options):
    return objective(torch.tensor(codes), shared_labels(torch.tensor(y)), **options).item()


def corner(n_ones, k=12):
    return np.where(np.arange(k) < n_ones, 1.0, -1.0)


def pair(distance, *, similar, k=12):
    """Return two corners that differ in `distance` bits, and their labels."""
    return np.stack([corner(0, k), corner(distance, k)]), np.array([0, 0 if similar else 1])


def test_squared_pulls_similar_corners_to_m_and_others_to_all_bits():
    for distance in range(13):
        assert value(squared, *pair(distance, similar=True), m=4) == (4 - distance) ** 2
        assert value(squared, *pair(distance, similar=False), m=4) == (12 - distance) ** 2


def test_squared_weighs_similar_and_dissimilar_pairs_alike():
    """The second line of eq. 4: one similar pair at distance 12 and five dissimilar ones at 0 or 12."""
    H = np.stack([corner(0), corner(12), corner(0), corner(0)])
    y = np.array([0, 0, 1, 2])
    # dissimilar: (0,2) (0,3) (2,3) at 0, (1,2) (1,3) at 12
    assert value(squared, H, y) == pytest.approx(144 + 3 / 5 * 144)


def test_the_margins_require_half_of_the_bits_and_all_bits():
    """2 k is k / 2 bits under the squared distance, all of them under the L1 distance of the buffer zone; k is half."""
    apart = range(13)
    loss = {
        "squared": [value(contrastive, *pair(d, similar=False), margin=24) for d in apart],
        "L1, 2 k": [value(buffered, *pair(d, similar=False), zones={}, margin=24) for d in apart],
        "L1, k": [value(buffered, *pair(d, similar=False), zones={}, margin=12) for d in apart],
    }
    first = {name: next(d for d in apart if values[d] == 0) for name, values in loss.items()}
    assert first == {"squared": 6, "L1, 2 k": 12, "L1, k": 6}


def test_the_zone_of_similar_pairs_is_k_12_to_k_6_bits():
    zones = {1: (12 / 6, 12 / 3)}
    loss = [value(buffered, *pair(d, similar=True), zones=zones, margin=24) for d in range(13)]
    assert [d for d in range(13) if loss[d] == 0] == [1, 2]
    assert loss[0] == 1  # half of r_1
    assert (np.diff(loss[2:]) == 1).all()


def test_pairs_of_one_class_only_have_the_zone_of_the_class():
    y = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]])
    zones = {2: (1.0, 2.0), 1: (2.0, 4.0)}
    near, far = (np.stack([corner(0), corner(1), corner(n)]) for n in (2, 7))
    assert value(buffered, near, y, zones=zones, margin=24) == 0  # 1 bit in the class; 2 and 1 bits in the superclass
    assert value(buffered, far, y, zones=zones, margin=24) == pytest.approx((10 + 8) / 2 / 3)


@pytest.mark.parametrize("objective", [contrastive, lambda *a, **o: buffered(*a, zones={1: (0.0, 9.0)}, **o)])
def test_the_regulariser_is_zero_at_every_corner(objective):
    """As printed, ||b_1 - 1|| would have codes of all ones only."""
    y = np.array([0, 1])
    apart = np.stack([corner(0), corner(12)])
    assert value(objective, apart, y, margin=24) == 0
    # |0.5 - 1| in every bit of both items
    assert value(objective, apart / 2, y, margin=0) == pytest.approx(0.01 * 12 * 0.5 * 2)


def test_dpsh_of_three_items_by_hand():
    """Inner products 4, 0 and 4, so theta is 2 of the similar pair, 0 and 2 of the others."""
    outputs = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    shared = shared_labels(torch.tensor([0, 0, 1]))
    assert pairwise(outputs, shared).item() == pytest.approx((0.126928 + 0.693147 + 2.126928) / 3, abs=1e-6)
    assert quantisation(outputs).item() == 2
    labels, rows = torch.tensor([0, 0, 1]), torch.arange(3)
    assert DPSH(2, quantisation=0.5)._loss(outputs, labels, rows, 0).item() == pytest.approx(1.982334, abs=1e-6)


def test_dtsh_of_three_items_by_hand():
    """Of two triplets the first is in order by 2, the second by 0; the margin is half of two bits."""
    outputs = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    labels, rows = torch.tensor([0, 0, 1]), torch.arange(3)
    assert triplet(outputs, shared_labels(labels), margin=1).item() == pytest.approx(0.813262, abs=1e-6)
    assert DTSH(2, quantisation=0.5)._loss(outputs, labels, rows, 0).item() == pytest.approx(1.813262, abs=1e-6)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_without_a_triplet_the_loss_is_zero(labels):
    outputs = torch.randn(3, 4, requires_grad=True)
    loss = triplet(outputs, shared_labels(torch.tensor(labels)), margin=2)
    loss.backward()
    assert loss.item() == 0
    assert not outputs.grad.any()


def test_hashnet_of_three_items_by_hand():
    """Inner products 1, 0 and 1 times alpha, 2; the two dissimilar pairs weigh as much as the similar one."""
    codes = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = weighted_pairwise(codes, shared_labels(torch.tensor([0, 0, 1])), alpha=2).item()
    assert found == pytest.approx(0.126928 + (0.693147 + 2.126928) / 2, abs=1e-6)


def test_beta_grows_from_one_to_its_option():
    outputs, labels = torch.tensor([[0.3, -0.2], [0.1, 0.4], [-0.5, 0.2]]), torch.tensor([0, 0, 1])
    hasher = HashNet(2, alpha=3, beta=5, epochs=9)
    for epoch, beta in ((0, 1), (3, 10**0.5), (8, 5)):
        expected = weighted_pairwise((beta * outputs).tanh(), shared_labels(labels), alpha=1.5)
        assert hasher._loss(outputs, labels, torch.arange(3), epoch).item() == pytest.approx(expected.item(), rel=1e-6)


def test_mihash_of_three_items_by_hand():
    """Distances 1/2, 2 and 3/2: the first query learns 1 bit, the second 1/2, the third has no neighbour."""
    codes = torch.tensor([[1.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    shared = shared_labels(torch.tensor([0, 0, 1]))
    assert mutual_information(codes, shared, bin_width=1).item() == pytest.approx((1 + 0.5 + 0) / 3)
    corners = torch.tensor([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    assert mutual_information(corners, shared, bin_width=2).item() == pytest.approx(2 / 3)


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
