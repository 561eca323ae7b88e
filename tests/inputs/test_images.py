"""Images from files in every common format, hostile ones, and central squares, compared with a slow version."""

import os
import struct
import subprocess
import sys
import zlib

import cv2
import numpy as np
import pytest
from encoded import message_of

from protocol.checks import ProtocolError
from protocol.inputs.images import EXTENSIONS, looks_complete, read_image, square

RNG = np.random.default_rng(0)
COLOUR = cv2.resize(RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8), (40, 30), interpolation=cv2.INTER_CUBIC)
LOSSY = {".jpg", ".jpeg", ".jpe", ".jfif", ".webp"}


def encoded(extension, image=COLOUR):
    """Return an RGB image in a format; .pgm has only the red channel."""
    extension = ".jpg" if extension == ".jfif" else extension  # OpenCV writes it under this name only
    return cv2.imencode(extension, image[..., 0] if extension == ".pgm" else image[..., ::-1])[1].tobytes()


@pytest.mark.parametrize("extension", sorted(EXTENSIONS))
def test_every_format_gives_red_green_blue(tmp_path, extension):
    path = tmp_path / f"ünïcode {{x}}{extension}"
    image = COLOUR if extension != ".pgm" else np.repeat(COLOUR[..., :1], 3, axis=2)
    path.write_bytes(encoded(extension))
    result = read_image(path)
    assert result.dtype == np.uint8
    assert result.shape == (30, 40, 3)
    assert np.abs(result.astype(int) - image).mean() < (6 if extension in LOSSY else 0.51)


def test_grey_transparent_and_16_bit_images_become_three_channels_of_8_bits(tmp_path):
    cases = {
        "grey": (COLOUR[..., 0], np.repeat(COLOUR[..., :1], 3, axis=2)),
        "opaque": (np.dstack([COLOUR[..., ::-1], np.full((30, 40), 255, np.uint8)]), COLOUR),
        "alpha": (np.dstack([COLOUR[..., ::-1], np.full((30, 40), 51, np.uint8)]), 255 - np.rint((255.0 - COLOUR) / 5)),
        "deep alpha": (np.dstack([COLOUR, COLOUR[..., :1] * 0]).astype(np.uint16) << 8, np.full((30, 40, 3), 255)),
        "deep": (COLOUR[..., ::-1].astype(np.uint16) << 8, COLOUR),
    }
    for name, (stored, expected) in cases.items():
        path = tmp_path / f"{name}.png"
        path.write_bytes(cv2.imencode(".png", stored)[1].tobytes())
        np.testing.assert_array_equal(read_image(path), expected, err_msg=name)


def png(colours, channels, rows, **chunks):
    """Return a PNG image with 8 bits per channel; `colours` is PNG's number of the colour type."""
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, colours, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    parts = {
        b"IHDR": header,
        **{name.encode(): content for name, content in chunks.items()},
        b"IDAT": data,
        b"IEND": b"",
    }
    crc = {name: zlib.crc32(name + content) for name, content in parts.items()}
    packed = (struct.pack(">I", len(part)) + name + part + struct.pack(">I", crc[name]) for name, part in parts.items())
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


TRANSPARENT = {  # colours under alpha 0 are hidden; 100 with alpha 128 is 255 - 155 * 128 / 255
    "grey and alpha": (
        png(4, 2, [[0, 0, 200, 255], [0, 255, 100, 128]]),
        [[[255] * 3, [200] * 3], [[0] * 3, [177] * 3]],
    ),
    "palette": (
        png(3, 1, [[0, 1, 1]], PLTE=bytes([0, 0, 0, 200, 100, 50]), tRNS=bytes([0, 255])),
        [[[255, 255, 255], [200, 100, 50], [200, 100, 50]]],
    ),
    "colours and alpha": (png(6, 4, [[0, 0, 0, 0, 0, 0, 0, 255, 1, 2, 3, 255]]), [[[255] * 3, [0] * 3, [1, 2, 3]]]),
}


