import numpy as np
import pytest
from blocks import extract_all
from encoded import message_of

from protocol.features import Preprocessing
from protocol.features.vectors import Vectors


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
def test_vectors_are_unchanged(dtype):
    vectors = np.arange(20_000).reshape(5000, 4).astype(dtype)
    X, image = extract_all(Vectors(), vectors)
    assert X.dtype == dtype
    np.testing.assert_array_equal(X, vectors)
    assert image.tolist() == list(range(5000))
    prepared = Preprocessing.fit(Vectors(), X, (), seed=0).transform(X)
    np.testing.assert_array_equal(prepared, vectors.astype(np.float32))


def test_it_reads_the_named_vectors_and_names_rows_that_are_not_finite():
    vectors = np.zeros((5000, 2))
    vectors[4500, 1] = np.nan
    assert Vectors().reads == "vectors"
    problem = "Vectors(name='gist', n_components=None): row 4,500 of vectors/gist gives NaN or infinity."
    assert message_of(extract_all, Vectors(name="gist"), vectors) == problem


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
