"""LabelMe from .mat files written by scipy (version 5) and h5py (version 7.3)."""

import h5py
import numpy as np
import pytest
import scipy.io
from official_archives import refused

from protocol.checks import ProtocolError
from protocol.datasets.labelme import FILE, load
from protocol.inputs import arrays, text

RNG = np.random.default_rng(0)
VARIABLES = {
    "gist": RNG.random((22, 6)),
    "ndxtrain": np.arange(3, 23, dtype=float)[None],
    "ndxtest": np.array([[1.0, 2.0]]),
    "DistLM": RNG.random((22, 22)),
}


def version_5(path, variables):
    # Like the real file, also a cell array, a struct, text and an image, which are not read.
    others = {"names": np.array(["sky", "tree"], dtype=object), "param": {"size": 32}, "note": "text"}
    scipy.io.savemat(path, variables | others, do_compression=True)


def version_73(path, variables):
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in variables.items():
            file[name] = values.T  # columns first
        file["#refs#/a"] = np.arange(3)
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM"
    with open(path, "r+b") as file:
        file.write(header.ljust(128))


WRITERS = [version_5, version_73]


def written(folder, writer, **changed):
    writer(folder / FILE, {name: value for name, value in (VARIABLES | changed).items() if value is not None})
    return {FILE: folder / FILE}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_version_gives_the_same(tmp_path, writer):
    data = load(written(tmp_path, writer))
    assert data.vectors["gist"].dtype == np.float32
    np.testing.assert_array_equal(data.vectors["gist"], VARIABLES["gist"].astype(np.float32))
    assert data.partitions["train"].tolist() == list(range(2, 22))
    assert data.partitions["test"].tolist() == [0, 1]
    assert data.ids[[0, 21]].tolist() == ["labelme-00000", "labelme-00021"]
    assert data.labels is None
    assert data.images is None


@pytest.mark.parametrize("writer", WRITERS)
def test_the_matrix_of_distances_is_never_decompressed(tmp_path, writer, monkeypatch):
    paths = written(tmp_path, writer, DistLM=np.zeros((400, 400)))
    monkeypatch.setattr(text, "ARRAY_BYTES", 400 * 400)  # an eighth of its size
    assert load(paths).vectors["gist"].shape == (22, 6)
    with pytest.raises(ProtocolError, match="uncompressed"):
        arrays.read_array(f"{paths[FILE]}:DistLM")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gist": None}, f"{FILE}: no array 'gist'. The file contains: "),
        ({"ndxtest": np.array([[1.5, 2.0]])}, "ndxtest: expected integers, got 1.5"),
        ({"ndxtest": np.array([[0.0, 2.0]])}, "partition 'test': expected row numbers from 0 to 21, got -1 to 1"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, changed, message):
    refused(message, load, written(tmp_path, version_5, **changed))
