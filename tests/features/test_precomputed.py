import numpy as np
import pytest
from blocks import extract_all

from protocol.checks import ProtocolError
from protocol.features import Preprocessing
from protocol.features.precomputed import Precomputed


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_vectors_are_unchanged(dtype):
    vectors = np.arange(20_000).reshape(5000, 4).astype(dtype)
    X, image = extract_all(Precomputed(), vectors)
    assert X.dtype == dtype
    np.testing.assert_array_equal(X, vectors)
    assert image.tolist() == list(range(5000))
    prepared = Preprocessing.fit(Precomputed(), X, (), seed=0).transform(X)
    np.testing.assert_array_equal(prepared, vectors.astype(np.float32))


def test_it_reads_the_named_vectors():
    assert Precomputed().reads == "vectors"
    assert Precomputed(name="text").reads == "vectors/text"


def test_rows_that_are_not_finite_are_named_beyond_the_first_block():
    vectors = np.zeros((5000, 2))
    vectors[4500, 1] = np.nan
    with pytest.raises(ProtocolError) as error:
        extract_all(Precomputed(name="gist"), vectors)
    assert (
        str(error.value) == "Precomputed(name='gist', n_components=None): row 4500 of vectors/gist: "
        "expected finite values, got NaN or infinity."
    )
