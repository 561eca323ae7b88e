"""Latent semantic analysis: the projections of a text's TF-IDF weights on the training set's main topics."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.features.tfidf import Tfidf
from protocol.options import Count
from protocol.registry import FeatureRecord


@FeatureRecord(
    "lsa",
    printed="LSA",
    source="Deerwester et al. 1990, Indexing by Latent Semantic Analysis, Journal of the American Society for "
    "Information Science 41(6); scikit-learn's TruncatedSVD",
    deviations="weights are TF-IDF; the singular vectors are exact (ARPACK), not randomised; values are rounded to "
    "float32",
)
class Lsa(Tfidf):
    """LSA: the TF-IDF weights of a text, projected on the leading right singular vectors of those of the training set.

    Parameters
    ----------
    n_components : int, at least 1 and below `n_terms`, default 100
        Number of singular vectors, and length of the vectors.
    n_terms : int, at least 1, default 2000
        Number of terms, as for `tfidf`.
    stop_words : {"english"} or None, default None
        Ignore the words of scikit-learn's English list.
    sublinear_tf : bool, default False
        Replace term frequencies tf by ``1 + ln(tf)``.

    Notes
    -----
    Nothing is centred, so that the weights remain sparse; use the preprocessing step ``centre`` for that.
    """

    n_components: Count = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        integer(self.n_components, "n_components", maximum=self.n_terms - 1)

    @property
    def dimension(self) -> int:
        """Length of a vector, `n_components`."""
        return self.n_components

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return the model of `Tfidf.fit` and the singular vectors, (n_components, n_terms)."""
        from sklearn.decomposition import TruncatedSVD
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        if self.n_components >= len(raw_train):
            raise ProtocolError(
                f"n_components: {self.n_components:,} components need more than {self.n_components:,} training "
                f"texts, got {len(raw_train):,}."
            )
        model = super().fit(raw_train, seed)
        svd = TruncatedSVD(self.n_components, algorithm="arpack", random_state=seed)
        with threadpool_limits(1):  # with more threads, sums are taken in another order
            svd.fit(self._weights(raw_train, model))
        return model | {"components": svd.components_}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return the projections of each text, float32 (n, n_components)."""
        return (self._weights(raw, model) @ model["components"].T).astype(np.float32)
