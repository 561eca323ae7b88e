"""Folders of images, which the tests write with OpenCV; images are cropped as by the features."""

import os

import cv2
import numpy as np
import pytest
from official_archives import REFUSED, refused

from protocol import datasets
from protocol.datasets.image_folder import load
from protocol.inputs.images import square

RNG = np.random.default_rng(0)


def picture(shape=(20, 30, 3)):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def write(path, image):
    """Write an image, red first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = image[..., ::-1] if image.ndim == 3 and image.shape[2] == 3 else image
    path.write_bytes(cv2.imencode(path.suffix, stored)[1].tobytes())
    return image


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "images"


def test_subfolders_are_classes_in_the_order_of_their_names(folder):
    images = {
        "dog/b.png": picture(),
        "cat/10.png": picture((40, 16, 3)),
        "cat/9.png": picture((16, 16, 3)),
        "cat/deep/er.bmp": picture((15, 33, 3)),
        "ant/A.PPM": picture(),
    }
    for name, image in images.items():
        write(folder / name, image)
    data = load({}, folder=str(folder), image_size=16)
    assert data.ids.tolist() == ["ant/A.PPM", "cat/10.png", "cat/9.png", "cat/deep/er.bmp", "dog/b.png"]
    assert data.class_names == ("ant", "cat", "dog")
    assert data.labels.tolist() == [0, 1, 1, 1, 2]
    assert data.images.shape == (5, 16, 16, 3)
    for image, name in zip(data.images[:], data.ids, strict=True):
        np.testing.assert_array_equal(image, square(images[name], 16), err_msg=name)
    np.testing.assert_array_equal(data.images[1:3], data.images[:][1:3])
    assert data.notes == ()


def test_other_and_hidden_files_and_folders_are_skipped(folder, caplog):
    for name in ("a/x.png", ".git/x.png", "a/.ipynb_checkpoints/x.png", "a/._x.png"):
        write(folder / name, picture())
    for name in ("Thumbs.db", "a/notes.txt", "b/index.html", "b/.DS_Store"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("no image")
    (folder / "c" / "d").mkdir(parents=True)
    data = load({}, folder=str(folder))
    assert caplog.messages == [f"{folder}: 2 subfolders without images, so no class: b, c"]
    assert data.ids.tolist() == ["a/x.png"]
    assert data.notes == ("files in the folder that are not images and were skipped: 3",)
    assert data.class_names == ("a",)
    assert data.images.shape == (1, 128, 128, 3)


def test_a_broken_image_is_named_when_it_is_read(folder):
    for name in "abcd":
        write(folder / "cat" / f"{name}.png", picture())
    broken = folder / "cat" / "b.png"
    broken.write_bytes(broken.read_bytes()[:100] + broken.read_bytes()[400:])
    images = load({}, folder=str(folder), image_size=8).images
    assert images[:1].shape == (1, 8, 8, 3)
    refused("cat/b.png: not a complete JPEG, PNG, BMP, TIFF, WebP or PNM image.", images.__getitem__, slice(1, None))


def test_all_files_that_are_not_images_are_in_one_message(folder, caplog):
    caplog.set_level("INFO", "protocol.inputs")
    write(folder / "cat" / "x.png", picture())
    for number in range(4):
        (folder / "cat" / f"{number}.jpg").touch()
    for number in range(7):
        (folder / "cat" / f"y{number}.gif").write_bytes(b"GIF89a")
    for part in (
        "images/cat: 11 images can't be used: ",
        ": the file is empty (4: 0.jpg, 1.jpg, 2.jpg, 3.jpg); GIF files are not supported (7: y0.gif, y1.gif, ",
        "y4.gif and 2 more). Supported are .bmp, .jfif, .jpe, .jpeg, .jpg, ",
    ):
        refused(part, load, {}, folder=str(folder))
    assert f"\n{folder}/cat/y6.gif: GIF files are not supported" in caplog.messages[-1]


def test_links_to_folders_are_followed_but_cycles_are_refused(folder, tmp_path):
    write(tmp_path / "elsewhere" / "x.png", picture())
    folder.mkdir()
    os.symlink(tmp_path / "elsewhere", folder / "cat")
    assert load({}, folder=str(folder)).ids.tolist() == ["cat/x.png"]
    os.symlink(folder, folder / "dog")
    refused(f"dog: a link to {folder}, which is in the dataset already. Remove the link.", load, {}, folder=str(folder))


@pytest.mark.parametrize(("listed", "expected"), REFUSED["labels_of_images"])
def test_labels_in_a_file_are_matched_by_the_paths_of_the_images(listed, expected, folder, tmp_path):
    for name in ("x.png", "b/y.png"):
        write(folder / name, picture())
    (tmp_path / "l.csv").write_text(listed.replace(" ", "\n"))
    options = {"folder": str(folder), "labels": str(tmp_path / "l.csv")}
    assert datasets.statistics("image_folder", options)["labelled"] is True
    if isinstance(expected, str):
        refused(expected, load, {}, **options)
    else:
        data = load({}, **options)
        assert [data.class_names[label] for label in data.labels] == expected


ROWS = [*REFUSED["image_folder"], ([os.fsdecode(b"\xff.png")], r"name '\udcff.png' is not UTF-8. Rename the file.")]


@pytest.mark.parametrize(("files", "message"), ROWS)
def test_paths_other_than_folders_of_images_are_refused(folder, files, message):
    (folder / "cat").mkdir(parents=True)
    for name in files:
        (folder / name).write_bytes(b"x")
    refused(message, load, {}, folder=str(folder))


def test_the_size_is_a_statistic_and_the_number_is_not_known(folder):
    write(folder / "x.png", picture())
    options = {"folder": str(folder), "image_size": 9}
    assert datasets.statistics("image_folder", options) == {"image_shape": (9, 9, 3), "labelled": False}
    write(folder / "cat" / "y.png", picture())
    assert datasets.statistics("image_folder", options) == {"image_shape": (9, 9, 3)}
    (folder / "cat" / "y.png").unlink()
    assert datasets.load("image_folder", {}, options).images.shape == (1, 9, 9, 3)
