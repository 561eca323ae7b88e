"""Lines of text: limits on decompressed sizes, pipes and devices."""

import gzip
import os
from functools import partial

import pytest
from encoded import refuses

from protocol.inputs import text
from protocol.inputs.arrays import read_lists
from protocol.inputs.lists import ids_from


def test_lines_end_as_on_any_system(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffa b\r\nc\rd\n\ne".encode())
    assert list(text.lines(tmp_path / "a.txt", "text")) == ["a b\n", "c\n", "d\n", "\n", "e"]


@pytest.mark.parametrize("read", [partial(ids_from, role="ids"), read_lists])
def test_limits(tmp_path, monkeypatch, read):
    (tmp_path / "a.txt").write_text("12345 1\n" * 4)
    monkeypatch.setattr(text, "TEXT_BYTES", 10)
    refuses(r"larger than 0 MiB\.", read, tmp_path / "a.txt")


def test_a_damaged_compressed_list(tmp_path):
    content = bytearray(gzip.compress(b"a\nb\nc\n" * 100))
    content[12] ^= 0xFF
    (tmp_path / "a.txt.gz").write_bytes(content)
    problem = r"a.txt.gz: can't be read as a list of items \(CRC check failed 0x4bf15a49 !="
    refuses(problem, ids_from, tmp_path / "a.txt.gz", "ids")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.txt.gz"])
def test_a_pipe_and_a_device_are_refused_at_once(tmp_path, name):
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(tmp_path / name)
        refuses(f"{name}: a non-regular file, not a list of items", ids_from, tmp_path / name, "ids")
        (tmp_path / name).unlink()
