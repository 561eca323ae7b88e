"""The base class of hashers that compute each bit from one feature by a threshold."""

import abc

import numpy as np
from numpy.typing import NDArray

from protocol.hashers.base import Hasher
from protocol.hashers.training_set import TrainingSet


class Thresholds(Hasher):
    """Computes bit j from feature j, ``bit_j(x) = [x_j > t_j]``; a subclass defines the thresholds t.

    With fewer bits than features, the first n_bits features are used, and the others have no influence.
    """

    learned = {"threshold_": ("float32", "n_bits")}

    @abc.abstractmethod
    def _thresholds(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the threshold of each column of the training rows."""

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        training.check_n_bits(self.n_bits)
        self.threshold_ = self._thresholds(training.X[:, : self.n_bits])
        return {}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return X[:, : self.n_bits] > self.threshold_
