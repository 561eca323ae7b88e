import numpy as np
import pytest
from encoded import refused, refuses
from scipy.sparse import coo_array, csr_array

from protocol import registry
from protocol.hashers import Affinities, TrainingSet, supervision
from protocol.provenance import storage
from protocol.truth import Items, _items, write_among
from protocol.truth.relevance import LabelRelevance

STORED = csr_array((np.array([9, 0, 9]), np.array([0, 2, 1]), np.array([0, 1, 3, 3])), shape=(3, 3))
"""A pair of different rows with level 0 is stored."""
SEVERAL = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize("y", [np.array([3, 1, 3, 3]), SEVERAL, SEVERAL.astype(int)])
def test_affinities_of_labels_are_the_levels_that_codes_are_scored_by(y):
    found, truth = Affinities(y, 4), LabelRelevance(y, y)
    rows = np.array([2, 0, 3])
    for query, levels in zip(rows, found.among(rows), strict=True):
        expected = np.zeros(4, dtype=int)
        expected[truth.row(query)[0]] = truth.row(query)[1]
        np.testing.assert_array_equal(levels, expected[rows])


@pytest.mark.parametrize("kind", [csr_array, coo_array])
def test_a_sparse_matrix_contains_the_levels(kind):
    levels = np.array([[9, 2, 0], [5, 9, 0], [0, 1, 9]])
    found = Affinities(kind(levels), 3)
    np.testing.assert_array_equal(found.among(np.array([1, 0])), [[9, 5], [2, 9]])


@pytest.mark.parametrize("y", [csr_array(np.eye(3, dtype=int)), STORED, np.arange(3), np.eye(3, dtype=int)])
def test_rows_without_any_relation_are_refused(y):
    refuses(r"affinities: no two of the 3 training rows are related\.$", Affinities, y, 3)
    with refused(r"affinities: expected integers >= 0 of shape \(3, 3\), .* got shape \(3, 3\) of float64 with"):
        Affinities(csr_array(np.full((3, 3), 0.5)), 3)


def test_a_ground_truth_among_training_rows_supervises_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_items, "BLOCK", 1000)
    rng = np.random.default_rng(0)
    train = Items(rng.normal(size=(80, 3)).astype(np.float32), rng.integers(0, 3, 80))
    for truth in ("class_label", "graded_distance", "epsilon_ball"):
        built = registry.get("ground_truth", truth)(train, train, train, seed=0)
        with storage.writing(tmp_path / "y.h5", storage.provenance("test", parameters={}, inputs={})) as file:
            write_among(file, registry.get("ground_truth", truth), train, seed=0)
        y = supervision(storage.read(tmp_path / "y.h5"))
        found = TrainingSet(train.X, y).affinities.among(np.arange(80))
        if truth == "class_label":
            np.testing.assert_array_equal(y, train.labels)
            np.testing.assert_array_equal(found, train.labels[:, None] == train.labels)
        else:
            np.testing.assert_array_equal(y.indices, built["indices"])
            np.testing.assert_array_equal(y.data, built.get("levels", np.ones(y.nnz)))
            assert y.indices.dtype == y.indptr.dtype == np.int32  # otherwise scipy would copy them
            apart = ((train.X[:, None].astype(float) - train.X) ** 2).sum(axis=2)
            assert np.unique(found).tolist() == ([0, 1, 2, 5, 10] if truth == "graded_distance" else [0, 1])
            assert all(apart[found >= level].max() < apart[found < level].min() for level in np.unique(found)[1:])
