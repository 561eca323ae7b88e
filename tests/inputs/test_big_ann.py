import numpy as np
import pytest
from encoded import evaluated as evaluate

from protocol.checks import ProtocolError
from protocol.inputs.arrays import array_shape, map_array, read_array, read_stored

RNG = np.random.default_rng(0)
VECTORS = RNG.integers(-90, 90, (5, 3))
TYPES = {".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"}


def written(path, array, dtype, *, header=None, end=b""):
    path.write_bytes(np.array(header or array.shape, "<u4").tobytes() + array.astype(dtype).tobytes() + end)
    return path


@pytest.mark.parametrize("extension", TYPES)
def test_a_file_of_every_type(tmp_path, extension):
    path = written(tmp_path / f"base{extension}", VECTORS, TYPES[extension])
    read = read_array(path)
    assert read.dtype == np.dtype(TYPES[extension])
    np.testing.assert_array_equal(read, VECTORS.astype(TYPES[extension]))
    assert array_shape(path) == (5, 3)


def test_neighbours_with_their_distances(tmp_path):
    distances = RNG.random((5, 3)).astype("<f4").tobytes()
    np.testing.assert_array_equal(read_array(written(tmp_path / "gt.ibin", VECTORS, "<i4", end=distances)), VECTORS)
    with pytest.raises(
        ProtocolError, match=r"base.fbin: 128 bytes, but the 5 vectors of dimension 3 in float32 of its header"
    ):
        read_array(written(tmp_path / "base.fbin", VECTORS, "<f4", end=distances))


@pytest.mark.parametrize(
    ("header", "end", "message"),
    [
        ((6, 3), b"", "68 bytes, but the 6 vectors of dimension 3 in float32 of its header take 80"),
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
        written(path, VECTORS if end is not None else VECTORS[:0], "<f4", header=header, end=end or b"")
    else:
        path.write_bytes(b"1234567")
    with pytest.raises(ProtocolError, match=rf"base\.fbin: {message}"):
        read_array(path)


def test_scores_from_files_of_the_two_benchmarks(tmp_path):
    """big-ann-benchmarks: real values and packed codes; ann-benchmarks: HDF5 with the neighbours of each query."""
    import h5py

    query, database = RNG.normal(size=(4, 16)).astype("f4"), RNG.normal(size=(30, 16)).astype("f4")
    neighbours = np.argsort(np.linalg.norm(query[:, None] - database, axis=2))[:, :5]
    expected = evaluate(query > 0, database > 0, relevance=list(neighbours)).metrics
    with h5py.File(tmp_path / "data.hdf5", "w") as file:
        file.update({"train": database, "test": query, "neighbors": neighbours.astype("i4")})
        file["distances"] = np.zeros((4, 5))
    at = str(tmp_path / "data.hdf5")
    found = evaluate(f"{at}:test", f"{at}:train", relevance=f"{at}:neighbors", binarize="sign")
    assert found.metrics == expected
    files = [written(tmp_path / f"{name}.fbin", side, "<f4") for name, side in (("q", query), ("d", database))]
    truth = written(tmp_path / "gt.ibin", neighbours, "<i4", end=bytes(4 * neighbours.size))
    assert evaluate(*files, relevance=truth, binarize="sign").metrics == expected
    packed = [
        written(tmp_path / f"{name}.u8bin", np.packbits(side > 0, axis=1), "u1")
        for name, side in (("q", query), ("d", database))
    ]
    assert evaluate(*packed, relevance=truth, n_bits=16, bit_order="big").metrics == expected


def test_packed_codes_and_labels_are_mapped(tmp_path):
    """Large files are memory-mapped by `evaluate`."""
    packed = np.random.default_rng(0).integers(0, 256, (90, 2), dtype=np.uint8)
    written(tmp_path / "x.u8bin", packed, "u1")
    np.save(tmp_path / "x.npy", packed)
    np.save(tmp_path / "labels.npy", np.arange(90))
    for extension in (".u8bin", ".npy"):
        mapped = map_array(tmp_path / f"x{extension}")
        assert isinstance(mapped.base, np.memmap)
        np.testing.assert_array_equal(mapped, packed)
    assert isinstance(read_stored(tmp_path / "labels.npy").base, np.memmap)
