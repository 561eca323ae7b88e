"""LabelMe from a .mat file."""

import numpy as np
import pytest
import scipy.io
from official_archives import REFUSED, refused

from protocol.datasets.labelme import FILE, load
from protocol.inputs import text

RNG = np.random.default_rng(0)
VARIABLES = {
    "gist": RNG.random((22, 6)),
    "ndxtrain": np.arange(3, 23, dtype=float)[None],
    "ndxtest": np.array([[1.0, 2.0]]),
    "DistLM": RNG.random((22, 22)),
}


def written(folder, **changed):
    # Like the real file, also a cell array, a struct and text, which are not read; tests/inputs has other versions.
    others = {"names": np.array(["sky", "tree"], dtype=object), "param": {"size": 32}, "note": "text"}
    variables = {name: value for name, value in (VARIABLES | changed).items() if value is not None}
    scipy.io.savemat(folder / FILE, variables | others, do_compression=True)
    return {FILE: folder / FILE}


def test_vectors_and_the_official_split(tmp_path):
    data = load(written(tmp_path))
    assert data.vectors["gist"].dtype == np.float32
    np.testing.assert_array_equal(data.vectors["gist"], VARIABLES["gist"].astype(np.float32))
    assert data.partitions["train"].tolist() == list(range(2, 22))
    assert data.partitions["test"].tolist() == [0, 1]
    assert data.ids[[0, 21]].tolist() == ["labelme-00000", "labelme-00021"]
    assert data.labels is None
    assert data.images is None


def test_the_matrix_of_distances_is_never_decompressed(tmp_path, monkeypatch):
    paths = written(tmp_path, DistLM=np.zeros((400, 400)))
    monkeypatch.setattr(text, "ARRAY_BYTES", 400 * 400)  # an eighth of its size
    assert load(paths).vectors["gist"].shape == (22, 6)


@pytest.mark.parametrize(("changed", "message"), REFUSED["labelme"])
def test_a_wrong_file_is_one_line(tmp_path, changed, message):
    refused(message, load, written(tmp_path, **changed))
