"""Lists in plain form have the same content read in blocks or by line; other forms use the general reader."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.checks import ProtocolError
from protocol.splits import _files, _plain_lists, read_list


def outcome(path, monkeypatch, *, plain):
    """Return the content of a list, or the message of the error."""
    with monkeypatch.context() as patch:
        patch.setattr(_plain_lists, "_BLOCK_BYTES", 16)
        if not plain:
            patch.setattr(_files, "read_plain", lambda *_: None)
        try:
            items, flags = read_list(path)
        except ProtocolError as error:
            return str(error)
    return items.tolist(), None if flags is None else flags.tolist()


def by_blocks(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_plain_lists, "_BLOCK_BYTES", 16)
        return _plain_lists.read_plain(path, _files._delimiter, _files._HEADER)


PIECES = st.sampled_from(["a", "bc.jpg", "x/y", "id", "partition", "1", "0", " ", ",", ";", "\t", "\n", "\r\n", "\r"])
ODD = st.sampled_from(['"', "é", "\ufeff", "\x00", "\x1c", "\u3000", "  ", "2"])
LINES = st.lists(
    st.sampled_from(["a 0 1", "b 1 0", "c 0", "d,0,1", "e,1,0", "f", "id,1,2", "", " ", "g h", "a;1"]), max_size=12
)
TEXTS = st.one_of(
    st.lists(st.one_of(PIECES, PIECES, PIECES, ODD), max_size=40).map("".join),
    LINES.map("\n".join),
    LINES.map(lambda lines: "\r\n".join([*lines, ""])),
)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, suffix=st.sampled_from([".txt", ".csv", ".tsv", ".txt.gz"]))
def test_reading_in_blocks_equals_reading_by_line(tmp_path_factory, text, suffix):
    path = tmp_path_factory.getbasetemp() / f"list{suffix}"
    content = text.encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    with pytest.MonkeyPatch.context() as patch:
        assert outcome(path, patch, plain=True) == outcome(path, patch, plain=False)


@pytest.mark.parametrize("text", ["a 0 1\nbb 1 0\n" * 9, "a\nbb\r\n\nc" * 9, "\ufeffid,0,1\na b,0,1\nc,1,1"])
def test_plain_forms_are_read_in_blocks(tmp_path, monkeypatch, text):
    path = tmp_path / ("list.csv" if "," in text else "list.txt")
    path.write_bytes(text.encode())
    ids, flags = by_blocks(path, monkeypatch)
    slow, slow_flags = outcome(path, monkeypatch, plain=False)
    assert ids.tolist() == slow
    assert flags.tolist() == (slow_flags or np.empty((len(slow), 0)).tolist())


@pytest.mark.parametrize("text", ["é\n", "a  1\n", "a 1\nb 0 1\n", "a\rb\r", "", "a 1\nb 2\n", "a\nb,c\n"])
def test_other_forms_are_left_to_the_general_reader(tmp_path, monkeypatch, text):
    path = tmp_path / "list.txt"
    path.write_bytes(text.encode())
    assert by_blocks(path, monkeypatch) is None


def test_a_damaged_or_missing_file_is_left_to_the_general_reader(tmp_path, monkeypatch):
    (tmp_path / "list.txt.gz").write_bytes(gzip.compress(b"a\n" * 100)[:-9])
    assert by_blocks(tmp_path / "list.txt.gz", monkeypatch) is None
    assert by_blocks(tmp_path / "none.txt", monkeypatch) is None
    monkeypatch.setattr(_plain_lists.limits, "TEXT_LINES", 3)
    (tmp_path / "long.txt").write_bytes(b"a\n" * 4)
    assert by_blocks(tmp_path / "long.txt", monkeypatch) is None
