import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.checks import ProtocolError
from protocol.features.bow import BagOfWords
from protocol.features.dense_sift import DenseSift


def test_descriptors_are_those_of_a_grid():
    X, _ = extract_all(BagOfWords(grid=3), noise(4, 32, 32, 3))
    assert (X.shape, X.dtype) == ((4, 9, 128), np.uint8)
    np.testing.assert_array_equal(X.reshape(4, -1), extract_all(DenseSift(grid=3), noise(4, 32, 32, 3))[0])


def test_each_word_is_the_mean_of_its_nearest_descriptors():
    raw, bow = noise(40, 5, 128), BagOfWords(n_words=6, n_sample=200)
    vocabulary = bow.fit(raw, seed=3)["vocabulary"]
    assert (vocabulary.shape, vocabulary.dtype) == ((6, 128), np.float32)
    descriptors = raw.reshape(-1, 128).astype(np.float64)
    word = ((descriptors[:, None] - vocabulary) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(vocabulary, [descriptors[word == own].mean(axis=0) for own in range(6)], atol=1e-3)
    counts = np.eye(6)[word].reshape(40, 5, 6).sum(axis=1)
    expected = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    np.testing.assert_allclose(bow.encode(raw, {"vocabulary": vocabulary}), expected, rtol=1e-6)


def test_too_few_distinct_descriptors_are_refused():
    message = r"^bow: 5 words need at least as many distinct training descriptors, got 4 \(40 in total\)\.$"
    with pytest.raises(ProtocolError, match=message):
        BagOfWords(n_words=5).fit(np.repeat(noise(4, 1, 128), 10, axis=0), seed=0)
