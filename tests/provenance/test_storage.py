import os
import platform
import resource
import signal
from importlib import metadata

import numpy as np
import pytest
from encoded import refuses

from protocol.checks import ProtocolError
from protocol.provenance import storage

PROVENANCE = storage.provenance("test", parameters={"a": 1}, inputs={}, seed=7, notes=["rebuilt"])


def test_round_trip_keeps_arrays_and_provenance(tmp_path):
    arrays = {"a": np.arange(6).reshape(2, 3), "g/b": np.array([True]), "names": ["x", "yé"], "e": np.zeros((0, 2))}
    path = tmp_path / "deep" / "file.h5"
    storage.write(path, arrays, PROVENANCE)
    read = storage.read(path)
    assert set(read) == set(arrays)
    assert (read["a"] == arrays["a"]).all()
    assert read["g/b"].dtype == bool
    assert [name.decode() for name in read["names"]] == ["x", "yé"]
    assert read["e"].shape == (0, 2)
    provenance = storage.read_provenance(path)
    assert provenance["seed"] == 7
    assert provenance["versions"]["numpy"] == np.__version__
    assert os.listdir(path.parent) == ["file.h5"]


def test_versions_are_those_of_the_metadata_also_where_no_folder_is_named_after_them(tmp_path, monkeypatch):
    stated = {name: metadata.version(name) for name in storage.versions() if name != "python"}
    assert {"numpy", "hashing-protocol"} <= set(stated)
    assert storage.versions.__wrapped__() == {"python": platform.python_version()} | stated
    (tmp_path / "made-0.1.egg-info").write_text("Metadata-Version: 1.0\nName: made\nVersion: 0.1\n")
    (tmp_path / "made.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(storage.LIBRARIES, "made", "made")
    assert storage.versions.__wrapped__()["made"] == "0.1"


def test_same_content_same_bytes_and_digest(tmp_path):
    for name in ("a.h5", "b.h5"):
        storage.write(tmp_path / name, {"x": np.arange(3)}, PROVENANCE)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    storage.write(tmp_path / "c.h5", {"x": np.arange(4)}, PROVENANCE)
    digests = [storage.read_provenance(tmp_path / name)["digest"] for name in ("a.h5", "b.h5", "c.h5")]
    assert digests[0] == digests[1] != digests[2]


def test_after_an_error_while_writing_only_the_old_file_exists(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with storage.replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_where_a_folder_is_needed_is_one_clear_error(tmp_path):
    (tmp_path / "results").write_text("")
    refuses("results is a file", storage.check_writable, tmp_path / "results" / "digits")
    storage.check_writable(tmp_path / "new" / "folder")
    assert os.listdir(tmp_path) == ["results"]


def test_an_error_of_another_file_is_not_one_of_the_output(tmp_path):
    with pytest.raises(FileNotFoundError, match="input"), storage.replacing(tmp_path / "output.txt"):
        open(tmp_path / "input.txt").close()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path):
    # /dev/full can't be renamed onto; a file-size limit makes the same write fail half-way, for real.
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        refuses(r"big\.h5: can't be written", storage.write, tmp_path / "big.h5", {"x": np.ones(1_000_000)}, PROVENANCE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(tmp_path) == []


def test_a_provenance_record_has_the_digests_and_notes_of_its_inputs(tmp_path):
    storage.write(tmp_path / "a.h5", {"x": np.arange(3)}, PROVENANCE)
    storage.write(tmp_path / "b.h5", {"x": np.arange(4)}, PROVENANCE)
    made = storage.provenance("next", parameters={}, inputs={n: tmp_path / f"{n}.h5" for n in "ab"}, notes=["own"])
    assert made["notes"] == ["rebuilt", "own"]
    assert made["inputs"] == {n: storage.read_provenance(tmp_path / f"{n}.h5")["digest"] for n in "ab"}


@pytest.mark.parametrize(("n_rows", "size"), [(20, 7), (0, 1)])
def test_appending_blocks_gives_the_same_file_as_writing_at_once(tmp_path, n_rows, size):
    X = np.arange(3 * n_rows, dtype=np.float32).reshape(n_rows, 3)
    storage.write(tmp_path / "complete.h5", {"X": X}, PROVENANCE)
    with storage.writing(tmp_path / "blocks.h5", PROVENANCE) as file:
        for start in range(0, max(n_rows, 1), size):
            file.append("X", X[start : start + size])
    assert storage.read_provenance(tmp_path / "blocks.h5") == storage.read_provenance(tmp_path / "complete.h5")
    np.testing.assert_array_equal(storage.read(tmp_path / "blocks.h5")["X"], X)


@pytest.mark.parametrize("rows", [np.zeros((2, 4)), np.zeros((2, 3), dtype=np.float32)])
def test_rows_that_do_not_fit_are_refused_and_leave_no_file(tmp_path, rows):
    def grow():
        with storage.writing(tmp_path / "x.h5", PROVENANCE) as file:
            file.append("X", np.zeros((2, 3)))
            file.append("X", rows)

    refuses("as before", grow)
    assert not list(tmp_path.iterdir())


def test_arrays_are_read_by_slices_also_by_the_name_of_a_group_of_one(tmp_path):
    path = tmp_path / "x.h5"
    arrays = {"images": np.zeros(2), "vectors/gist": np.arange(4), "vectorsets": np.zeros(1)}
    storage.write(path, arrays, PROVENANCE)
    for name in ("vectors/gist", "vectors"):
        with storage.streamed(path, name) as X:
            assert X[1:3].tolist() == [1, 2]
    arrays["vectors/text"] = np.zeros(2)
    storage.write(path, arrays, PROVENANCE)
    for name, message in (("vectors", "several arrays 'vectors'"), ("Y", "no array 'Y'")):
        with pytest.raises(ProtocolError, match=f"{message}; it contains images, "), storage.streamed(path, name):
            pass


def test_links_are_followed_and_non_regular_files_never_replaced(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with storage.replacing(tmp_path / "link") as path:
        path.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        refuses(
            ": can't be written: it exists and is not a regular file[.]$", storage.replacing(tmp_path / name).__enter__
        )
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "target"]
