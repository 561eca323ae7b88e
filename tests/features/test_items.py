import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.features import Preprocessing, _items, items_of, prepared
from protocol.features.vectors import Vectors
from protocol.provenance import storage


def test_items_follow_their_images():
    image = np.array([0, 0, 1, 3, 3, 3])
    assert items_of(np.array([0, 3]), image).tolist() == [0, 1, 3, 4, 5]
    with pytest.raises(ProtocolError, match="items of the partition: the list of row numbers is empty"):
        items_of(np.array([2]), image)


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
