"""CIFAR-10 and CIFAR-100 from archives in the official layout, which the tests write, and the real CIFAR-10."""

import numpy as np
import pytest
from official_archives import refused, write_tar

from protocol import datasets
from protocol.datasets import cifar10, cifar100

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
COARSE = [f"group_{number}" for number in range(20)]
FINE = [f"class_{number}" for number in range(100)]


def record(number, *labels):
    """Return labels, a red plane of ascending values, a green one of `number`, and a blue one of 255."""
    red = np.arange(1024, dtype=np.uint8).tobytes()
    return bytes(labels) + red + bytes([number]) * 1024 + b"\xff" * 1024


def two_labels(number):
    return record(number, number % 20, number % 100)


FILES = {
    "cifar10": {
        "batches.meta.txt": "\n".join([*NAMES, "", ""]).encode(),
        **{
            f"{batch}.bin": record(number, number) + record(number, number + 1)
            for number, batch in enumerate((*cifar10.TRAIN, cifar10.TEST))
        },
    },
    "cifar100": {
        "fine_label_names.txt": "\n".join([*FINE, ""]).encode(),
        "coarse_label_names.txt": "\n".join([*COARSE, ""]).encode(),
        "test.bin": b"".join(two_labels(30 + number) for number in range(10)),
        "train.bin": b"".join(two_labels(number) for number in range(30)),
    },
}
ARCHIVES = {"cifar10": cifar10.ARCHIVE, "cifar100": cifar100.ARCHIVE}


@pytest.fixture
def archive(tmp_path):
    def write(name, changed=()):
        files = FILES[name] | dict(changed)
        contents = {f"{name}-binary/{file}": content for file, content in reversed(files.items())}
        return {ARCHIVES[name]: write_tar(tmp_path / ARCHIVES[name], contents)}

    return write


def test_records_are_planes_and_batches_keep_their_order_whatever_the_archive_s(archive):
    data = cifar10.load(archive("cifar10"))
    assert data.images.shape == (12, 32, 32, 3)
    assert data.labels.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert data.ids[[0, 3, 11]].tolist() == ["data_batch_1/00000", "data_batch_2/00001", "test_batch/00001"]
    assert data.class_names == tuple(NAMES)
    assert data.partitions["train"].tolist() == list(range(10))
    assert data.partitions["test"].tolist() == [10, 11]
    assert data.images[0, 0, :3, 0].tolist() == [0, 1, 2]  # along a row
    assert data.images[0, :3, 0, 0].tolist() == [0, 32, 64]  # down the rows
    assert data.images[4, 5, 6].tolist() == [5 * 32 + 6, 2, 255]


@pytest.mark.parametrize(("labels", "names"), [("fine", FINE), ("coarse", COARSE)])
def test_forty_records_with_either_kind_of_label(archive, labels, names):
    data = cifar100.load(archive("cifar100"), labels=labels)
    assert data.images.shape == (40, 32, 32, 3)
    assert data.labels.tolist() == [number % len(names) for number in range(40)]
    assert data.class_names == tuple(names)
    assert data.ids[[0, 29, 30, 39]].tolist() == ["train/00000", "train/00029", "test/00000", "test/00009"]
    assert data.partitions["train"].tolist() == list(range(30))
    assert data.partitions["test"].tolist() == list(range(30, 40))


def test_both_levels_are_two_labels_for_every_image(archive):
    data = cifar100.load(archive("cifar100"), labels="both")
    assert data.class_names == (*COARSE, *FINE)
    assert data.labels.dtype == bool
    assert [np.flatnonzero(row).tolist() for row in data.labels] == [[n % 20, 20 + n % 100] for n in range(40)]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("test_batch.bin", record(4, 4)[:-1], "can't be read as test_batch.bin with records of 3,073 bytes (cannot "),
        ("test_batch.bin", record(4, 10), "labels: expected int64 (n,) from 0 to 9"),
        ("batches.meta.txt", "\n".join(NAMES[:5]).encode(), "labels: expected int64 (n,) from 0 to 4"),
    ],
)
def test_a_wrong_file_is_refused(archive, file, content, message):
    refused(message, datasets.load, "cifar10", archive("cifar10", {file: content}), {})


def test_the_real_archive(shared):
    paths = {cifar10.ARCHIVE: shared / "data" / "cifar10" / cifar10.ARCHIVE}
    data = datasets.load("cifar10", paths, {})
    assert data.images.shape == (60_000, 32, 32, 3)
    assert np.bincount(data.labels).tolist() == [6_000] * 10
    assert np.bincount(data.labels[50_000:]).tolist() == [1_000] * 10
    assert data.class_names == tuple(NAMES)
    assert data.labels[:5].tolist() == [6, 9, 9, 4, 1]  # frog, truck, truck, deer, car
    assert data.ids[50_000] == "test_batch/00000"
