"""Members of archives are found, limited in size and verified completely, and nothing is written to disk."""

import gzip
import io
import os
import stat
import tarfile
import zipfile

import pytest

from protocol.checks import ProtocolError
from protocol.inputs import limits
from protocol.inputs.archives import members

FILES = {"top/a.txt": b"one " * 1000, "top/b/c.bin": bytes(range(256)) * 40, "top/d.txt": b"not asked for"}
KINDS = ["x.tar", "x.tar.gz", "x.tgz", "x.zip"]


def write(path, files=FILES, *, stored=False):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path
    with tarfile.open(
        path, "w" if path.suffix == ".tar" else "w:gz", **({"compresslevel": 0} if stored else {})
    ) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def read(path, names=("a.txt", "b/c.bin"), only=-1, **options):
    with members(path, names, **options) as found:
        return {name: stream.read(only) for name, stream in found}


def refusal(path, names=("a.txt", "b/c.bin"), **options):
    with pytest.raises(ProtocolError) as error:
        read(path, names, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_members_have_the_requested_names(tmp_path, kind):
    path = write(tmp_path / kind)
    assert read(path) == {"a.txt": FILES["top/a.txt"], "b/c.bin": FILES["top/b/c.bin"]}
    assert read(path, ["top/a.txt"]) == {"top/a.txt": FILES["top/a.txt"]}
    assert os.listdir(tmp_path) == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_member_is_named_and_a_part_of_a_name_does_not_match(tmp_path, kind):
    path = write(tmp_path / kind)
    assert refusal(path, ["a.txt", "e.txt"]) == f"{path}: the archive lacks e.txt."
    assert refusal(path, [".txt"]) == f"{path}: the archive lacks .txt."


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_archive_is_refused(tmp_path, kind):
    path = write(tmp_path / kind)
    content = path.read_bytes()
    for left in {10, len(content) // 3, len(content) - 20, len(content) - 1} - (
        {len(content) - 20, len(content) - 1} if kind == "x.tar" else set()
    ):
        path.write_bytes(content[:left])
        assert "archive, got a truncated or damaged one (" in refusal(path), left


@pytest.mark.parametrize("kind", ["x.tar.gz", "x.zip"])
@pytest.mark.parametrize("name", ["top/a.txt", "top/b/c.bin"])
def test_a_flipped_bit_is_noticed_even_if_a_member_is_not_read_completely(tmp_path, kind, name):
    path = write(tmp_path / kind, stored=True)  # stored without compression, so only a checksum detects the change
    content = bytearray(path.read_bytes())
    content[content.index(FILES[name]) + len(FILES[name]) - 10] ^= 1
    path.write_bytes(content)
    assert "truncated or damaged" in refusal(path)
    assert "truncated or damaged" in refusal(path, only=1)


def test_no_file_and_a_file_of_another_kind(tmp_path):
    assert refusal(tmp_path / "x.zip") == f"{tmp_path}/x.zip: expected an archive, got no such file."
    for kind in KINDS:
        (tmp_path / kind).write_text("<html>Not found</html>" * 100)
        assert "truncated or damaged" in refusal(tmp_path / kind)


@pytest.mark.parametrize("kind", ["x.tar.gz", "x.zip"])
@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "top/../../a.txt"])
def test_a_path_outside_the_archive_is_refused(tmp_path, kind, name):
    path = write(tmp_path / kind, {name: b"x"})
    assert refusal(path, ["a.txt"]) == f"{path}: expected paths inside the archive's folder, got {name}."


@pytest.mark.parametrize("link", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_a_link_in_a_tar_is_refused(tmp_path, link):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.type, member.linkname = link, "/etc/passwd"
        archive.addfile(member)
    assert refusal(path, ["a.txt"]) == f"{path}: a.txt: expected a regular file, got a link or a folder."


def test_a_link_in_a_zip_is_refused(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("a.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert "expected a regular file, got a link" in refusal(path, ["a.txt"])


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    path = write(tmp_path / "x.zip", {"one/a.txt": b"1", "two/a.txt": b"2"})
    assert refusal(path, ["a.txt"]) == f"{path}: expected a.txt once, got it again as two/a.txt."


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_above_the_limit_is_not_read(tmp_path, kind):
    path = write(tmp_path / kind)
    message = "top/a.txt: expected at most 3,999 bytes uncompressed, got 4,000 or more."
    assert refusal(path, limit=3999) == f"{path}: {message}"
    assert read(path, ["a.txt"], limit=4000)


def test_a_bomb_outside_the_requested_members_ends_at_the_limit_of_the_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 1 << 20)
    path = write(tmp_path / "x.tar.gz", {"bomb": bytes(50 << 20), "a.txt": b"x"})
    assert path.stat().st_size < 100_000
    assert "bytes uncompressed, got 1,0" in refusal(path, ["a.txt"])


def test_a_bomb_after_the_end_of_the_archive_is_not_decompressed(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 1 << 20)
    path = write(tmp_path / "x.tar.gz", {"a.txt": b"x"})
    path.write_bytes(path.read_bytes() + gzip.compress(bytes(50 << 20)))
    assert "expected at most 1,048,576 bytes" in refusal(path, ["a.txt"])


def test_the_total_size_read_from_a_zip_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 5000)
    path = write(tmp_path / "x.zip")
    assert read(path, ["a.txt"])
    assert "expected at most 5,000 bytes uncompressed, got 14,240 or more." in refusal(path)


def test_a_zip_with_a_wrong_size_yields_no_more_than_declared(tmp_path):
    path = write(tmp_path / "x.zip", {"a.txt": b"y" * 100_000})
    content = path.read_bytes().replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(content)
    assert "truncated or damaged" in refusal(path, ["a.txt"])


def test_an_error_of_the_block_itself_is_not_converted(tmp_path):
    path = write(tmp_path / "x.zip")
    with pytest.raises(KeyError), members(path, ["a.txt"]):
        raise KeyError
    with pytest.raises(ProtocolError, match="mine"), members(path, ["a.txt"]):
        raise ProtocolError("mine")
