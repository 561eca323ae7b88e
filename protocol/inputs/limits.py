"""The policy for files from elsewhere, and the limits within which they are read.

- Files that the pipeline wrote are verified by their checksums before a parser opens them (`protocol.provenance`).
- Downloads are verified before they are parsed, and bounded in size (`protocol.datasets.fetch`).
- Files that a user names are read without running anything in them: no pickles. The declared size of an array is
  compared with a limit before memory is allocated, because a few kilobytes can decompress to terabytes. Nothing is
  extracted to disk. Pipes and devices, on which reading may block, are refused.

A file that is damaged or exceeds a limit is an error of one line. We do not defend against users who attack themselves.
"""

from pathlib import Path

from protocol.checks import ProtocolError

ARRAY_BYTES = 4 << 30
"""Bytes that an array, a list of strings or the requested part of an archive may take when decompressed."""

TEXT_BYTES = 1 << 30
"""Of a text file when decompressed; NumPy and Python take several times as much for its lines."""

TEXT_LINES = 10_000_000

IMAGE_PIXELS = 50_000_000
"""Of an image, more than those of cameras have."""


def check_array(path: str | Path, n_bytes: int) -> None:
    """Raise ProtocolError if an array that is compressed in a file is larger than `ARRAY_BYTES`."""
    if n_bytes > ARRAY_BYTES:
        raise ProtocolError(
            f"{path}: the array takes {n_bytes / 2**30:.3g} GiB uncompressed, more than {ARRAY_BYTES / 2**30:.3g} GiB. "
            "Save it as .npy."
        )


def check_regular(path: Path, what: str) -> None:
    """Raise ProtocolError if a path is not a regular file, FileNotFoundError if it does not exist."""
    path.stat()
    if not path.is_file():
        raise ProtocolError(f"{path}: {'a folder' if path.is_dir() else 'a non-regular file'}, not {what}.")
