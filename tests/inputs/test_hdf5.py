"""HDF5 files of users: all layouts give the same array, and nothing outside the file is read."""

import h5py
import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.inputs.arrays import array_shape, map_array, read_array

ARRAY = np.arange(60, dtype=">i4").reshape(12, 5)


def refused(path, match):
    with pytest.raises(ProtocolError, match=match) as error:
        read_array(path)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "options",
    [{}, {"chunks": (5, 2)}, {"chunks": (5, 5), "compression": "gzip", "shuffle": True}, {"fletcher32": True}],
    ids=["contiguous", "chunks", "compressed", "checked"],
)
def test_arrays_are_read_as_they_are(tmp_path, monkeypatch, options):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("group/x", data=ARRAY, **options)
    for read in (read_array, map_array):
        found = read(tmp_path / "a.h5")
        assert found.dtype == ARRAY.dtype
        np.testing.assert_array_equal(found, ARRAY)
    assert array_shape(f"{tmp_path}/a.h5:group/x") == (12, 5)


def test_other_shapes_and_types(tmp_path):
    cases = {
        "scalar": np.float64(3),
        "bool": np.array([[True, False], [False, True]]),
        "half": np.ones((2, 3, 4), np.float16),
        "large": np.arange(10_000_000, dtype=np.int64).reshape(-1, 10),
    }
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, array in cases.items():
            file[name] = array
    for name, array in cases.items():
        found = read_array(f"{tmp_path}/a.h5:{name}")
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        np.testing.assert_array_equal(found, array)


def test_a_damaged_chunk_amid_the_numbers_is_refused(tmp_path):
    large = np.arange(10_000_000).reshape(-1, 100)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=large, chunks=(1000, 100), fletcher32=True)
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[content.rindex(large[95_500].tobytes())] ^= 1
    (tmp_path / "a.h5").write_bytes(content)
    refused(tmp_path / "a.h5", r"can't be read as an HDF5 file \(")
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    refused(tmp_path / "a.h5", r"can't be read as an HDF5 file \(")


def test_data_of_other_files_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(range(60)))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["x"] = ARRAY
    layout = h5py.VirtualLayout((12, 5), "i4")
    layout[:] = h5py.VirtualSource(str(tmp_path / "b.h5"), "x", shape=(12, 5))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("external", (12, 5), "u1", external=[(str(tmp_path / "secret"), 0, 60)])
        file.create_virtual_dataset("virtual", layout)
        file["link"] = h5py.ExternalLink(str(tmp_path / "b.h5"), "x")
        file["lost"] = h5py.ExternalLink(str(tmp_path / "c.h5"), "x")
        file["group/y"] = h5py.SoftLink("/x")
    for key in ("external", "virtual", "link"):
        refused(f"{tmp_path}/a.h5:{key}", r"a\.h5: /\w+ refers to another file\. Copy the array into this file\.")
    for key in ("lost", "group/y"):
        refused(f"{tmp_path}/a.h5:{key}", f"no array '{key}'. The file contains: external, virtual.")


@pytest.mark.parametrize("options", [{}, {"chunks": (4, 5)}, {"chunks": (4, 5), "compression": "gzip"}])
@pytest.mark.parametrize("rows", [0, 4])
def test_storage_that_was_never_written_is_refused(tmp_path, options, rows):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("x", (12, 5), "i4", **options)
        if rows and options:
            made[:rows] = 1
    refused(tmp_path / "a.h5", "some values of the array were never written.")


def test_a_boolean_byte_that_is_neither_0_nor_1(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 3), bool))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-1] + b"\x07")
    refused(tmp_path / "a.npy", "the bytes of a Boolean array must be 0 or 1, got 7.")
