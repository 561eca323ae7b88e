"""Vectors of TEXMEX, which equal a loop over records, and of big-ann-benchmarks; errors name the record."""

import io
import struct

import numpy as np
import pytest
from encoded import message_of

from protocol.checks import ProtocolError
from protocol.inputs.arrays import read_array, read_stored, shape_with_ids
from protocol.inputs.formats import read_blocks

CODES = {".fvecs": ("f", np.float32), ".ivecs": ("i", np.int32), ".bvecs": ("B", np.uint8)}


def written(vectors, suffix):
    code, _ = CODES[suffix]
    return b"".join(struct.pack(f"<i{len(vector)}{code}", len(vector), *vector) for vector in vectors.tolist())


@pytest.mark.parametrize("suffix", CODES)
def test_a_file_and_a_stream_hold_the_records_in_order(suffix, tmp_path):
    _, dtype = CODES[suffix]
    vectors = np.random.default_rng(0).integers(0, 256, (23, 5)).astype(dtype)
    path = tmp_path / f"x{suffix}"
    path.write_bytes(written(vectors, suffix))
    for read in (read_array(path), *read_blocks(io.BytesIO(path.read_bytes()), f"a/x{suffix}")):
        assert read.dtype == dtype
        np.testing.assert_array_equal(read, vectors)
    assert shape_with_ids(path)[0] == (23, 5)


WHOLE = written(np.ones((10, 3), np.float32), ".fvecs")
WRONG = [
    (".fvecs", b"<html>" * 4, "x.fvecs: the dimension must be from 1 to 1,048,576, got 1,836,345,404."),
    (".fvecs", struct.pack("<i", 0), "1,048,576, got 0"),
    (".fvecs", struct.pack("<i", -3), "1,048,576, got -3"),
    (".fvecs", WHOLE[:-3], "x.fvecs: the last record has 13 of 16 bytes."),
    (".fvecs", WHOLE[:48] + struct.pack("<i3f", 4, 1, 1, 1), "a record has dimension 4, but the first has 3."),
    *((".fbin", b"1234567", "x.fbin: 7 bytes, too few"), (".fbin", bytes(8), "x.fbin: the array is empty")),
]


@pytest.mark.parametrize(("suffix", "content", "message"), WRONG)
def test_a_wrong_file_is_refused(suffix, content, message, tmp_path):
    (tmp_path / f"x{suffix}").write_bytes(content)
    assert message in message_of(read_array, tmp_path / f"x{suffix}")


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
    assert shape_with_ids(path)[0] == (5, 3)


def test_neighbours_with_their_distances(tmp_path):
    distances = RNG.random((5, 3)).astype("<f4").tobytes()
    np.testing.assert_array_equal(read_array(put(tmp_path / "gt.ibin", VECTORS, "<i4", end=distances)), VECTORS)


@pytest.mark.parametrize(
    ("header", "end", "message"),
    [
        ((6, 3), b"", "68 bytes, but 6 vectors of 3 float32 take 80"),
        ((5, 2), b"", "68 bytes, .* take 48"),
        *(((5, 3), b"x", "69 bytes, .* take 68"), ((5, 3), bytes(60), "128 bytes, but 5 vectors of 3 float32 take 68")),
        ((2**32 - 1, 2**32 - 1), b"", "68 bytes, .* take 73,786,976,260,478,468,108"),
    ],
)
def test_a_header_that_does_not_match_the_size(tmp_path, header, end, message):
    path = put(tmp_path / "base.fbin", VECTORS, "<f4", header=header, end=end)
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
