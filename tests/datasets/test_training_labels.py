"""Labels for training that are not those of the dataset."""

import numpy as np
import pytest
from encoded import message_of
from official_archives import REFUSED, refused
from project import SMALL

from protocol.configuration import load
from protocol.datasets import training_labels

LABELS, OFFICIAL = np.array([0, 1, 2, 0, 1, 2]), {"train": np.array([5, 1, 2, 0]), "test": np.array([3, 4])}
CIFAR = SMALL | {"dataset": "cifar10", "reproduction": False, "hashers": ["sdh"], "ground_truths": ["class_label"]}


def saved(folder, values):
    np.save(folder / "noisy.npy", values)
    return str(folder / "noisy.npy")


def test_labels_of_an_official_split_stand_in_its_order(tmp_path):
    file = saved(tmp_path, [0, 1, -1, 2])
    found = training_labels(file, LABELS, OFFICIAL, np.array([0, 1, 5]))
    np.testing.assert_array_equal(found, [2, 1, 2, 0, 1, 0])
    np.testing.assert_array_equal(LABELS, [0, 1, 2, 0, 1, 2])
    message = "no label for 2 of the 3 training items, the first in row 2. Use a split that trains on items with"
    refused(message, training_labels, file, LABELS, OFFICIAL, np.array([0, 2, 4]))


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_all_items_replace_the_known_ones(tmp_path, seed):
    rng = np.random.default_rng(seed)
    own, given = rng.integers(0, 4, (2, 50))
    own[0], given[::7] = 3, -1
    train = np.flatnonzero(given >= 0)
    found = training_labels(saved(tmp_path, given), own, {}, train)
    assert found.tolist() == [new if new >= 0 else old for old, new in zip(own, given, strict=True)]
    assert found.dtype == own.dtype


@pytest.mark.parametrize(("values", "message"), REFUSED["training_labels"])
def test_other_files_are_refused_in_one_line(tmp_path, values, message):
    refused(message, training_labels, saved(tmp_path, values), LABELS, OFFICIAL, np.arange(4))


def test_two_official_splits_of_one_size_and_several_labels_per_item_are_refused(tmp_path):
    file = saved(tmp_path, [0, 1, 2])
    two = {"a": np.arange(3), "b": np.arange(3, 6)}
    message = message_of(training_labels, file, LABELS, two, np.arange(3))
    assert message.endswith("split with a size of its own (a 3, b 3).")
    message = message_of(training_labels, file, np.eye(3, dtype=bool), {}, np.arange(3))
    assert message.endswith("need a dataset with one label per item.")


def test_a_config_file_is_refused_before_its_jobs(tmp_path):
    of_train = {"training_labels": saved(tmp_path, np.arange(50_000) % 10), "splits": ["cifar10_s2"]}
    assert load(CIFAR | of_train).config["training_labels"] == of_train["training_labels"]
    message = message_of(load, CIFAR | of_train | {"hashers": ["ksh"], "affinities": "graded_distance"})
    assert message.startswith("training_labels: no hasher learns from labels. Remove the key")
    none = str(tmp_path / "none.npy")
    assert message_of(load, CIFAR | of_train | {"training_labels": none}).startswith(f"training_labels: {none}")


def test_the_real_noise_of_cifar_n(shared):
    counts = {"clean_label": 0, "aggre_label": 4505, "worse_label": 20_104}
    counts |= {"random_label1": 8617, "random_label2": 9061, "random_label3": 8820}
    assert counted(shared, "CIFAR-10", 10, counts) == counts
    of_classes = {"clean_label": 0, "noisy_label": 20_100}
    assert counted(shared, "CIFAR-100", 100, of_classes) == of_classes


def counted(shared, name, n_classes, keys):
    """Return the number of labels that differ from the clean ones, for each key of a file of CIFAR-N."""
    file, official = shared / "data" / "cifar_n" / f"{name}_human.npz", {"train": np.arange(50_000)}
    clean = np.append(np.load(file)["clean_label"], np.arange(10_000) % n_classes)
    read = {key: training_labels(f"{file}:{key}", clean, official, np.arange(50_000)) for key in keys}
    return {key: int((labels != clean).sum()) for key, labels in read.items()}
