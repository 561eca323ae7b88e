"""ImageNet-100 from small lists in HashNet's format and images that the test writes."""

import cv2
import numpy as np
import pytest
from official_archives import refused

from protocol.datasets.imagenet100 import PARTS, load
from protocol.inputs.images import read_image, square

IMAGES = {
    "image/n01440764_10.JPEG": 0,
    "image/n01440764_20.JPEG": 0,
    "image/n02085620_7.JPEG": 42,
    "val_image/ILSVRC2012_val_00000007.JPEG": 42,
}
DATABASE, TEST = list(IMAGES)[:3], list(IMAGES)[3:]


def line(image):
    return f"/home/someone/imagenet/{image} " + " ".join("1" if i == IMAGES[image] else "0" for i in range(100)) + "\n"


@pytest.fixture
def written(tmp_path):
    def write(**changed):
        for part, images in (("database", DATABASE), ("test", TEST), ("train", [DATABASE[2], DATABASE[0]])):
            (tmp_path / f"{part}.txt").write_text(changed.get(part, "".join(map(line, images))))
        return {f"{part}.txt": tmp_path / f"{part}.txt" for part in PARTS}

    return write


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for image in IMAGES:
        path = tmp_path / "ours" / image
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(".jpg", rng.integers(0, 256, (30, 40, 3), dtype=np.uint8))[1].tobytes())
    return tmp_path / "ours"


def test_lists_select_the_images_and_the_training_set_is_a_part_of_the_database(written, folder):
    data = load(written(), folder=str(folder), image_size=16)
    assert data.ids.tolist() == [*DATABASE, *TEST]
    assert data.labels.tolist() == [0, 0, 42, 42]
    partitions = {part: rows.tolist() for part, rows in data.partitions.items()}
    assert partitions == {"database": [0, 1, 2], "test": [3], "train": [2, 0]}
    assert (data.class_names[0], data.class_names[42], data.class_names[1]) == ("n01440764", "n02085620", "class 1")
    np.testing.assert_array_equal(data.images[3:][0], square(read_image(folder / TEST[0]), 16))
    assert data.images.shape == (4, 16, 16, 3)


def test_missing_images_are_counted_and_named(written, folder):
    (folder / DATABASE[1]).unlink()
    message = "1 image can't be used: no such file (1: image/n01440764_20.JPEG)"
    refused(message, load, written(), folder=str(folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (line(TEST[0]) + "a/b.JPEG 1 0\n", "test.txt, line 2: expected a path and 100 flags, one of them 1"),
        (line(TEST[0]).replace(" 0", " 1", 1), "line 1: expected"),
        ("", "test.txt: the list of images is empty."),
    ],
)
def test_a_wrong_list_is_named_by_line(written, folder, text, message):
    refused(message, load, written(test=text), folder=str(folder))
