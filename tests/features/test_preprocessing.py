"""From descriptors to vectors: the dataset's own vectors, preprocessing, and the items of a partition."""

import numpy as np
import pytest
from encoded import message_of, refused, refuses, yaml_of

from protocol.features import Feature, Preprocessing, _items, items_of, prepared
from protocol.features.vectors import Vectors
from protocol.provenance import storage


class Plain(Feature):
    """Three numbers, unchanged."""

    dimension = 3

    def _describer(self, images):
        pytest.fail("preprocessing looked at images again")


RAW = np.array([[3, 0, 4], [0, 2, 0], [0, 0, 0], [6, 0, 8]], dtype=np.float32)


def made(*steps, raw_train=RAW[:2]):
    return Preprocessing.fit(Plain(), raw_train, steps, seed=0)


@pytest.mark.parametrize(("steps", "mean", "last"), yaml_of("features/steps.yaml"))
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
    refuses("first in row 7", made, "centre", raw_train=raw)


def test_vectors_of_another_length_are_refused_if_the_length_is_known():
    refuses(r"Plain\(\): expected vectors of shape \(4, 3\), got \(4, 2\)", made().transform, RAW[:, :2])

    class Any(Plain):
        dimension = None

    assert Preprocessing.fit(Any(), RAW[:, :2], ("centre",), seed=0).transform(RAW[:, :2]).shape == (4, 2)


def test_items_follow_their_images():
    image = np.array([0, 0, 1, 3, 3, 3])
    assert items_of(np.array([0, 3]), image).tolist() == [0, 1, 3, 4, 5]
    refuses("items of the partition: the list of row numbers is empty", items_of, np.array([2]), image)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_rows_are_those_requested(block, monkeypatch):
    monkeypatch.setattr(_items, "BLOCK", block)
    array, rows = np.arange(40).reshape(20, 2), np.array([0, 1, 5, 6, 7, 19])
    chosen = _items.rows_of(array, rows)
    assert (len(chosen), chosen.shape, chosen.dtype) == (6, (6, 2), array.dtype)
    for part in (slice(None), slice(0, 4), slice(2, 3), slice(4, 99), slice(6, 9)):
        np.testing.assert_array_equal(chosen[part], array[rows][part])


def test_distant_rows_are_read_without_those_between():
    class Watched(np.ndarray):
        def __getitem__(self, rows):
            assert not isinstance(rows, slice) or len(range(*rows.indices(len(self)))) <= _items.BLOCK
            return super().__getitem__(rows)

    assert _items.rows_of(np.arange(100_000).view(Watched), np.array([7, 99_999]))[:].tolist() == [7, 99_999]


def test_prepared_items_are_found_by_image(tmp_path):
    X, image = np.arange(24).reshape(6, 4), np.array([0, 0, 1, 3, 3, 3])
    path = tmp_path / "features.h5"
    storage.write(path, {"X": X, "image": image}, storage.provenance("test", parameters={}, inputs={}))
    fitted = Preprocessing.fit(Vectors(), X[:3], ["centre"], seed=0)
    with prepared(Vectors(), {"": ["centre"]}, path, fitted.to_arrays()) as items:
        np.testing.assert_array_equal(items.raw(np.array([1, 3])), X[2:])
        np.testing.assert_array_equal(items.vectors("train", np.array([1, 3])), fitted.transform(X)[2:])
        assert items.per_item(np.array([1, 3]), np.array([7, 8, 9, 5])).tolist() == [8, 5, 5, 5]


@pytest.mark.parametrize("n_rows", [30, 8])
def test_components_are_those_of_the_training_rows(n_rows):
    vectors = np.random.default_rng(0).integers(0, 99, (50, 12))
    feature = Vectors(n_components=3)
    model = feature.fit(vectors[:n_rows], seed=0)
    mean = vectors[:n_rows].mean(axis=0)
    reference = (vectors - mean) @ np.linalg.svd(vectors[:n_rows] - mean)[2][:3].T
    projected = feature.encode(vectors, model)
    assert projected.dtype == np.float32
    signs = np.sign((projected * reference).sum(axis=0))
    np.testing.assert_allclose(projected, reference * signs, rtol=1e-3, atol=1e-3)
    again = feature.fit(vectors[:n_rows], seed=1)
    assert all(model[name].tobytes() == again[name].tobytes() for name in model)


@pytest.mark.parametrize(("n_rows", "n_components"), [(30, 13), (5, 6)])
def test_more_components_than_rows_or_features_are_refused(n_rows, n_components):
    assert message_of(Vectors(name="image", n_components=n_components).fit, np.zeros((n_rows, 12)), seed=0) == (
        f"n_components: {n_components} components need at least as many training rows and features; vectors/image "
        f"has {n_rows} training rows with 12 features."
    )
