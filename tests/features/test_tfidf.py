"""TF-IDF and latent semantic analysis, compared with scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from protocol.checks import ProtocolError
from protocol.features.lsa import Lsa
from protocol.features.tfidf import Tfidf

RNG = np.random.default_rng(0)


def texts(*values):
    return np.array(values, dtype=np.dtypes.StringDType())


def made(n):
    return texts(*(" ".join(f"Word{number}" for number in RNG.zipf(1.4, 60) % 400) for _ in range(n)))


def test_weights_by_hand():
    train = texts("red cat, cat", "red dog", "red!")
    model = Tfidf(n_terms=3).fit(train, seed=0)
    assert model["terms"].tolist() == ["cat", "dog", "red"]
    rare, common = np.log(4 / 2) + 1, np.log(4 / 4) + 1
    np.testing.assert_allclose(model["idf"], [rare, rare, common])
    found = Tfidf(n_terms=3).encode(texts("Cat cat red bird", "birds"), model)
    np.testing.assert_allclose(
        found, [np.array([2 * rare, 0, common]) / np.hypot(2 * rare, common), [0] * 3], rtol=1e-6
    )
    damped = Tfidf(n_terms=3, sublinear_tf=True).encode(texts("cat cat red"), model)
    np.testing.assert_allclose(damped[0, 0] / damped[0, 2], (1 + np.log(2)) * rare / common, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"stop_words": "english"}, {"sublinear_tf": True}])
def test_weights_are_those_of_scikit_learn(options):
    train, other = made(80), made(20)
    n_terms = len(TfidfVectorizer(**options).fit(train).vocabulary_)
    expected = TfidfVectorizer(**options).fit(train).transform(other).toarray()
    feature = Tfidf(n_terms=n_terms, **options)
    np.testing.assert_allclose(feature.encode(other, feature.fit(train, 0)), expected, atol=1e-7)


def test_the_most_frequent_terms_are_chosen_and_of_equal_ones_the_first():
    train = texts("bb dd cc", "dd ee aa", "the dd bb the")
    assert Tfidf(n_terms=3).fit(train, 0)["terms"].tolist() == ["bb", "dd", "the"]
    assert Tfidf(n_terms=3, stop_words="english").fit(train, 0)["terms"].tolist() == ["aa", "bb", "dd"]


def test_components_are_those_of_an_exact_decomposition():
    train, other, feature = made(80), made(20), Lsa(n_components=10, n_terms=200)
    model = feature.fit(train, seed=3)
    weights = Tfidf(n_terms=200).encode(train, model)
    _, _, rows = np.linalg.svd(weights, full_matrices=False)
    np.testing.assert_allclose(np.abs(model["components"]), np.abs(rows[:10]), atol=1e-5)
    expected = (
        TruncatedSVD(10, algorithm="arpack", random_state=3)
        .fit(weights)
        .transform(Tfidf(n_terms=200).encode(other, model))
    )
    np.testing.assert_allclose(feature.encode(other, model), expected, atol=1e-5)


def test_too_few_terms_or_texts_are_refused():
    with pytest.raises(ProtocolError, match=r"^n_terms: the training texts have only 2 different terms, not 2,000\.$"):
        Tfidf().fit(texts("the cat", "the"), seed=0)
    with pytest.raises(ProtocolError, match=r"^n_terms: the training texts have only 0 different terms, not 1\.$"):
        Tfidf(n_terms=1, stop_words="english").fit(texts("the", "a 1"), seed=0)
    with pytest.raises(
        ProtocolError, match=r"^n_components: 100 components need more than 100 training texts, got 3\.$"
    ):
        Lsa().fit(texts("a", "b", "c"), seed=0)
