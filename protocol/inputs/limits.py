"""The policy for files from elsewhere, and the limits within which they are read.

- Files that the pipeline wrote are verified by their checksums before a parser opens them (`protocol.provenance`).
- Downloads are verified before they are parsed, and bounded in size and time (`protocol.downloads`).
- Files that a user names are read without running anything in them: no pickles, no files that they point to. Declared
  sizes are compared with a limit and with the file before memory is allocated, because a few kilobytes can decompress
  to terabytes. Nothing is extracted to disk. Only HDF5, which may crash or hang on a damaged file, is read by another
  process (`protocol.inputs.hdf5`); pipes and devices, on which reading may block, are refused.

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

HDF5_SECONDS = 60.0
"""Allowed for a reply, in addition to the size of the file or of the array over `HDF5_BYTES_PER_SECOND`."""

HDF5_BYTES_PER_SECOND = 10 << 20


def check_regular(path: Path, what: str) -> None:
    """Raise ProtocolError if a path is not a regular file, OSError if it does not exist."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        found = "a folder" if stat.S_ISDIR(mode) else "a non-regular file"
        raise ProtocolError(f"{path}: {found}, not {what}.")
