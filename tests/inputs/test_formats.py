"""Vectors of TEXMEX, whose blocks equal a loop over records, and of big-ann-benchmarks; errors name the record."""

import io
import struct

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.inputs import formats
from protocol.inputs.arrays import array_shape, read_array, read_stored
from protocol.inputs.formats import read_blocks

CODES = {".fvecs": ("f", np.float32), ".ivecs": ("i", np.int32), ".bvecs": ("B", np.uint8)}


def written(vectors, suffix):
    code, _ = CODES[suffix]
    return b"".join(struct.pack(f"<i{len(vector)}{code}", len(vector), *vector) for vector in vectors.tolist())


def read(content, name="x.fvecs"):
    return list(read_blocks(io.BytesIO(content), name))


@pytest.mark.parametrize("suffix", CODES)
@pytest.mark.parametrize("n_bytes", [1, 100, 10**6])
def test_blocks_of_any_size_hold_the_records_in_order(suffix, n_bytes, monkeypatch):
    monkeypatch.setattr(formats, "_BLOCK_BYTES", n_bytes)
    _, dtype = CODES[suffix]
    vectors = np.random.default_rng(0).integers(0, 256, (23, 5)).astype(dtype)
    parts = read(written(vectors, suffix), f"a/x{suffix}")
    assert all(part.dtype == dtype for part in parts)
    assert (
        max(len(part) for part in parts) == {1: 1, 100: 100 // (4 + 5 * np.dtype(dtype).itemsize), 10**6: 23}[n_bytes]
    )
    np.testing.assert_array_equal(np.concatenate(parts), vectors)


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
    monkeypatch.setattr(formats, "_BLOCK_BYTES", n_bytes)
    content, message = WRONG[case]
    with pytest.raises(ProtocolError) as error:
        read(content)
    assert message in str(error.value)
    (tmp_path / "x.fvecs").write_bytes(content)
    mapped = {"empty": "the file is empty", "cut short": "x.fvecs: 157 bytes, not a multiple of 16"}
    with pytest.raises(ProtocolError) as error:
        read_array(tmp_path / "x.fvecs")
    assert mapped.get(case, message) in str(error.value)


def test_another_extension_is_refused():
    with pytest.raises(ProtocolError, match=r"x.npy: extension must be .bvecs, .fvecs or .ivecs, got '.npy'."):
        read(WHOLE, "x.npy")


RNG = np.random.default_rng(0)
VECTORS = RNG.integers(-90, 90, (5, 3))
BIG_ANN = {".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"}


def put(path, array, dtype, *, header=None, end=b""):
    path.write_bytes(np.array(header or array.shape, "<u4").tobytes() + array.astype(dtype).tobytes() + end)
    return path


@pytest.mark.parametrize("extension", BIG_ANN)
def test_a_file_of_every_type(tmp_path, extension):
    path = put(tmp_path / f"base{extension}", VECTORS, BIG_ANN[extension])
    read = read_array(path)
    assert read.dtype == np.dtype(BIG_ANN[extension])
    np.testing.assert_array_equal(read, VECTORS.astype(BIG_ANN[extension]))
    assert array_shape(path) == (5, 3)


def test_neighbours_with_their_distances(tmp_path):
    distances = RNG.random((5, 3)).astype("<f4").tobytes()
    np.testing.assert_array_equal(read_array(put(tmp_path / "gt.ibin", VECTORS, "<i4", end=distances)), VECTORS)
    with pytest.raises(ProtocolError, match=r"base.fbin: 128 bytes, but 5 vectors of 3 float32 take 68"):
        read_array(put(tmp_path / "base.fbin", VECTORS, "<f4", end=distances))


@pytest.mark.parametrize(
    ("header", "end", "message"),
    [
        ((6, 3), b"", "68 bytes, but 6 vectors of 3 float32 take 80"),
        ((5, 2), b"", "68 bytes, .* take 48"),
        ((5, 3), b"x", "69 bytes, .* take 68"),
        ((2**32 - 1, 2**32 - 1), b"", "68 bytes, .* take 73,786,976,260,478,468,108"),
        ((0, 3), None, r"the array is empty, shape \(0, 3\)"),
        (None, None, "7 bytes, too few for the header"),
    ],
)
def test_a_header_that_does_not_match_the_size(tmp_path, header, end, message):
    path = tmp_path / "base.fbin"
    if header:
        put(path, VECTORS if end is not None else VECTORS[:0], "<f4", header=header, end=end or b"")
    else:
        path.write_bytes(b"1234567")
    with pytest.raises(ProtocolError, match=rf"base\.fbin: {message}"):
        read_array(path)


def test_packed_codes_and_labels_are_mapped(tmp_path):
    """Large files are memory-mapped by `evaluate`."""
    packed = np.random.default_rng(0).integers(0, 256, (90, 2), dtype=np.uint8)
    put(tmp_path / "x.u8bin", packed, "u1")
    np.save(tmp_path / "x.npy", packed)
    np.save(tmp_path / "labels.npy", np.arange(90))
    for extension in (".u8bin", ".npy"):
        mapped = read_array(tmp_path / f"x{extension}")
        assert isinstance(mapped.base, np.memmap)
        np.testing.assert_array_equal(mapped, packed)
    assert isinstance(read_stored(tmp_path / "labels.npy").base, np.memmap)
