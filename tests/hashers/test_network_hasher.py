"""Training networks: seeds, resuming, refusals, and that what is learned is what the objectives ask for."""

import importlib.util
import logging
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers import TrainingSet, _network_hasher
from protocol.hashers._networks import network
from protocol.hashers.buffer_zone import BufferZone
from protocol.hashers.deep_squared import DeepSquared
from protocol.hashers.deep_supervised import DeepSupervised
from protocol.hashers.m_dsh import MDSH4, MDSH8, MDSH12

WITH_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not WITH_TORCH, reason="torch is not installed")
NAMES = ["buffer_zone", "deep_squared", "deep_supervised", "m_dsh_12", "m_dsh_4", "m_dsh_8"]

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 4, 240)
X = (RNG.normal(size=(4, 10))[Y] + 0.3 * RNG.normal(size=(240, 10))).astype(np.float32)


def mean_distances(hasher):
    """Return the mean Hamming distance of similar and of dissimilar training rows."""
    codes = hasher.fit(X, Y).transform(X)
    distance = (codes[:, None] != codes).sum(axis=2)
    similar = Y[:, None] == Y
    return distance[similar].mean(), distance[~similar].mean()


class KilledError(Exception):
    pass


def broken_off(hasher, training, path, monkeypatch, *, after):
    """Fit until so many epochs are saved, then stop as a kill would."""
    save, saved = _network_hasher._State.save, []

    def save_and_stop(state, *arguments):
        save(state, *arguments)
        saved.append(len(state.losses))
        if len(saved) == after:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(_network_hasher._State, "save", save_and_stop)
        with pytest.raises(KilledError):
            hasher.fit(training, checkpoint=path)
    return saved


@needs_torch
def test_similar_rows_come_together_and_others_far_apart():
    near, far = mean_distances(DeepSquared(16, epochs=60))
    assert near < 0.5
    assert far > 8
    near, far = mean_distances(DeepSupervised(16, epochs=60))
    assert near < 0.5
    assert far >= 7


@needs_torch
def test_m_moves_similar_rows_apart():
    """Closest first: 0, 4, 8, 12 of 48 bits; beyond them the others."""
    near, far = zip(
        *(mean_distances(hasher(48, epochs=60)) for hasher in (DeepSquared, MDSH4, MDSH8, MDSH12)), strict=True
    )
    assert near == tuple(sorted(near))
    assert near[3] - near[0] > 4
    assert min(far) > 2 * near[3]


@needs_torch
def test_the_buffer_zone_spreads_codes_of_a_class():
    supervised, buffered = (hasher(24, epochs=60).fit(X, Y).transform(X) for hasher in (DeepSupervised, BufferZone))
    assert len(np.unique(buffered, axis=0)) > 2 * len(np.unique(supervised, axis=0))


