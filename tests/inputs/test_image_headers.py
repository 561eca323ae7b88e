"""The size of an image from its header, and images that are too large to decode."""

import os
import struct
import zlib

import cv2
import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.inputs.image_headers import image_size
from protocol.inputs.images import EXTENSIONS, read_image


@pytest.mark.parametrize("extension", sorted(EXTENSIONS))
@pytest.mark.parametrize("shape", [(7, 13), (300, 2), (7, 13, 3)])
def test_the_size_is_that_of_the_decoded_image(extension, shape):
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    if extension == ".ppm" and len(shape) == 2:
        picture = np.dstack([picture] * 3)
    if extension == ".pgm" and len(shape) == 3:
        picture = picture[..., 0]
    content = cv2.imencode(extension, picture)[1].tobytes()
    assert image_size(content) == shape[1::-1]


def test_progressive_jpeg_and_lossless_webp():
    picture = np.random.default_rng(0).integers(0, 256, (11, 17, 3)).astype(np.uint8)
    for extension, options in ((".jpg", [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]), (".webp", [cv2.IMWRITE_WEBP_QUALITY, 101])):
        assert image_size(cv2.imencode(extension, picture, options)[1].tobytes()) == (17, 11)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"II*\0", b"BM", b"RIFF", b"P6", b"GIF89a", b"P6 x"]
)
def test_content_without_a_size(content):
    assert image_size(content) is None


def test_every_prefix_and_every_changed_byte_has_a_size_or_none():
    picture = np.zeros((9, 9, 3), np.uint8)
    for extension in (".jpg", ".png", ".tif", ".webp", ".bmp", ".ppm"):
        content = cv2.imencode(extension, picture)[1].tobytes()
        for at in range(len(content)):
            assert image_size(content[:at]) is None or len(image_size(content[:at])) == 2
            changed = content[:at] + b"\xff" + content[at + 1 :]
            assert image_size(changed) is None or len(image_size(changed)) == 2


def one_bit_png(path, size):
    """Write a black image of `size` x `size` pixels with one bit each, which takes some kilobytes."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer = zlib.compressobj(9)
    row = bytes(1 + -(-size // 8))
    rows = b"".join(packer.compress(row) for _ in range(size)) + packer.flush()
    header = struct.pack(">IIBBBBB", size, size, 1, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_an_image_of_too_many_pixels_is_not_decoded(tmp_path, monkeypatch):
    one_bit_png(tmp_path / "a.png", 30_000)
    assert (tmp_path / "a.png").stat().st_size < 200_000
    monkeypatch.setattr(cv2, "imdecode", lambda *arguments: pytest.fail("decoded"))
    with pytest.raises(
        ProtocolError,
        match=r"a.png: expected an image of at most 50,000,000 pixels, got 30,000 x 30,000\. Reduce the image\.$",
    ):
        read_image(tmp_path / "a.png")
    one_bit_png(tmp_path / "a.png", 9_000)
    with pytest.raises(ProtocolError, match="got 9,000 x 9,000"):
        read_image(tmp_path / "a.png")


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").symlink_to("/dev/zero")
    (tmp_path / "c.png").mkdir()
    for name, got in (("a.png", "a non-regular file"), ("b.png", "a non-regular file"), ("c.png", "a folder")):
        with pytest.raises(ProtocolError, match=f"{name}: expected an image, got {got}"):
            read_image(tmp_path / name)
