import numpy as np
import pytest
from encoded import refused

from protocol.features import Feature, Preprocessing, _items


class Plain(Feature):
    """Three numbers, unchanged."""

    dimension = 3

    def _describer(self, images):
        pytest.fail("preprocessing looked at images again")


RAW = np.array([[3, 0, 4], [0, 2, 0], [0, 0, 0], [6, 0, 8]], dtype=np.float32)


def made(*steps, raw_train=RAW[:2]):
    return Preprocessing.fit(Plain(), raw_train, steps, seed=0)


@pytest.mark.parametrize(
    ("steps", "mean", "last"),
    [
        ([], None, [6, 0, 8]),
        (["l2"], None, [0.6, 0, 0.8]),
        (["centre"], [1.5, 1, 2], [4.5, -1, 6]),  # of the training rows only
        (["grand_mean"], [1.5, 1.5, 1.5], [4.5, -1.5, 6.5]),  # of 3, 0, 4, 0, 2 and 0, the training rows' values
        (["l2", "centre"], [0.3, 0.5, 0.4], [0.3, -0.5, 0.4]),
        (["l2", "grand_mean"], [0.4, 0.4, 0.4], [0.2, -0.4, 0.4]),
        (["centre", "l2"], [1.5, 1, 2], np.array([4.5, -1, 6]) / 57.25**0.5),
    ],
)
def test_steps_are_applied_in_their_order_and_restored_from_arrays(steps, mean, last):
    fitted = made(*steps)
    if mean is None:
        assert fitted.mean is None
    else:
        np.testing.assert_allclose(fitted.mean, mean, rtol=1e-6)
        assert fitted.mean.dtype == np.float64
    vectors = fitted.transform(RAW)
    np.testing.assert_allclose(vectors[3], last, rtol=1e-6)
    assert not np.shares_memory(vectors, RAW)
    again = Preprocessing.from_arrays(Plain(), steps, fitted.to_arrays())
    np.testing.assert_array_equal(again.transform(RAW), vectors)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_l2_gives_unit_length_and_leaves_zero_rows(scale):
    expected = [[0.6, 0, 0.8], [0, 1, 0], [0, 0, 0], [0.6, 0, 0.8]]
    np.testing.assert_allclose(made("l2").transform(RAW * np.float32(scale)), expected, rtol=1e-6)


@pytest.mark.parametrize("block", [3, 100])
def test_the_result_does_not_depend_on_the_blocks(block, monkeypatch):
    fitted = made("l2", "centre")
    at_once = fitted.transform(RAW)
    monkeypatch.setattr(_items, "BLOCK", block)
    parts = list(fitted.blocks(RAW))
    assert [len(rows) for rows in parts] == [min(block, 4 - start) for start in range(0, 4, block)]
    np.testing.assert_array_equal(np.concatenate(parts), at_once)
    np.testing.assert_array_equal(fitted.transform(RAW), at_once)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_named_beyond_the_first_block(bad, monkeypatch):
    monkeypatch.setattr(_items, "BLOCK", 4)
    raw = np.ones((10, 3), dtype=np.float32)
    raw[[7, 9], 1] = bad
    with refused("features: expected finite numbers, got NaN or infinity in 2 of 10 rows, first in row 7"):
        made().transform(raw)
    with refused("first in row 7"):
        made("centre", raw_train=raw)


def test_vectors_of_another_length_are_refused_if_the_length_is_known():
    with refused(r"Plain\(\): expected vectors of shape \(4, 3\), got \(4, 2\)"):
        made().transform(RAW[:, :2])

    class Any(Plain):
        dimension = None

    assert Preprocessing.fit(Any(), RAW[:, :2], ("centre",), seed=0).transform(RAW[:, :2]).shape == (4, 2)
