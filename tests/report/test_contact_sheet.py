"""The contact sheet: which images it shows, and where; read back from its PNG."""

import base64

import cv2
import numpy as np
import pytest

from protocol.report.sections.images import COLUMNS, GAP, MOST_CLASSES, TILE, contact_sheet


def picture(sheet):
    """Return the sheet's pixels, red first."""
    content = np.frombuffer(base64.b64decode(sheet.png), np.uint8)
    return cv2.imdecode(content, cv2.IMREAD_COLOR)[..., ::-1]


def shown(sheet):
    """Return the value in the middle of every tile, row by row; white where there is none."""
    middle = (TILE + GAP) // 2
    return picture(sheet)[middle :: TILE + GAP, middle :: TILE + GAP, 0].tolist()


def numbered(n, shape=(8, 8)):
    """Images whose every pixel is the image's number."""
    return np.repeat(np.arange(n, dtype=np.uint8), np.prod(shape)).reshape(n, *shape)


def test_a_row_for_each_class_first_to_last_spread_evenly():
    labels = np.arange(60) % 3
    sheet = contact_sheet(numbered(60), labels, ["cat", "dog", "emu"])
    assert picture(sheet).shape == (3 * (TILE + GAP), COLUMNS * (TILE + GAP), 3)
    assert shown(sheet) == [[start + 3 * step for step in (0, 3, 5, 8, 11, 14, 16, 19)] for start in range(3)]
    assert sheet.names == ["cat", "dog", "emu"]
    assert sheet.alt == "24 images, a row for each class: cat, dog, emu"


def test_small_classes_many_classes_and_several_labels():
    assert shown(contact_sheet(numbered(3), np.array([0, 1, 0]), ["cat", "dog"])) == [
        [0, 2] + [255] * 6,
        [1] + [255] * 7,
    ]
    sheet = contact_sheet(numbered(200), np.arange(200) % 100, [str(number) for number in range(100)])
    assert sheet.names == [str(number) for number in range(MOST_CLASSES)]
    assert [row[:3] for row in shown(sheet)] == [[number, 100 + number, 255] for number in range(20)]
    labels = np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)
    assert [row[:3] for row in shown(contact_sheet(numbered(3), labels, ["a", "b"]))] == [[0, 1, 255], [1, 2, 255]]


def test_without_labels_images_are_spread_over_the_dataset():
    sheet = contact_sheet(numbered(100), None, [])
    assert np.ravel(shown(sheet)).tolist() == np.rint(np.linspace(0, 99, 32)).tolist()
    assert (sheet.names, sheet.alt) == ([], "32 images")
    assert np.ravel(shown(contact_sheet(numbered(3), None, [])))[:4].tolist() == [0, 1, 2, 255]


def test_colours_keep_their_order_and_small_images_their_pixels():
    image = np.zeros((1, 2, 2, 3), dtype=np.uint8)
    image[0, 0, 0], image[0, 1, 1] = (200, 100, 50), (1, 2, 3)
    half = TILE // 2
    tile = picture(contact_sheet(image, None, []))[GAP // 2 : GAP // 2 + TILE, GAP // 2 : GAP // 2 + TILE]
    assert (tile[:half, :half] == (200, 100, 50)).all()
    assert (tile[half:, half:] == (1, 2, 3)).all()
    assert (tile[half:, :half] == 0).all()


@pytest.mark.parametrize("shape", [(100, 50), (50, 100), (32, 32), (500, 3)])
def test_images_of_any_shape_fit_their_tile_and_stay_in_it(shape):
    pixels = picture(contact_sheet(np.zeros((9, *shape), np.uint8), np.zeros(9, np.int64), ["a"]))
    dark = (pixels < 255).all(axis=2)
    longest = max(dark.sum(axis=0).max(), dark[:, : TILE + GAP].sum(axis=1).max())
    assert longest == TILE
    assert not dark[:, :: TILE + GAP].any()


def test_only_what_is_shown_is_read():
    class Counting(np.ndarray):
        indices = []

        def __getitem__(self, index):
            self.indices.append(index)
            return np.asarray(self)[index]

    images = np.zeros((1000, 8, 8), np.uint8).view(Counting)
    contact_sheet(images, np.arange(1000) % 2, ["a", "b"])
    assert len(images.indices) == 16
    assert all(index.stop - index.start == 1 for index in images.indices)
