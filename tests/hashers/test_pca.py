import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import _pca
from protocol.hashers._pca import principal_components, project

AXES = np.array([[4, 3, 0], [4, -3, 0], [-4, 3, 0], [-4, -3, 0]], dtype=np.float32)


def test_axis_aligned_data_has_the_axes_as_components():
    components = principal_components(AXES + np.float32([10, 20, 30]), 3)
    np.testing.assert_array_equal(components.mean, [10, 20, 30])
    np.testing.assert_allclose(components.directions, np.eye(3), atol=1e-7)
    assert components.n_without_variance == 1


def test_the_largest_entry_is_positive():
    w = np.float32([0.6, -0.8])
    X = np.outer(np.float32([-2, -1, 1, 2]), w)
    np.testing.assert_allclose(principal_components(X, 1).directions[:, 0], [-0.6, 0.8], rtol=1e-6)


def test_project_subtracts_the_mean():
    projected = project(AXES, np.float32([4, 3, 0]), np.eye(3, 2, dtype=np.float32))
    np.testing.assert_array_equal(projected, [[0, 0], [0, -6], [-8, 0], [-8, -6]])
    assert projected.dtype == np.float32


def test_tiles_add_up(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    whole = principal_components(X, 5)
    projected = project(X, whole.mean, whole.directions)
    monkeypatch.setattr(_pca, "_TILE", 7)
    np.testing.assert_allclose(principal_components(X, 5).directions, whole.directions, atol=1e-5)
    np.testing.assert_allclose(project(X, whole.mean, whole.directions), projected, atol=1e-5)


def test_a_large_offset_costs_nothing():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 6)) * [6, 5, 4, 3, 2, 1] + 1000).astype(np.float32)
    vectors = np.linalg.eigh(np.cov(X.astype(np.float64).T))[1][:, ::-1]
    agreement = np.abs((vectors * principal_components(X, 6).directions).sum(axis=0))
    np.testing.assert_allclose(agreement, 1, atol=1e-5)


def test_fewer_rows_than_components_leave_directions_without_variance():
    X = np.random.default_rng(0).normal(size=(4, 10)).astype(np.float32)
    assert principal_components(X, 3).n_without_variance == 0
    assert principal_components(X, 8).n_without_variance == 5


def test_more_components_than_features_are_refused():
    with pytest.raises(ProtocolError, match=r"n_bits: 4 bits need .* 3 features; take n_bits <= 3"):
        principal_components(AXES, 4)
