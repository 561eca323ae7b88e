"""A ground truth among one set, written in blocks, equals the one computed at once, and takes less memory."""

import tracemalloc

import numpy as np
import pytest

from protocol import registry
from protocol.provenance import storage
from protocol.truth import Items, write_among

PROVENANCE = storage.provenance("test", parameters={}, inputs={})


def made(n, d=3):
    rng = np.random.default_rng(0)
    return Items(rng.normal(size=(n, d)).astype(np.float32), rng.integers(0, 3, n))


@pytest.mark.parametrize("name", registry.names("ground_truth"))
@pytest.mark.parametrize("block", [1, 350, 1 << 26])  # one query, 8 queries, all queries
def test_blocks_equal_the_result_of_a_single_call(tmp_path, name, block):
    items, rule = made(41), registry.get("ground_truth", name)
    options = {"seed": 3} | ({"n_neighbours": 5} if name in ("nearest_neighbours", "epsilon_ball") else {})
    with storage.writing(tmp_path / "y.h5", PROVENANCE) as file:
        write_among(file, rule, items, block=block, **options)
    found, expected = storage.read(tmp_path / "y.h5"), rule(items, items, items, **options)
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array)
        if key in ("indices", "levels"):
            assert found[key].dtype == np.int32


def test_the_pairs_need_not_fit_in_memory(tmp_path):
    items, rule = made(1000, d=2), registry.get("ground_truth", "graded_distance")
    options = {"seed": 3, "percentiles": (60, 5), "levels": (1, 2), "n_sample": 100}
    with storage.writing(tmp_path / "y.h5", PROVENANCE) as file:
        tracemalloc.start()
        write_among(file, rule, items, block=1 << 15, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    pairs = len(storage.read(tmp_path / "y.h5")["indices"])
    assert pairs > 500_000
    assert peak < 4 * pairs  # bytes: half the size of the file
