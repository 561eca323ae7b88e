"""TF-IDF: the frequencies of the training set's most frequent terms in a text, weighted by their rarity."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.features._feature import Describe, Feature, Sliceable, one_each
from protocol.inputs.validation import check_texts
from protocol.options import Count, choice
from protocol.registry import FeatureRecord


@FeatureRecord(
    "tfidf",
    printed="TF-IDF",
    source="Salton and Buckley 1988, Term-Weighting Approaches in Automatic Text Retrieval, Information Processing & "
    "Management 24(5); scikit-learn's TfidfVectorizer",
    deviations="equally frequent terms are chosen in alphabetical order, not in the order in which an unstable sort "
    "leaves them; values are rounded to float32",
)
class Tfidf(Feature):
    """TF-IDF: the term frequencies of a text times the terms' inverse document frequencies, as rows of unit length.

    With n training texts, of which df_t contain the term t, and tf_t occurrences of t in a text, component t is
    ``tf_t (ln((1 + n) / (1 + df_t)) + 1)``. The vector of a text without any of the terms is zero.

    Parameters
    ----------
    n_terms : int, at least 1, default 2000
        Number of terms, the most frequent ones of the training texts; length of the vectors.
    stop_words : {"english"} or None, default None
        Ignore the words of scikit-learn's English list.
    sublinear_tf : bool, default False
        Replace tf_t by ``1 + ln(tf_t)``.

    Notes
    -----
    Raw descriptors are the texts. A term is a word of at least two letters or digits, in lower case. Terms and document
    frequencies come only from the training texts.

    Examples
    --------
    >>> texts = np.array(["red cat", "red dog"], dtype=np.dtypes.StringDType())
    >>> feature = Tfidf(n_terms=3)
    >>> model = feature.fit(texts, seed=0)
    >>> model["terms"].tolist(), feature.encode(texts[:1], model).round(3).tolist()
    (['cat', 'dog', 'red'], [[0.8149999976158142, 0.0, 0.5799999833106995]])
    """

    block = 4096
    images_per_job = None

    n_terms: Count = 2000
    stop_words: Annotated[str, choice("english")] | None = None
    sublinear_tf: bool = False

    @property
    def reads(self) -> str:
        """``texts``."""
        return "texts"

    @property
    def dimension(self) -> int:
        """Length of a vector, `n_terms`."""
        return self.n_terms

    def _check(self, images: Sliceable) -> None:
        check_texts(images)

    def _describer(self, images: Sliceable) -> Describe:
        return one_each(lambda block: block)

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return the terms, texts (n_terms,), in alphabetical order, and their inverse document frequencies."""
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        counter = CountVectorizer(stop_words=self.stop_words)
        tokens = counter.build_analyzer()
        n_terms = len({term for text in raw_train for term in tokens(text)})
        if n_terms < self.n_terms:
            raise ProtocolError(
                f"n_terms: the training texts have only {n_terms:,} different terms, not {self.n_terms:,}."
            )
        counts = counter.fit_transform(raw_train)
        most_frequent = np.argsort(-np.asarray(counts.sum(axis=0)).ravel(), kind="stable")
        chosen = np.sort(most_frequent[: self.n_terms])
        terms = counter.get_feature_names_out()[chosen].astype(np.dtypes.StringDType())
        return {"terms": terms, "idf": TfidfTransformer().fit(counts[:, chosen]).idf_}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return the weights of the terms in each text, float32 (n, n_terms)."""
        return self._weights(raw, model).astype(np.float32).toarray()

    def _weights(self, raw: NDArray, model: Mapping[str, NDArray]) -> Any:
        """Return the weights as compressed sparse rows."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        options = {"stop_words": self.stop_words, "sublinear_tf": self.sublinear_tf}
        vectorizer = TfidfVectorizer(vocabulary=model["terms"].tolist(), **options)
        vectorizer.idf_ = model["idf"]
        return vectorizer.transform(raw)
