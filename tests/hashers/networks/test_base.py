"""Training networks: seeds, errors, and results that agree with the objectives."""

import numpy as np
import pytest
from encoded import refused

pytest.importorskip("torch", reason="torch is not installed")

import torch

from protocol import registry
from protocol.hashers import NetworkHasher, TrainingSet
from protocol.hashers.networks import base
from protocol.hashers.networks.deep_squared import DeepSquared
from protocol.hashers.networks.deep_supervised import DeepSupervised
from protocol.provenance import storage

NAMES = [entry.name for entry in registry.entries("hasher") if entry.extra]
RNG = np.random.default_rng(3)
Y = RNG.integers(0, 4, 240)
X = (RNG.normal(size=(4, 10))[Y] + 0.3 * RNG.normal(size=(240, 10))).astype(np.float32)


def model_bytes(hasher):
    """Return the learned arrays of a model as bytes."""
    return {name: array.tobytes() for name, array in hasher.to_arrays().items() if name != "model"}


@pytest.mark.parametrize("name", NAMES)
def test_hash_layers_start_as_in_the_authors_code(name):
    """Pairwise and triplet likelihoods, whose inner products grow with the number of bits, start near zero."""
    hasher = registry.get("hasher", name)(48)
    module = hasher._module(200)
    hasher._initialise(module, np.random.default_rng(0))
    first, bias, last, _ = (parameter.detach().numpy() for parameter in module.parameters())
    deviation = 0.01 if name in {"dpsh", "dtsh", "hashnet"} else (2 / 500) ** 0.5
    assert first.std() == pytest.approx((2 / 200) ** 0.5, rel=0.02)
    assert last.shape == (48, 500)
    assert last.std() == pytest.approx(deviation, rel=0.02)
    assert not bias.any()


class CustomNetwork(NetworkHasher):
    """A hasher with a custom module, with buffers and with random numbers of PyTorch."""

    def _network(self, n_features, n_bits):
        from torch import nn

        first = nn.Sequential(nn.BatchNorm1d(n_features), nn.Linear(n_features, 20), nn.BatchNorm1d(20), nn.ReLU())
        return nn.Sequential(first, nn.Dropout(0.5), nn.Linear(20, n_bits))

    def _loss(self, outputs, labels, rows, epoch):
        assert torch.equal(labels, torch.from_numpy(Y)[rows])
        classes = torch.nn.functional.one_hot(labels, 4).repeat(1, self.n_bits // 4).float()
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs, classes) / (1 + epoch)


def test_a_model_with_a_custom_network_survives_a_file(tmp_path):
    state = torch.random.get_rng_state()
    hasher = CustomNetwork(8, learning_rate=1, epochs=40).fit(X, Y)
    codes = hasher.transform(X)
    assert (codes == (np.arange(8) % 4 == Y[:, None])).mean() > 0.9
    assert hasher.scale_ == np.float32(TrainingSet(X).scale)
    storage.write(tmp_path / "m.h5", hasher.to_arrays(), storage.provenance("test", parameters={}, inputs={}))
    arrays = storage.read(tmp_path / "m.h5")
    assert arrays["network_/0.0.num_batches_tracked"] == 80
    back = CustomNetwork.from_arrays(arrays)
    assert model_bytes(back) == model_bytes(hasher)
    assert back.transform(X).tobytes() == codes.tobytes()
    assert torch.equal(torch.random.get_rng_state(), state)


IMAGES = np.random.default_rng(0).integers(0, 255, size=(30, 3072)).astype(np.float32)


def test_bfloat16_leaves_parameters_in_float32_and_the_loss_near_that_of_float32():
    options = {"network": "conv", "epochs": 2, "batch_size": 6}
    plain, rounded = (DeepSquared(8, precision=each, **options).fit(IMAGES[:12], Y[:12]) for each in base.PRECISIONS)
    assert {parameter.dtype for parameter in rounded.network_.parameters()} == {torch.float32}
    assert model_bytes(rounded) != model_bytes(plain)
    assert rounded.fit_record_["loss"][0] == pytest.approx(plain.fit_record_["loss"][0], rel=0.02)


@pytest.mark.parametrize("batch_size", [3, 4])
def test_no_part_of_an_epoch_is_a_single_row(batch_size):
    """It would have no pairs, and a mean over none is undefined."""
    for n_rows in range(4, 11):
        hasher = DeepSupervised(4, epochs=1, batch_size=batch_size).fit(X[:n_rows], Y[:n_rows])
        assert np.isfinite(hasher.fit_record_["loss"]).all()


def test_threads_change_nothing_and_are_restored():
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            hasher = DeepSquared(8, epochs=2).fit(X, Y)
            found.append((model_bytes(hasher), hasher.transform(X).tobytes()))
            assert torch.get_num_threads() == threads
            assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


def test_the_scale_of_features_does_not_matter():
    plain, scaled = DeepSquared(8).fit(X, Y), DeepSquared(8).fit(256 * X, Y)
    np.testing.assert_array_equal(plain.transform(X), scaled.transform(256 * X))


@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_heads_are_matrix_products(name):
    hasher = DeepSquared(8, network=name, epochs=2).fit(X, Y)
    layers = [array.astype(float) for key, array in hasher.to_arrays().items() if key.startswith("network_/")]
    assert len(layers) == {"linear": 2, "mlp": 4}[name]
    assert hasher.scale_ == 1
    outputs = X.astype(float) - hasher.mean_
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        outputs = outputs @ weight.T + bias
        outputs = outputs if weight is layers[-2] else np.maximum(outputs, 0)
    sure = np.abs(outputs) > 1e-5
    assert sure.mean() > 0.99
    np.testing.assert_array_equal(hasher.transform(X)[sure], outputs[sure] > 0)


def test_the_convolutional_network_uses_positions_in_images():
    """The class is the position of a bright square: mean pixels carry no information, and neither do shuffled ones."""
    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    images = rng.integers(0, 60, size=(48, 32, 32, 3))
    for image, place in zip(images, y, strict=True):
        image[8 * place : 8 * place + 8, 8:16] += 150
    rows = images.reshape(48, -1).astype(np.float32)
    hasher = DeepSupervised(8, network="conv", epochs=20, batch_size=24).fit(rows, y)
    codes = hasher.transform(rows)
    assert sum(parameter.numel() for parameter in hasher.network_.parameters()) == 595_836
    same = y[:, None] == y
    distance = (codes[:, None] != codes).sum(axis=2)
    assert distance[~same].min() > distance[same].max()
    assert type(hasher).from_arrays(hasher.to_arrays()).transform(rows).tobytes() == codes.tobytes()


def test_the_convolutional_network_refuses_rows_that_are_not_images():
    with refused(r"network 'conv': expected 3,072 features, images of 32 x 32 .* got 10[.] Use 'mlp'"):
        DeepSquared(8, network="conv").fit(X, Y)
