"""Bag of visual words: the frequencies of a learned vocabulary's gradient patterns in an image."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.features._feature import Describe, Sliceable, one_each
from protocol.features.dense_sift import DenseSift
from protocol.features.sift import LENGTH
from protocol.registry import Count, FeatureRecord


@FeatureRecord.declared
class BagOfWords(DenseSift):
    """Bag of visual words: the L2-normalised histogram of the words nearest to an image's SIFT descriptors.

    With vocabulary v_1 ... v_k (k-means centres of training descriptors) and descriptors x_1 ... x_m of an image,
    ``h_w = #{i : w = argmin_j |x_i - v_j|}`` and the vector is ``h / |h|_2``. If several words are equally near, the
    first one is counted.

    Parameters
    ----------
    n_words : int, at least 1, default 500
        Size k of the vocabulary, and length of the vectors.
    grid : int, default=5
        Descriptors per side of the grid, as for `dense_sift`.
    patch : int, default=16
        Side of the patch of a descriptor, in pixels.
    image_size : int, default=32
        Side to which images are scaled, in pixels.
    n_sample : int, at least `n_words`, default 50000
        Maximum number of training descriptors for k-means, sampled without replacement.

    Notes
    -----
    Raw descriptors are as for `dense_sift`, uint8, shape (n, grid^2, 128). Only the vocabulary is learned, from
    training images. Distances are compared as ``x.v - |v|^2 / 2`` in float32.

    References
    ----------
    Sivic and Zisserman, *Video Google: A Text Retrieval Approach to Object Matching in Videos*, ICCV 2003.
    Chua et al., *NUS-WIDE: A Real-World Web Image Database from National University of Singapore*, CIVR 2009.

    Examples
    --------
    >>> words = {"vocabulary": np.eye(2, 128, dtype=np.float32)}
    >>> raw = np.stack([np.eye(4, 128)[[0, 0, 0, 1]], np.eye(4, 128)[[1, 1, 1, 1]]])
    >>> BagOfWords(n_words=2).encode(raw, words).round(2)
    array([[0.95, 0.32],
           [0.  , 1.  ]], dtype=float32)
    """

    n_words: Count = 500
    grid: Count = 5
    n_sample: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        integer(self.n_sample, "n_sample", minimum=self.n_words)

    @property
    def dimension(self) -> int:
        """Length of a vector, `n_words`."""
        return self.n_words

    def _describer(self, images: Sliceable) -> Describe:
        return one_each(self.descriptors)

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Learn the vocabulary by k-means, which starts once, from random descriptors (Lloyd's iterations).

        Parameters
        ----------
        raw_train : ndarray of uint8, shape (n_train, grid^2, 128)
        seed : int, in [0, 2**32)
            Draws the sample of descriptors and the starting centres.

        Returns
        -------
        dict of str to ndarray
            ``vocabulary``, float32 (n_words, 128).

        Raises
        ------
        ProtocolError
            If there are fewer distinct descriptors than words.
        """
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        descriptors = np.asarray(raw_train).reshape(-1, LENGTH)
        if len(descriptors) > self.n_sample:
            sampled = np.random.default_rng(seed).choice(len(descriptors), self.n_sample, replace=False)
            descriptors = descriptors[np.sort(sampled)]
        distinct = len(np.unique(descriptors, axis=0))
        if distinct < self.n_words:
            needed = f"{self.n_words:,} words need at least as many distinct training descriptors"
            raise ProtocolError(f"bow: {needed}, got {distinct:,} ({len(descriptors):,} in total).")
        # k-means++ takes twice as long as all iterations: the sum of squares would be 1 % smaller, mAP the same.
        means = KMeans(self.n_words, init="random", n_init=1, max_iter=100, random_state=seed)
        with threadpool_limits(1):  # with more threads, sums are taken in another order and the centres differ
            means.fit(descriptors.astype(np.float32))
        return {"vocabulary": means.cluster_centers_.astype(np.float32)}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Count the nearest words of each image.

        Parameters
        ----------
        raw : ndarray, shape (n, m, 128)
            Descriptors of n images, m each.
        model : mapping of str to ndarray
            ``vocabulary``, float32 (n_words, 128).

        Returns
        -------
        ndarray of float32, shape (n, n_words)
            Rows of unit length.
        """
        vocabulary = model["vocabulary"]
        half_squares = (vocabulary**2).sum(axis=1) / 2
        counts = np.empty((len(raw), len(vocabulary)), dtype=np.float32)
        for start in range(0, len(raw), self.block):
            # one product of fixed shape per image, so that near ties do not depend on the block
            products = np.asarray(raw[start : start + self.block], dtype=np.float32) @ vocabulary.T
            words = (products - half_squares).argmax(axis=2)
            first = np.arange(len(words))[:, None] * len(vocabulary)
            histogram = np.bincount((words + first).ravel(), minlength=len(words) * len(vocabulary))
            counts[start : start + self.block] = histogram.reshape(len(words), -1)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)
