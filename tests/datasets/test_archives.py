"""Members of archives are found by the ends of their paths, and nothing is written to disk."""

import os

import pytest
from official_archives import refused, write_tar, zipped

from protocol.datasets._archives import members

FILES = {"top/a.txt": b"one " * 1000, "top/b/c.bin": bytes(range(256)) * 40, "top/d.txt": b"not asked for"}


@pytest.fixture(params=["x.tar.gz", "x.zip"])
def path(tmp_path, request):
    if request.param == "x.tar.gz":
        return write_tar(tmp_path / request.param, FILES)
    zipped(tmp_path / request.param, FILES)
    return tmp_path / request.param


def read(path, *names):
    with members(path, names) as files:
        return {name: stream.read() for name, stream in files}


def test_members_have_the_requested_names(path):
    assert read(path, "a.txt", "b/c.bin") == {"a.txt": FILES["top/a.txt"], "b/c.bin": FILES["top/b/c.bin"]}
    assert read(path, "top/a.txt") == {"top/a.txt": FILES["top/a.txt"]}
    assert os.listdir(path.parent) == [path.name]
    refused(f"{path}: the archive lacks e.txt.", read, path, "a.txt", "e.txt")
    refused(f"{path}: the archive lacks .txt.", read, path, ".txt")


def test_a_truncated_archive_or_another_file_is_refused(path):
    content = path.read_bytes()
    for damaged in (b"<html>Not found</html>" * 100, content[:10], content[: len(content) // 3]):
        path.write_bytes(damaged)
        refused("can't be read as a complete archive (", read, path, "a.txt")
    path.unlink()
    refused(f"{path}: no such file.", read, path, "a.txt")
