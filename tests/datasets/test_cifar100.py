"""CIFAR-100 from archives in the official layout, which the tests write."""

import numpy as np
import pytest
from official_archives import write_tar

from protocol import datasets
from protocol.checks import ProtocolError
from protocol.datasets.cifar100 import ARCHIVE, load
from protocol.hashers.networks.buffer_zone import BufferZone

COARSE = [f"group_{number}" for number in range(20)]
FINE = [f"class_{number}" for number in range(100)]
TRAIN, TEST = 30, 10


def record(number):
    """Return both labels, a red plane of ascending values, a green one of `number`, and a blue one of 255."""
    red = np.arange(1024, dtype=np.uint8).tobytes()
    return bytes([number % 20, number % 100]) + red + bytes([number]) * 1024 + b"\xff" * 1024


def files():
    return {
        "cifar-100-binary/fine_label_names.txt": "\n".join([*FINE, ""]).encode(),
        "cifar-100-binary/coarse_label_names.txt": "\n".join([*COARSE, ""]).encode(),
        "cifar-100-binary/test.bin": b"".join(record(TRAIN + number) for number in range(TEST)),
        "cifar-100-binary/train.bin": b"".join(record(number) for number in range(TRAIN)),
    }


@pytest.fixture
def archive(tmp_path):
    def write(changed=()):
        return {ARCHIVE: write_tar(tmp_path / ARCHIVE, files() | dict(changed))}

    return write


@pytest.mark.parametrize(("labels", "names"), [("fine", FINE), ("coarse", COARSE)])
def test_forty_records_with_either_kind_of_label(archive, labels, names):
    data = load(archive(), labels=labels) if labels != "fine" else load(archive())  # the default
    assert data.images.shape == (40, 32, 32, 3)
    assert data.labels.tolist() == [number % len(names) for number in range(40)]
    assert data.class_names == tuple(names)
    assert data.ids[[0, 29, 30, 39]].tolist() == ["train/00000", "train/00029", "test/00000", "test/00009"]
    assert data.partitions["train"].tolist() == list(range(30))
    assert data.partitions["test"].tolist() == list(range(30, 40))
    assert data.images[7, 2, :3].tolist() == [[64, 7, 255], [65, 7, 255], [66, 7, 255]]


def test_both_levels_are_two_labels_for_every_image(archive):
    data = load(archive(), labels="both")
    assert data.class_names == (*COARSE, *FINE)
    assert data.labels.dtype == bool
    assert [np.flatnonzero(row).tolist() for row in data.labels] == [[n % 20, 20 + n % 100] for n in range(40)]
    assert datasets.statistics("cifar100", {"labels": "both"})["per_class"] == [600, 3000]


def test_two_levels_reach_the_buffer_zone(archive):
    pytest.importorskip("torch", reason="torch is not installed")
    data = load(archive(), labels="both")
    rows = data.images.reshape(40, -1).astype(np.float32)
    model = BufferZone(n_bits=4, epochs=1, batch_size=20).fit(rows, data.labels)
    assert model.transform(rows).shape == (40, 4)


def test_other_labels_are_refused_before_anything_is_read():
    for call in (load, lambda paths, labels: datasets.statistics("cifar100", {"labels": labels})):
        with pytest.raises(ProtocolError, match=r"labels: expected .*, got 'course'.*Did you mean 'coarse'"):
            call({}, labels="course")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test.bin", record(1)[:-1], "test.bin: expected records of 3,074 bytes, got 3,073 bytes"),
        ("train.bin", b"", "train.bin: expected records of 3,074 bytes, got 0 bytes"),
        ("train.bin", record(0) + b"\x14" + record(1)[1:], "train.bin: expected labels 0 to 19, got 20 in record 1"),
        ("train.bin", b"\0\x64" + record(1)[2:], "train.bin: expected labels 0 to 99, got 100 in record 0"),
        ("fine_label_names.txt", b"one\ntwo\n", "fine_label_names.txt: expected 100 class names, one per line, got 2"),
    ],
)
def test_a_wrong_file_is_named(archive, name, content, message):
    with pytest.raises(ProtocolError) as error:
        load(archive({f"cifar-100-binary/{name}": content}))
    assert str(error.value).endswith(f"{message}.")


def test_forty_records_are_not_the_dataset(archive):
    with pytest.raises(ProtocolError, match=r"describe: n: expected 60000, got 40; per_class: expected \d+, got"):
        datasets.load("cifar100", archive(), {"labels": "fine"})
