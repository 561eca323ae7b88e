"""Members of archives are found and verified completely, and nothing is written to disk."""

import io
import os
import tarfile
import zipfile

import pytest

from protocol.checks import ProtocolError
from protocol.datasets._archives import members
from protocol.inputs import text

FILES = {"top/a.txt": b"one " * 1000, "top/b/c.bin": bytes(range(256)) * 40, "top/d.txt": b"not asked for"}
KINDS = ["x.tar.gz", "x.zip"]


def write(path, files=FILES, *, stored=False):
    """Write an archive; an entry that is not bytes is a TarInfo or ZipInfo without content."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(*((name, content) if isinstance(content, bytes) else (content, "/etc/passwd")))
        return path
    with tarfile.open(path, "w:gz", compresslevel=0 if stored else 9) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name) if isinstance(content, bytes) else content
            member.size = len(content) if isinstance(content, bytes) else 0
            tar.addfile(member, io.BytesIO(content) if member.size else None)
    return path


def read(path, names=("a.txt", "b/c.bin"), only=-1):
    with members(path, names) as found:
        return {name: stream.read(only) for name, stream in found}


def refusal(path, names=("a.txt", "b/c.bin"), only=-1):
    with pytest.raises(ProtocolError) as error:
        read(path, names, only)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_members_have_the_requested_names_and_sizes(tmp_path, kind):
    path = write(tmp_path / kind)
    assert read(path) == {"a.txt": FILES["top/a.txt"], "b/c.bin": FILES["top/b/c.bin"]}
    assert read(path, ["top/a.txt"]) == {"top/a.txt": FILES["top/a.txt"]}
    assert os.listdir(tmp_path) == [kind]
    assert refusal(path, ["a.txt", "e.txt"]) == f"{path}: the archive lacks e.txt."
    assert refusal(path, [".txt"]) == f"{path}: the archive lacks .txt."


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_archive_or_another_file_is_refused(tmp_path, kind):
    path = write(tmp_path / kind)
    content = path.read_bytes()
    for damaged in (b"<html>Not found</html>" * 100, *(content[:end] for end in (10, len(content) // 3, -20, -1))):
        path.write_bytes(damaged)
        assert "archive is truncated or damaged (" in refusal(path), len(damaged)
    path.unlink()
    assert refusal(path) == f"{path}: no such file."


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_noticed_even_if_a_member_is_not_read_completely(tmp_path, kind):
    name = "top/b/c.bin"
    path = write(tmp_path / kind, stored=True)  # stored without compression, so only a checksum detects the change
    content = bytearray(path.read_bytes())
    content[content.index(FILES[name]) + len(FILES[name]) - 10] ^= 1
    path.write_bytes(content)
    assert "truncated or damaged" in refusal(path)
    assert "truncated or damaged" in refusal(path, only=1)


def test_a_member_that_is_no_file_or_not_the_only_one_or_too_large_is_refused(tmp_path, monkeypatch):
    link = tarfile.TarInfo("a.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    message = "is not a regular file, a second a.txt, or too large."
    assert message in refusal(write(tmp_path / "x.tar.gz", {"": link}), ["a.txt"])
    assert message in refusal(write(tmp_path / "x.zip", {"one/a.txt": b"1", "two/a.txt": b"2"}), ["a.txt"])
    monkeypatch.setattr(text, "ARRAY_BYTES", 5000)
    path = write(tmp_path / "y.zip")
    assert read(path, ["a.txt"])
    assert "too large" in refusal(path)
