"""SIFT1M from a small archive in the official layout."""

import struct

import numpy as np
import pytest
from official_archives import REFUSED, refused, write_tar

from protocol.datasets.sift1m import ARCHIVE, PARTS, load
from protocol.inputs import formats

SIZES = {"base": 12, "learn": 5, "query": 3}
DIMENSION = 8


def vectors(part):
    return np.random.default_rng(len(part)).integers(0, 256, (SIZES[part], DIMENSION)).astype(np.float32)


def records(rows, code="f"):
    return b"".join(struct.pack(f"<i{len(row)}{code}", len(row), *row) for row in rows.tolist())


@pytest.fixture
def archive(tmp_path):
    def write(**changed):
        files = {part: records(vectors(part)) for part in ("base", "query", "learn")} | changed
        contents = {f"sift/sift_{part}.fvecs": content for part, content in files.items()}
        return {ARCHIVE: write_tar(tmp_path / ARCHIVE, contents | {"sift/sift_groundtruth.ivecs": b""})}

    return write


@pytest.mark.parametrize("n_bytes", [5 * 36, 10**6])
def test_twenty_vectors_base_then_learn_then_query(archive, n_bytes, monkeypatch):
    monkeypatch.setattr(formats, "_BLOCK_BYTES", n_bytes)
    data = load(archive())
    assert data.vectors["sift"].dtype == np.uint8
    np.testing.assert_array_equal(data.vectors["sift"], np.vstack([vectors(part) for part in PARTS]))
    partitions = {part: rows.tolist() for part, rows in data.partitions.items()}
    assert partitions == {"base": [*range(12)], "learn": [*range(12, 17)], "query": [17, 18, 19]}
    assert data.ids[[0, 12, 19]].tolist() == ["base/0000000", "learn/0000000", "query/0000002"]
    assert data.labels is None


@pytest.mark.parametrize(("part", "value", "shape", "message"), REFUSED["sift1m"])
def test_a_wrong_file_is_named(archive, part, value, shape, message):
    refused(message, load, archive(**{part: records(np.full(shape, value))}))


def test_an_incomplete_record_is_named(archive):
    message = "sift_query.fvecs: the last record has 35 of 36 bytes"
    refused(message, load, archive(query=records(vectors("query"))[:-1]))
