"""Vectors with their dimension in front: blocks equal a loop over records, and errors name the record."""

import io
import struct

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.inputs import fvecs
from protocol.inputs.arrays import array_shape, map_array, read_array
from protocol.inputs.fvecs import read_blocks

CODES = {".fvecs": ("f", np.float32), ".ivecs": ("i", np.int32), ".bvecs": ("B", np.uint8)}


def written(vectors, suffix):
    code, _ = CODES[suffix]
    return b"".join(struct.pack(f"<i{len(vector)}{code}", len(vector), *vector) for vector in vectors.tolist())


def read(content, name="x.fvecs"):
    return list(read_blocks(io.BytesIO(content), name))


@pytest.mark.parametrize("suffix", CODES)
@pytest.mark.parametrize("n_bytes", [1, 100, 10**6])
def test_blocks_of_any_size_hold_the_records_in_order(suffix, n_bytes, monkeypatch):
    monkeypatch.setattr(fvecs, "_BLOCK_BYTES", n_bytes)
    _, dtype = CODES[suffix]
    vectors = np.random.default_rng(0).integers(0, 256, (23, 5)).astype(dtype)
    parts = read(written(vectors, suffix), f"a/x{suffix}")
    assert all(part.dtype == dtype for part in parts)
    assert (
        max(len(part) for part in parts) == {1: 1, 100: 100 // (4 + 5 * np.dtype(dtype).itemsize), 10**6: 23}[n_bytes]
    )
    np.testing.assert_array_equal(np.concatenate(parts), vectors)


def test_no_more_than_a_block_is_read_at_once(monkeypatch):
    monkeypatch.setattr(fvecs, "_BLOCK_BYTES", 120)
    stream = io.BytesIO(written(np.ones((100, 5), np.float32), ".fvecs"))
    next(read_blocks(stream, "x.fvecs"))
    assert stream.tell() == 120


WHOLE = written(np.ones((10, 3), np.float32), ".fvecs")
WRONG = {
    "empty": (b"", "x.fvecs: 0 bytes, too few for the dimension, which takes 4."),
    "two bytes": (b"ab", "x.fvecs: 2 bytes, too few for the dimension, which takes 4."),
    "text": (b"<html>" * 4, "x.fvecs: the dimension must be from 1 to 1,048,576, got 1,836,345,404."),
    "no dimension": (struct.pack("<i", 0), "1,048,576, got 0"),
    "negative": (struct.pack("<i", -3), "1,048,576, got -3"),
    "cut short": (WHOLE[:-3], "x.fvecs: the last record, 9, has 13 of 16 bytes."),
    "another": (
        WHOLE[:48] + struct.pack("<i3f", 4, 1, 1, 1) + WHOLE[64:],
        "x.fvecs: record 3 has dimension 4, but record 0 has 3.",
    ),
}


@pytest.mark.parametrize("n_bytes", [32, 10**6])
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_by_record(case, n_bytes, monkeypatch, tmp_path):
    monkeypatch.setattr(fvecs, "_BLOCK_BYTES", n_bytes)
    content, message = WRONG[case]
    with pytest.raises(ProtocolError) as error:
        read(content)
    assert message in str(error.value)
    (tmp_path / "x.fvecs").write_bytes(content)
    mapped = {
        "empty": "the file is empty",
        "cut short": "x.fvecs: 157 bytes, not a multiple of the 16 bytes",
    }
    with pytest.raises(ProtocolError) as error:
        map_array(tmp_path / "x.fvecs")
    assert mapped.get(case, message) in str(error.value)


def test_another_extension_is_refused():
    with pytest.raises(ProtocolError, match=r"x.npy: extension must be .bvecs, .fvecs or .ivecs, got '.npy'."):
        read(WHOLE, "x.npy")


@pytest.mark.parametrize(("suffix", "dtype"), [(".fvecs", "<f4"), (".ivecs", "<i4"), (".bvecs", "u1")])
def test_vectors_are_mapped(tmp_path, suffix, dtype):
    vectors = np.arange(12).reshape(4, 3).astype(dtype)
    path = tmp_path / f"x{suffix}"
    path.write_bytes(written(vectors, suffix))
    found = map_array(path)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, vectors)
    np.testing.assert_array_equal(read_array(path), vectors)
    assert array_shape(path) == (4, 3)
    assert not found.flags.writeable
