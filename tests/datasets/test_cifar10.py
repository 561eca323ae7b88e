import os
from pathlib import Path

import numpy as np
import pytest
from official_archives import write_tar

from protocol import datasets
from protocol.checks import ProtocolError
from protocol.datasets.cifar10 import ARCHIVE, TEST, TRAIN, load

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
BATCHES = (*TRAIN, TEST)
RECORDS = 2


def batch(number, label=None):
    """Two records in the official layout: label, red plane, green plane, blue plane, row by row."""
    red = np.arange(1024, dtype=np.uint8)
    planes = [red, np.full(1024, number, np.uint8), np.full(1024, 255, np.uint8)]
    return b"".join(
        bytes([number + record if label is None else label]) + b"".join(plane.tobytes() for plane in planes)
        for record in range(RECORDS)
    )


def members():
    names = {f"cifar-10-batches-bin/{name}.bin": batch(number) for number, name in enumerate(BATCHES)}
    return {"cifar-10-batches-bin/batches.meta.txt": "\n".join([*NAMES, "", ""]).encode()} | names


def refusal(path):
    with pytest.raises(ProtocolError) as error:
        load({ARCHIVE: path})
    return str(error.value)


@pytest.fixture
def archive(tmp_path):
    return tmp_path / ARCHIVE


def test_records_are_planes_and_batches_keep_their_order_whatever_the_archive_s(archive):
    data = load({ARCHIVE: write_tar(archive, dict(reversed(members().items())))})
    assert data.images.shape == (12, 32, 32, 3)
    assert data.labels.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert data.ids[[0, 3, 11]].tolist() == ["data_batch_1/00000", "data_batch_2/00001", "test_batch/00001"]
    assert data.class_names == tuple(NAMES)
    assert data.partitions["train"].tolist() == list(range(10))
    assert data.partitions["test"].tolist() == [10, 11]
    assert data.images[0, 0, :3, 0].tolist() == [0, 1, 2]  # along a row
    assert data.images[0, :3, 0, 0].tolist() == [0, 32, 64]  # down the rows
    assert data.images[4, 5, 6].tolist() == [5 * 32 + 6, 2, 255]


WRONG = {
    "too short": (batch(4)[:-1], "expected records of 3,073 bytes, got 6,145 bytes"),
    "too long": (batch(4) + b"\0", "expected records of 3,073 bytes, got 6,147 bytes"),
    "label": (batch(4, label=10), "expected labels 0 to 9, got 10 in record 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_batch_is_refused_by_name(archive, case):
    content, message = WRONG[case]
    files = members() | {"cifar-10-batches-bin/test_batch.bin": content}
    assert refusal(write_tar(archive, files)) == f"{archive}: test_batch.bin: {message}."


def test_nine_class_names_are_refused(archive):
    files = members() | {"cifar-10-batches-bin/batches.meta.txt": "\n".join(NAMES[:9]).encode()}
    assert "batches.meta.txt: expected 10 class names, one per line, got 9" in refusal(write_tar(archive, files))


def test_a_part_of_the_archive_is_not_the_dataset(archive):
    with pytest.raises(ProtocolError, match=r"describe: n: expected 60000, got 12; per_class: expected \d+, got"):
        datasets.load("cifar10", {ARCHIVE: write_tar(archive, members())}, {})


def test_the_real_archive():
    if "PROTOCOL_SHARED" not in os.environ:
        pytest.skip("PROTOCOL_SHARED is not set: needs data/cifar10/cifar-10-binary.tar.gz")
    data = datasets.load("cifar10", {ARCHIVE: Path(os.environ["PROTOCOL_SHARED"]) / "data" / "cifar10" / ARCHIVE}, {})
    assert data.images.shape == (60_000, 32, 32, 3)
    assert np.bincount(data.labels).tolist() == [6_000] * 10
    assert np.bincount(data.labels[50_000:]).tolist() == [1_000] * 10
    assert data.class_names == tuple(NAMES)
    assert data.labels[:5].tolist() == [6, 9, 9, 4, 1]  # frog, truck, truck, deer, car
    assert data.ids[50_000] == "test_batch/00000"
