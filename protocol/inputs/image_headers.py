"""Read the width and height of an image from its header, without decoding the image.

OpenCV has no function that reads only the header, and its own limit on pixels is read once, on import.
"""

import re
import struct
from collections.abc import Callable

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
_TIFF_WIDTH, _TIFF_HEIGHT = 256, 257
_TIFF_TYPES = {1: "B", 3: "H", 4: "I", 16: "Q"}
_PNM = re.compile(rb"P[1-7]\s+(?:#[^\n]*\n\s*)*(\d{1,9})\s+(?:#[^\n]*\n\s*)*(\d{1,9})\s")


def image_size(content: bytes | memoryview) -> tuple[int, int] | None:
    """Return the width and height of a JPEG, PNG, BMP, TIFF, WebP, PBM, PGM or PPM image; None for anything else.

    Parameters
    ----------
    content : bytes-like
        The complete file, of which only headers are read.
    """
    view = memoryview(content)
    for start, read in _READERS:
        if bytes(view[: len(start)]) == start:
            try:
                return read(view)
            except (struct.error, IndexError):
                return None
    return None


def _png(view: memoryview) -> tuple[int, int] | None:
    width, height = struct.unpack_from(">II", view, 16)
    return (width, height) if bytes(view[12:16]) == b"IHDR" else None


def _bmp(view: memoryview) -> tuple[int, int]:
    (header,) = struct.unpack_from("<I", view, 14)
    width, height = struct.unpack_from("<HH" if header == 12 else "<ii", view, 18)
    return abs(width), abs(height)


def _jpeg(view: memoryview) -> tuple[int, int] | None:
    at = 2
    while True:
        while view[at] != 0xFF:
            at += 1
        while view[at] == 0xFF:
            at += 1
        marker, at = view[at], at + 1
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", view, at + 3)
            return width, height
        if marker not in _JPEG_ALONE and marker != 0:
            at += struct.unpack_from(">H", view, at)[0]


def _tiff(view: memoryview) -> tuple[int, int] | None:
    order = "<" if bytes(view[:2]) == b"II" else ">"
    (version,) = struct.unpack_from(f"{order}H", view, 2)
    if version == 42:
        place, count, entry, value = struct.unpack_from(f"{order}I", view, 4)[0], "H", 12, 8
    elif version == 43:
        place, count, entry, value = struct.unpack_from(f"{order}Q", view, 8)[0], "Q", 20, 12
    else:
        return None
    (n_entries,) = struct.unpack_from(order + count, view, place)
    place += struct.calcsize(order + count)
    found = {}
    for at in range(place, min(place + n_entries * entry, len(view)), entry):
        tag, kind = struct.unpack_from(f"{order}HH", view, at)
        if tag in (_TIFF_WIDTH, _TIFF_HEIGHT) and kind in _TIFF_TYPES:
            (found[tag],) = struct.unpack_from(order + _TIFF_TYPES[kind], view, at + value)
    return (found[_TIFF_WIDTH], found[_TIFF_HEIGHT]) if len(found) == 2 else None


def _webp(view: memoryview) -> tuple[int, int] | None:
    match bytes(view[8:16]):
        case b"WEBPVP8 ":
            width, height = struct.unpack_from("<HH", view, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"WEBPVP8L":
            (bits,) = struct.unpack_from("<I", view, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8X":
            packed = bytes(view[24:30])
            return int.from_bytes(packed[:3], "little") + 1, int.from_bytes(packed[3:], "little") + 1
        case _:
            return None


def _pnm(view: memoryview) -> tuple[int, int] | None:
    found = _PNM.match(bytes(view[:1024]))
    return (int(found[1]), int(found[2])) if found else None


_READERS: tuple[tuple[bytes, Callable[[memoryview], tuple[int, int] | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8", _jpeg),
    (b"BM", _bmp),
    (b"II", _tiff),
    (b"MM", _tiff),
    (b"RIFF", _webp),
    (b"P", _pnm),
)