@pytest.mark.parametrize("name", TRANSPARENT)
def test_transparent_images_are_composed_on_white(name, tmp_path):
    content, expected = TRANSPARENT[name]
    (tmp_path / "a.png").write_bytes(content)
    assert read_image(tmp_path / "a.png").tolist() == expected


@pytest.mark.parametrize("extension", sorted(EXTENSIONS))
def test_a_file_cut_short_is_refused_by_name(tmp_path, extension):
    path = tmp_path / f"a{extension}"
    content = encoded(extension)
    for left in (0, 3, len(content) // 2, len(content) - 20):
        path.write_bytes(content[:left])
        problems = ("can't be read as an image", "not a complete JPEG", "the file is empty.")
        assert message_of(read_image, path).startswith(tuple(f"{path}: {problem}" for problem in problems))


def test_images_that_begin_and_end_as_they_should_are_not_decoded(tmp_path):
    """The inside of a file is only read with the image itself."""
    for extension in (".jpg", ".png", ".bmp"):
        content = encoded(extension)
        for cut, complete in ((len(content), extension != ".bmp"), (len(content) - 20, False), (3, False), (0, False)):
            (tmp_path / f"a{extension}").write_bytes(content[:cut])
            assert looks_complete(tmp_path / f"a{extension}") == complete, (extension, cut)


def test_an_image_with_too_many_pixels_or_of_which_opencv_would_warn_is_refused(tmp_path):
    """In a process of its own, because OpenCV reads its limits when it is imported."""
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((7_100, 7_100), dtype=np.uint8))
    (tmp_path / "b.png").write_bytes(encoded(".png")[:200])
    code = "import sys; from protocol.inputs.images import read_image; read_image(sys.argv[1])"
    for message in (
        "a.png: the image has more than 50,000,000 pixels. Reduce it.",
        "b.png: not a complete JPEG, PNG, ",
    ):
        command = [sys.executable, "-c", code, tmp_path / message[:5]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert message in done.stderr.splitlines()[-1]
        assert "grfmt" not in done.stderr


def test_what_is_no_image_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").symlink_to("/dev/zero")
    (tmp_path / "c.png").mkdir()
    (tmp_path / "d.jpg").write_text("<html>Not found</html>")
    regular = "a non-regular file, not an image"
    messages = {"a.png": regular, "b.png": regular, "c.png": "a folder, not an image"}
    messages |= {"d.jpg": "not a complete JPEG", "none.jpg": "can't be read as an image"}
    for name, message in messages.items():
        with pytest.raises(ProtocolError, match=f"{name}: {message}"):
            read_image(tmp_path / name)


def slow_square(image, size):
    """Return the means of the pixels around each position, weighted by triangles as wide as the coarser pixel."""
    height, width, channels = image.shape
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    ratio = side / size

    def weights(place):
        centre = (place + 0.5) * ratio - 0.5
        each = [max(0.0, 1 - abs(centre - pixel) / max(ratio, 1)) for pixel in range(side)]
        return [weight / sum(each) for weight in each]

    made = np.zeros((size, size, channels))
    for row in range(size):
        for column in range(size):
            for i, down in enumerate(weights(row)):
                for j, across in enumerate(weights(column)):
                    made[row, column] += down * across * image[top + i, left + j]
    return made


@pytest.mark.parametrize("size", [3, 7, 12])
@pytest.mark.parametrize("shape", [(7, 10, 3), (10, 7, 3), (7, 7, 3), (9, 16, 3)])
def test_the_square_is_the_central_one_resized(shape, size):
    image = RNG.integers(0, 256, shape, dtype=np.uint8)
    result = square(image, size)
    assert result.dtype == np.uint8
    assert np.abs(result - slow_square(image, size)).max() <= 0.5 + 1e-3


def test_a_square_of_the_right_size_is_unchanged():
    image = RNG.integers(0, 256, (7, 10, 3), dtype=np.uint8)
    np.testing.assert_array_equal(square(image, 7), image[:, 1:8])
    np.testing.assert_array_equal(square(np.full((9, 9, 3), 255, np.uint8), 4), np.full((4, 4, 3), 255))
