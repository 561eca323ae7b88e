"""Folders of images, which the tests write with OpenCV; images are cropped as by the features."""

import os

import cv2
import numpy as np
import pytest

from protocol import datasets
from protocol.checks import ProtocolError
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


def test_grey_and_transparent_images_become_three_channels(folder):
    grey, colour = picture((12, 12)), picture((12, 12, 3))
    write(folder / "a" / "grey.png", grey)
    write(folder / "a" / "alpha.png", np.dstack([colour[..., ::-1], np.full((12, 12), 9, np.uint8)]))
    alpha, of_grey = load({}, folder=str(folder), image_size=12).images[:]
    np.testing.assert_array_equal(alpha, colour)
    np.testing.assert_array_equal(of_grey, np.repeat(grey[..., None], 3, axis=2))


def test_other_files_are_skipped_and_counted(folder):
    write(folder / "a" / "x.png", picture())
    for name in ("Thumbs.db", "a/notes.txt", "b/index.html", "b/.DS_Store"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("no image")
    data = load({}, folder=str(folder))
    assert data.notes == ("3 files in the folder are not images and were skipped",)
    assert data.class_names == ("a",)
    assert data.images.shape == (1, 128, 128, 3)


def test_a_folder_without_subfolders_has_no_labels(folder):
    write(folder / "x.png", picture())
    assert load({}, folder=str(folder)).labels is None


def test_a_broken_image_is_named_when_it_is_read(folder):
    for name in "abc":
        write(folder / "cat" / f"{name}.jpg", picture())
    broken = folder / "cat" / "b.jpg"
    broken.write_bytes(broken.read_bytes()[:200])
    images = load({}, folder=str(folder), image_size=8).images
    assert images[:1].shape == (1, 8, 8, 3)
    with pytest.raises(ProtocolError, match=r"cat/b\.jpg: expected a complete JPEG"):
        images[1:]


def test_links_to_folders_are_followed_but_cycles_are_refused(folder, tmp_path):
    write(tmp_path / "elsewhere" / "x.png", picture())
    folder.mkdir()
    os.symlink(tmp_path / "elsewhere", folder / "cat")
    assert load({}, folder=str(folder)).ids.tolist() == ["cat/x.png"]
    os.symlink(folder, folder / "dog")
    with pytest.raises(ProtocolError, match="expected each folder once, got a link to"):
        load({}, folder=str(folder))


def test_paths_other_than_folders_of_images_are_refused(folder):
    folder.mkdir()
    with pytest.raises(ProtocolError, match=r"expected images .* got 0 files of other kinds"):
        load({}, folder=str(folder))
    with pytest.raises(ProtocolError, match="folder: expected the folder of the images"):
        load({})
    write(folder / "cat" / "x.png", picture())
    write(folder / "y.png", picture())
    with pytest.raises(
        ProtocolError, match=r"expected every image in the subfolder of its class, got y\.png next to the subfolders"
    ):
        load({}, folder=str(folder))
    for size in (0, 2.5, True, "64"):
        with pytest.raises(ProtocolError, match="image_size: expected an integer >= 1"):
            load({}, folder=str(folder / "cat"), image_size=size)


def test_a_name_that_is_not_text_is_an_error(folder):
    folder.mkdir()
    (folder / os.fsdecode(b"\xff.png")).write_bytes(b"x")
    with pytest.raises(ProtocolError, match=r"expected file names in UTF-8, got '\\udcff\.png'"):
        load({}, folder=str(folder))


def test_the_size_is_a_statistic_and_the_number_is_not_known(folder):
    write(folder / "x.png", picture())
    options = {"folder": str(folder), "image_size": 9}
    assert datasets.statistics("image_folder", options) == {"image_shape": (9, 9, 3), "labelled": False}
    write(folder / "cat" / "y.png", picture())
    assert datasets.statistics("image_folder", options) == {"image_shape": (9, 9, 3)}
    (folder / "cat" / "y.png").unlink()
    assert datasets.load("image_folder", {}, options).images.shape == (1, 9, 9, 3)


def test_hidden_files_and_folders_are_skipped(folder):
    write(folder / "cat" / "x.png", picture())
    for name in (".git/x.png", "cat/.ipynb_checkpoints/x.png", "cat/._x.png"):
        write(folder / name, picture())
    data = load({}, folder=str(folder), image_size=8)
    assert data.class_names == ("cat",)
    assert data.ids.tolist() == ["cat/x.png"]
    assert not data.notes


@pytest.mark.parametrize("extension", [".gif", ".HEIC", ".avif"])
def test_an_unsupported_image_format_is_reported(folder, extension):
    write(folder / "cat" / "x.png", picture())
    (folder / "cat" / f"y{extension}").write_bytes(b"GIF89a")
    match = (
        rf"cat/y{extension}: expected images \(.*\), got a {extension[1:].upper()} file, which is not supported\. "
        "Convert it"
    )
    with pytest.raises(ProtocolError, match=match):
        load({}, folder=str(folder))


def test_a_pipe_among_the_images_is_named(folder):
    write(folder / "cat" / "x.png", picture())
    os.mkfifo(folder / "cat" / "y.png")
    with pytest.raises(ProtocolError, match=r"cat/y\.png: expected an image, got a non-regular file"):
        load({}, folder=str(folder), image_size=8).images[:]
