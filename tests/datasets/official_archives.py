"""Archives in the official layouts; damaged ones are in tests/inputs/test_archives.py."""

import io
import tarfile


def write_tar(path, contents):
    """Write a compressed archive of files, by name, and return its path."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path
