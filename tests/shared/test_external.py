"""Arrays whose bytes stay in another file: read and digested as copies are, and verified before and after reading."""

import os
from pathlib import Path

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.external import Span
from protocol.provenance import storage

X = np.random.default_rng(0).standard_normal((5000, 20)) * 100
OFFSET = 128  # of the data in a small .npy file


def record(**inputs):
    return storage.provenance("test", parameters={}, inputs=inputs)


def refer(path, npy, stored="<f4", values="<f4"):
    """Write a file that refers to the array in an .npy file."""
    with storage.writing(path, record()) as file:
        file.refer("X", Span(Path(npy), OFFSET, X.shape, np.dtype(stored), np.dtype(values)))


@pytest.fixture
def npy(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    return tmp_path / "x.npy"


@pytest.fixture
def referring(tmp_path, npy):
    refer(tmp_path / "a.h5", npy)
    return tmp_path / "a.h5"


@pytest.mark.parametrize(
    ("stored", "values"),
    [("<f4", "<f4"), (">f4", "<f4"), ("<f8", "<f4"), ("<f2", "<f4"), ("<i8", "<f4"), ("|u1", "|u1"), ("|i1", "<f4")],
)
def test_values_and_digests_are_those_of_a_copy(tmp_path, stored, values):
    array = np.abs(X % 100).astype(stored)
    np.save(tmp_path / "x.npy", array)
    before = (tmp_path / "x.npy").read_bytes()
    refer(tmp_path / "a.h5", tmp_path / "x.npy", stored, values)
    storage.write(tmp_path / "copy.h5", {"X": array.astype(values)}, record())
    found = storage.read(tmp_path / "a.h5")["X"]
    assert found.dtype == np.dtype(values)
    np.testing.assert_array_equal(found, array.astype(values))
    with storage.streamed(tmp_path / "a.h5", "X") as rows:
        assert (rows.shape, rows.dtype, len(rows)) == (X.shape, np.dtype(values), len(X))
        np.testing.assert_array_equal(rows[10:20], array[10:20].astype(values))
    assert storage.read_provenance(tmp_path / "a.h5") == storage.read_provenance(tmp_path / "copy.h5")
    assert (tmp_path / "a.h5").stat().st_size < 10_000
    assert (tmp_path / "x.npy").read_bytes() == before


def test_a_reference_to_a_reference_or_to_an_array_of_a_stage_is_no_copy(tmp_path, referring):
    with storage.writing(tmp_path / "complete.h5", record()) as file:
        file.fill("X", X.shape, np.float64, [X[:3000], X[3000:]], progress=lambda rows: None)
    for source, expected in ((referring, X.astype(np.float32)), (tmp_path / "complete.h5", X)):
        (tmp_path / "b").mkdir(exist_ok=True)
        with storage.writing(tmp_path / "b" / "b.h5", record()) as file:
            file.refer("X", storage.span(source, "X"))
        np.testing.assert_array_equal(storage.read(tmp_path / "b" / "b.h5")["X"], expected)
        assert (tmp_path / "b" / "b.h5").stat().st_size < 10_000


def test_an_array_in_several_pieces_has_no_span(tmp_path):
    with storage.writing(tmp_path / "a.h5", record()) as file:
        file.append("X", X)
    assert storage.span(tmp_path / "a.h5", "X") is None


def test_a_changed_file_is_one_error_until_it_is_as_before(referring, npy):
    before = npy.read_bytes()
    changes = {"another value": before[:-1] + b"!", "a row less": before[:-80], "another array": before[::-1]}
    for content in changes.values():
        npy.write_bytes(content)
        with pytest.raises(ProtocolError) as error:
            storage.read(referring)
        assert str(error.value).startswith(f"{npy}: changed since {referring} was made from it (array 'X': expected")
        assert str(error.value).endswith("Restore the earlier file, or touch this one, and run again.")
        npy.write_bytes(before)
        np.testing.assert_array_equal(storage.read(referring)["X"], X.astype(np.float32))
    storage.read_provenance(referring)  # reads no values


def test_a_file_of_the_same_size_and_time_is_found_to_be_changed(referring, npy):
    storage.read(referring)
    status = npy.stat()
    npy.write_bytes(npy.read_bytes()[:-1] + b"!")
    os.utime(npy, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ProtocolError, match="changed since"):
        storage.read(referring)


def test_a_file_that_is_gone_is_one_error(referring, npy):
    npy.unlink()
    with pytest.raises(ProtocolError) as error:
        storage.read(referring)
    assert str(error.value).startswith(
        f"{npy}: can't be read (No such file or directory), but the values of array 'X' of {referring} are in it."
    )


def test_a_change_while_rows_are_read_is_an_error(referring, npy):
    def change():
        with storage.streamed(referring, "X") as rows:
            assert len(rows[:10]) == 10
            npy.write_bytes(npy.read_bytes()[:-1] + b"!")

    with pytest.raises(ProtocolError, match="changed since"):
        change()


def test_with_a_relative_path_both_files_can_be_moved(tmp_path, monkeypatch):
    project, scratch = tmp_path / "project", tmp_path / "scratch"
    project.mkdir()
    (scratch / "deep").mkdir(parents=True)
    (project / "results").symlink_to(scratch / "deep")  # as on a cluster
    monkeypatch.chdir(project)
    for folder in (project / "own", project / "results"):
        np.save("x.npy", X.astype(np.float32))
        refer(folder / "a.h5", "x.npy")
        with storage.writing(folder / "deeper" / "b.h5", record()) as file:
            file.refer("X", storage.span(folder / "a.h5", "X"))
        np.testing.assert_array_equal(storage.read(folder / "deeper" / "b.h5")["X"], X.astype(np.float32))
    project.rename(tmp_path / "moved")
    for name in ("a.h5", "deeper/b.h5"):
        found = storage.read(tmp_path / "moved" / "own" / name)["X"]
        np.testing.assert_array_equal(found, X.astype(np.float32))
