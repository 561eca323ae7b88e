"""Quantisers: cases computed by hand, the definition of sentence-transformers, and errors by their message."""

import numpy as np
import pytest
from encoded import refused, refuses

from protocol import registry
from protocol.quantisers.float16 import Float16
from protocol.quantisers.int8 import Int8
from protocol.quantisers.truncate import Truncate

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(500, 12)).astype(np.float32)


def round_trip(quantiser, vectors, distance="euclidean"):
    model = quantiser.fit(vectors, distance, 0)
    codes = quantiser.encode(vectors, model)
    return codes, quantiser.decode(codes, model)


def test_float16_rounds_to_half_precision():
    codes, vectors = round_trip(Float16(), np.float32([[1 + 2**-11, 1 + 3 * 2**-11]]))
    assert vectors.tolist() == [[1.0, 1 + 2**-9]]  # ties to even
    assert codes.dtype == np.float16
    with refused(r"^float16: the largest value it can store is 65,504, got 70000\.$"):
        round_trip(Float16(), np.float32([[7e4]]))


def test_symmetric_int8_is_a_multiple_of_one_scale():
    codes, vectors = round_trip(Int8(), np.float32([[-254, 3], [1, 0.9]]))
    assert codes.tolist() == [[-127, 2], [0, 0]]  # 3 / 2 and 1 / 2 are rounded to even
    assert vectors.tolist() == [[-254, 4], [0, 0]]
    model = Int8().fit(np.float32([[1, -1]]), "dot", 0)
    assert Int8().encode(np.float32([[5, -5]]), model).tolist() == [[127, -127]]
    assert round_trip(Int8(), np.zeros((2, 2), np.float32))[1].tolist() == [[0, 0], [0, 0]]


def test_ranges_of_int8():
    line = np.float32([[0, 7], [255, 7], [100.4, 7]])
    codes, vectors = round_trip(Int8(calibration="minmax"), line)
    assert codes.tolist() == [[0, 0], [255, 0], [100, 0]]
    np.testing.assert_allclose(vectors[:, 0], [0.5, 255.5, 100.5], rtol=1e-6)
    model = Int8(calibration="minmax").fit(np.float32([[0], [255]]), "dot", 0)
    assert Int8(calibration="minmax").encode(np.float32([[-3], [999]]), model).tolist() == [[0], [255]]


def test_int8_of_sentence_transformers():
    """Its documented definition: steps of 1/255 of the range from the minimum, minus 128, rounded towards zero."""
    low, high = VECTORS.min(axis=0), VECTORS.max(axis=0)
    steps = (high - low) / 255
    expected = np.trunc((VECTORS - low) / steps - 128).astype(np.int8)
    codes_, vectors = round_trip(Int8(calibration="sentence_transformers"), VECTORS)
    np.testing.assert_array_equal(codes_, expected)
    assert codes_.min() == -128
    assert codes_.max() == 127
    assert (np.abs(vectors - VECTORS) <= steps * 1.001).all()  # code 0 has an interval of two steps


def test_truncation_keeps_lengths_for_inner_products():
    vectors = np.float32([[3, 4, 12], [0, 0, 2]])
    assert round_trip(Truncate(dims=2), vectors)[1].tolist() == [[3, 4], [0, 0]]
    np.testing.assert_allclose(round_trip(Truncate(dims=2), vectors, "dot")[1], [[7.8, 10.4], [0, 0]], rtol=1e-6)
    refuses(r"^truncate: dims must be at most 3, the dimension, got 4\.$", round_trip, Truncate(dims=4), vectors)


@pytest.mark.parametrize("name", ["pq", "opq"])
def test_refused_product_quantisation(name):
    pytest.importorskip("faiss")
    plugin = registry.get("quantiser", name)
    refuses(rf"^{name}: m must divide the dimension 12, got 5\.$", plugin(m=5).fit, VECTORS, "dot", 0)
    with refused(rf"^{name}: at least 256 training vectors are needed, one per centroid, got 255\.$"):
        plugin(m=4).fit(VECTORS[:255], "dot", 0)
    refuses(r"^n_bits must be an integer from 1 to 12, got 13\.$", plugin, n_bits=13)


def test_rabitq_is_the_estimate_of_its_paper():
    """|q - c|^2 + |r|^2 - 2 <q - c, s> |r|^2 / <r, s>, in the rotated space."""
    faiss = pytest.importorskip("faiss")
    quantiser = registry.get("quantiser", "rabitq")()
    query = RNG.normal(size=(3, 12)).astype(np.float32)
    model = quantiser.fit(VECTORS, "euclidean", 5)
    rotation = faiss.vector_to_array(faiss.downcast_VectorTransform(model.chain.at(0)).A).reshape(12, 12)
    rotated, rotated_query = (part.astype(np.float64) @ rotation.T for part in (VECTORS, query))
    centre = rotated.mean(axis=0)
    r, q = rotated - centre, rotated_query - centre
    signs, squared = np.where(r > 0, 1, -1), (r**2).sum(axis=1)
    estimate = squared - 2 * (q @ signs.T) * squared / (r * signs).sum(axis=1)
    decoded = quantiser.decode(quantiser.encode(VECTORS, model), model).astype(np.float64)
    products = quantiser.queries(query, model).astype(np.float64) @ decoded.T
    np.testing.assert_allclose(-2 * products, estimate, rtol=1e-3, atol=1e-3)