@needs_torch
def test_two_levels_of_labels_give_two_distances():
    indicator = np.concatenate([np.eye(4, dtype=int)[Y], np.eye(2, dtype=int)[Y // 2]], axis=1)
    codes = BufferZone(24, epochs=60).fit(X, indicator).transform(X)
    distance, shared = (codes[:, None] != codes).sum(axis=2), indicator @ indicator.T
    means = [distance[shared == level].mean() for level in (2, 1, 0)]
    assert means == sorted(means)
    assert means[2] > 2 * means[0]


@needs_torch
def test_odd_numbers_of_labels_are_refused():
    odd = np.eye(4, dtype=int)[Y]
    odd[0] = 0
    with pytest.raises(
        ProtocolError, match=r"BufferZone needs labels: wanted one for every row .*, came rows with 0 and 1$"
    ):
        BufferZone(8).fit(X, odd)
    with pytest.raises(ProtocolError, match=r"two \(a class and its superclass\), came rows with 3$"):
        BufferZone(8).fit(X, np.eye(4, dtype=int)[Y] ^ 1)


@needs_torch
@pytest.mark.parametrize("after", [1, 3, 5])
def test_a_training_that_was_broken_off_goes_on_to_the_same_result(tmp_path, monkeypatch, after):
    training, path = TrainingSet(X, Y), tmp_path / "models.h5.8.checkpoint"
    whole = DeepSquared(8, seed=5, epochs=5).fit(training)
    saved = broken_off(DeepSquared(8, seed=5, epochs=5), training, path, monkeypatch, after=after)
    assert saved == [2 * epoch for epoch in range(1, after + 1)]  # two steps an epoch
    steps = []
    step = _network_hasher._Run._step
    monkeypatch.setattr(_network_hasher._Run, "_step", lambda run, *given: steps.append(1) or step(run, *given))
    resumed = DeepSquared(8, seed=5, epochs=5).fit(training, checkpoint=path)
    assert len(steps) == 10 - 2 * after
    assert resumed.parameters_.tobytes() == whole.parameters_.tobytes()
    assert resumed.fit_record_ == whole.fit_record_


@needs_torch
@pytest.mark.parametrize("change", ["seed", "rows", "labels", "epochs", "damaged", "hasher"])
def test_another_trainings_checkpoint_is_not_used(tmp_path, monkeypatch, caplog, change):
    path = tmp_path / "checkpoint"
    broken_off(DeepSquared(8, epochs=3), TrainingSet(X, Y), path, monkeypatch, after=2)
    hasher, rows, y = DeepSquared(8, epochs=3), X, Y
    if change == "seed":
        hasher.set_params(seed=1)
    elif change == "epochs":
        hasher.set_params(epochs=4)
    elif change == "rows":
        rows = X + 1
    elif change == "labels":
        y = np.roll(Y, 1)
    elif change == "hasher":
        hasher = MDSH8(8, epochs=3)
    else:
        path.write_bytes(path.read_bytes()[:-100])
    caplog.set_level(logging.INFO)
    found = hasher.fit(rows, y, checkpoint=path)
    assert "checkpoint not used" in caplog.text
    assert found.parameters_.tobytes() == hasher.fit(rows, y).parameters_.tobytes()


@needs_torch
def test_a_loss_that_is_not_finite_is_stopped_at_its_step():
    with pytest.raises(
        ProtocolError, match=r"DeepSupervised, 8 bits: step 2 of 60: wanted a finite objective, came \w+, "
    ):
        DeepSupervised(8, learning_rate=1e30).fit(X, Y)


@needs_torch
@pytest.mark.parametrize("n_rows", range(4, 11))
def test_no_part_of_an_epoch_is_a_single_row(n_rows):
    """It has no pairs, and a mean over none is no number."""
    for batch_size in (3, 4, 5):
        record = DeepSupervised(4, epochs=1, batch_size=batch_size).fit(X[:n_rows], Y[:n_rows]).fit_record_
        assert np.isfinite(record["loss"]).all()


@needs_torch
def test_early_stopping_is_off_unless_asked_for(monkeypatch):
    losses = iter([3.0, 3.0, 2.0, 2.0, 2.5, 2.5, 2.2, 2.2])
    monkeypatch.setattr(_network_hasher._Run, "_step", lambda *given: next(losses))
    record = DeepSquared(8, epochs=8, patience=2).fit(X, Y).fit_record_
    assert (record["epochs"], record["loss"]) == (4, [3.0, 2.2])
    monkeypatch.setattr(_network_hasher._Run, "_step", lambda *given: 1.0)
    assert DeepSquared(8, epochs=8).fit(X, Y).fit_record_["epochs"] == 8


@needs_torch
def test_threads_change_nothing_and_stay_as_they_were():
    import torch

    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            hasher = DeepSquared(8, epochs=2).fit(X, Y)
            found.append(hasher.parameters_.tobytes() + hasher.transform(X).tobytes())
            assert torch.get_num_threads() == threads
            assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


@needs_torch
def test_the_scale_of_features_does_not_matter():
    plain, scaled = DeepSquared(8).fit(X, Y), DeepSquared(8).fit(256 * X, Y)
    np.testing.assert_array_equal(plain.transform(X), scaled.transform(256 * X))


@needs_torch
@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_heads_are_matrix_products(name):
    hasher = DeepSquared(8, network=name, epochs=2).fit(X, Y)
    layers, start = [], 0
    for shape in network(name, 10, 8).shapes:
        layers.append(hasher.parameters_[start : start + np.prod(shape)].reshape(shape).astype(float))
        start += np.prod(shape)
    assert start == len(hasher.parameters_)
    outputs = X.astype(float) - hasher.mean_
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        outputs = outputs @ weight.T + bias
        outputs = outputs if weight is layers[-2] else np.maximum(outputs, 0)
    sure = np.abs(outputs) > 1e-5
    assert sure.mean() > 0.99
    np.testing.assert_array_equal(hasher.transform(X)[sure], outputs[sure] > 0)


@needs_torch
def test_the_convolutional_network_sees_images():
    """Classes are where a bright square lies: the mean pixel says nothing, and a shuffled image is another one."""
    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    images = rng.integers(0, 60, size=(48, 32, 32, 3))
    for image, place in zip(images, y, strict=True):
        image[8 * place : 8 * place + 8, 8:16] += 150
    rows = images.reshape(48, -1).astype(np.float32)
    hasher = DeepSupervised(8, network="conv", epochs=20, batch_size=24).fit(rows, y)
    codes = hasher.transform(rows)
    assert len(hasher.parameters_) == 2432 + 25632 + 51264 + 512500 + 4008
    same = y[:, None] == y
    distance = (codes[:, None] != codes).sum(axis=2)
    assert distance[~same].min() > distance[same].max()
    assert type(hasher).from_arrays(hasher.to_arrays()).transform(rows).tobytes() == codes.tobytes()


@needs_torch
def test_the_convolutional_network_refuses_what_is_no_image():
    with pytest.raises(
        ProtocolError, match=r"network 'conv': wanted rows of 3072 features, images of 32 x 32 .* came 10;"
    ):
        DeepSquared(8, network="conv").fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "cnn"}, "unknown network= 'cnn'.*; known: conv, linear, mlp"),
        ({"epochs": 0}, "epochs: wanted an integer >= 1"),
        ({"batch_size": 2}, "batch_size: wanted an integer >= 3"),  # of five rows one would be left alone
        ({"learning_rate": 0}, "learning_rate: wanted a finite number > 0"),
        ({"weight_decay": -1}, "weight_decay: wanted a finite number > 0"),
        ({"patience": 0}, "patience: wanted an integer >= 1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ProtocolError, match=message):
        DeepSquared(8, **options).check()


@pytest.mark.parametrize("name", NAMES)
def test_without_pytorch_one_line_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    hasher = registry.get("hasher", name)
    wanted = rf"^{hasher.__name__} needs PyTorch, which is not installed: pip install 'hashing-protocol\[learned\]'$"
    for call in (hasher().check, lambda: hasher().fit(X, Y)):
        with pytest.raises(ProtocolError, match=wanted):
            call()


def test_what_needs_the_extra_says_so(root):
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras[registry.entry("hasher", "deep_squared").extra] == ["torch>=2.3"]
    assert [entry.name for entry in registry.entries("hasher") if entry.extra] == NAMES


def test_pytorch_is_not_imported_until_a_network_is_trained():
    code = (
        "import sys\n"
        "sys.modules['torch'] = None  # as if it were not installed: importing it fails\n"
        "from protocol import registry\n"
        "print(*registry.names('hasher'), 'torch' in sys.modules and sys.modules['torch'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(NAMES) < set(done.stdout.split())
    assert done.stdout.split()[-1] == "None"
