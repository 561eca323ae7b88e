"""The policy for files from elsewhere, and the limits within which they are read.

- Files that the pipeline wrote are verified by their checksums before a parser opens them (`protocol.provenance`).
- Downloads are verified before they are parsed, and bounded in size (`protocol.datasets.fetch`).
- Files that a user names are read without running anything in them: no pickles, no files that they point to. The
  declared size of an array is compared with a limit before memory is allocated, because a few kilobytes can decompress
  to terabytes. Nothing is extracted to disk. Pipes and devices, on which reading may block, are refused.

A file that is damaged or exceeds a limit is an error of one line. We do not defend against users who attack themselves.
"""

import os
import stat
from pathlib import Path

from protocol.checks import ProtocolError

ARRAY_BYTES = 4 << 30
"""Of an array when decompressed; larger ones must be ``.npy``, which is not compressed."""

ARCHIVE_BYTES = 4 << 30
"""Of an archive, or of the part that is read, when decompressed."""

MEMBER_BYTES = 1 << 30
"""Of one member of an archive when decompressed."""

TEXT_BYTES = 1 << 30
"""Of a text file when decompressed."""

TEXT_LINES = 10_000_000
LINE_BYTES = 64 << 20
STRINGS_BYTES = 4 << 30
"""Of an array of strings; NumPy uses four bytes for each character of the longest one."""

IMAGE_PIXELS = 50_000_000
"""Of an image, more than those of cameras have."""


def check_array(path: Path, n_bytes: int) -> None:
    """Raise ProtocolError if an array that is compressed in a file is larger than `ARRAY_BYTES`."""
    if n_bytes > ARRAY_BYTES:
        raise ProtocolError(
            f"{path}: the array takes {n_bytes / 2**30:.3g} GiB uncompressed, more than "
            f"{ARRAY_BYTES / 2**30:.3g} GiB. Save it as .npy."
        )


def check_regular(path: Path, what: str) -> None:
    """Raise ProtocolError if a path is not a regular file, OSError if it does not exist."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        found = "a folder" if stat.S_ISDIR(mode) else "a non-regular file"
        raise ProtocolError(f"{path}: {found}, not {what}.")
