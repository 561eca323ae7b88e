"""The objectives of networks compared with loops over pairs, finite differences, and statements of the papers."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from protocol.hashers.networks.base import quantisation, shared_labels  # noqa: E402
from protocol.hashers.networks.buffer_zone import buffered  # noqa: E402
from protocol.hashers.networks.deep_squared import squared  # noqa: E402
from protocol.hashers.networks.deep_supervised import contrastive  # noqa: E402
from protocol.hashers.networks.dpsh import pairwise  # noqa: E402
from protocol.hashers.networks.dtsh import triplet  # noqa: E402
from protocol.hashers.networks.hashnet import weighted_pairwise  # noqa: E402
from protocol.hashers.networks.mihash import mutual_information  # noqa: E402

RNG = np.random.default_rng(0)
CLASSES = np.array([0, 1, 0, 2, 1, 0, 2])
TWO_LEVELS = np.array([[1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 1, 0, 1]])
CODES = RNG.normal(size=(7, 6))


def slow_squared(H, y, m):
    k = H.shape[1]
    terms = {True: [], False: []}
    for i, j in itertools.permutations(range(len(H)), 2):
        similar = y[i] == y[j]
        terms[similar].append(((m if similar else k) - (k - H[i] @ H[j]) / 2) ** 2)
    return sum(np.mean(kind) if kind else 0 for kind in terms.values())


def slow_pairs(B, y, similar, dissimilar):
    """Return the mean over pairs of a loss of the difference, and 0.01 of both codes' distance to the corners."""
    losses = []
    for i, j in itertools.combinations(range(len(B)), 2):
        shared = int((y[i] & y[j]).sum()) if y.ndim == 2 else int(y[i] == y[j])
        loss = (similar(B[i] - B[j], shared) if shared else dissimilar(B[i] - B[j])) / 2
        losses.append(loss + 0.01 * (np.abs(np.abs(B[i]) - 1).sum() + np.abs(np.abs(B[j]) - 1).sum()))
    return np.mean(losses)


def value(objective, codes, y, **options):
    return objective(torch.tensor(codes), shared_labels(torch.tensor(y)), **options).item()


@pytest.mark.parametrize("m", [0, 2.5])
@pytest.mark.parametrize("y", [CLASSES, np.zeros(7, dtype=int), np.arange(7)], ids=["both", "similar", "dissimilar"])
def test_squared_is_the_loop_over_pairs(m, y):
    H = np.tanh(CODES)
    assert value(squared, H, y, m=m) == pytest.approx(slow_squared(H, y, m), rel=1e-12)


def test_contrastive_is_the_loop_over_pairs():
    expected = slow_pairs(CODES, CLASSES, lambda d, _: d @ d, lambda d: max(12 - d @ d, 0))
    assert value(contrastive, CODES, CLASSES, margin=12) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "zones"), [(CLASSES, {1: (1.0, 2.0)}), (TWO_LEVELS, {2: (0.5, 1.0), 1: (1.0, 2.0)})], ids=["eq. 20", "eq. 25"]
)
def test_buffered_is_the_loop_over_pairs(y, zones):
    def similar(difference, shared):
        d, (near, far) = np.abs(difference).sum(), zones[shared]
        return max(near - d, 0) + max(d - far, 0)

    B = CODES[: len(y)]
    expected = slow_pairs(B, y, similar, lambda d: max(12 - np.abs(d).sum(), 0))
    assert value(buffered, B, y, zones=zones, margin=12) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "objective",
    [
        lambda codes, shared: squared((1.5 * codes).tanh(), shared, m=2),
        lambda codes, shared: contrastive(codes, shared, margin=12),
        lambda codes, shared: buffered(codes, shared, zones={1: (1.0, 2.0)}, margin=12),
        lambda codes, shared: pairwise(codes, shared) + 0.1 * quantisation(codes),
        lambda codes, shared: triplet(codes, shared, margin=3),
        lambda codes, shared: weighted_pairwise((1.5 * codes).tanh(), shared, alpha=2),
        lambda codes, shared: mutual_information(codes.tanh(), shared, bin_width=1.5),
    ],
    ids=["squared", "contrastive", "buffered", "pairwise", "triplet", "weighted_pairwise", "mutual_information"],
)
def test_gradients_are_those_of_finite_differences(objective):
    shared = shared_labels(torch.tensor(CLASSES))
    codes = torch.tensor(CODES, requires_grad=True)
    objective(codes, shared).backward()
    step = 1e-6
    for i, j in np.ndindex(CODES.shape):
        ahead, behind = CODES.copy(), CODES.copy()
        ahead[i, j] += step
        behind[i, j] -= step
        slope = (objective(torch.tensor(ahead), shared) - objective(torch.tensor(behind), shared)).item() / (2 * step)
        assert codes.grad[i, j].item() == pytest.approx(slope, abs=1e-6)


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
