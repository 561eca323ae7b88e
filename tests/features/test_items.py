import numpy as np
import pytest

from protocol import registry, storage
from protocol.checks import ProtocolError
from protocol.features import Prepared, Preprocessing, _items, items_of


def test_items_follow_their_images():
    image = np.array([0, 0, 1, 3, 3, 3])
    assert items_of(np.array([0, 3]), image).tolist() == [0, 1, 3, 4, 5]
    with pytest.raises(ProtocolError, match="partition is empty"):
        items_of(np.array([2]), image)


def test_prepared_vectors_are_those_of_the_images_under_the_fitted_preprocessing(tmp_path, monkeypatch):
    feature = registry.get("feature", "sift")()
    X = np.random.default_rng(0).integers(0, 255, (6, 128)).astype(np.uint8)
    image = np.array([0, 0, 1, 3, 3, 3])
    fitted = Preprocessing.fit(feature, X[:3], ["centre"], seed=0)
    passport = storage.passport("test", parameters={}, inputs={})
    storage.write(tmp_path / "features.h5", {"X": X, "image": image}, passport)
    storage.write(tmp_path / "preprocessing.h5", fitted.to_arrays(), passport)
    prepared = Prepared(feature, ["centre"], tmp_path / "features.h5", tmp_path / "preprocessing.h5")
    expected = X[[2, 3, 4, 5]] - X[:3].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(prepared.vectors(np.array([1, 3])), expected, atol=1e-4)
    (block,) = prepared.blocks(np.array([1, 3]))
    np.testing.assert_array_equal(block, prepared.vectors(np.array([1, 3])))
    monkeypatch.setattr(_items, "BLOCK", 3)
    blocks = list(prepared.blocks(np.array([0, 1, 3])))
    assert [len(block) for block in blocks] == [3, 3]
    np.testing.assert_array_equal(np.concatenate(blocks), prepared.vectors(np.array([0, 1, 3])))
    assert prepared.per_item(np.array([1, 3]), np.array([7, 8, 9, 5])).tolist() == [8, 5, 5, 5]
