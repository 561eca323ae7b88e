"""The base class of the two TALR hashers: linear hash functions that maximise a ranking metric on minibatches."""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol.hashers import THRESHOLDS, LinearHasher, TrainingSet
from protocol.hashers.linear_algebra import project, quantizing_rotation
from protocol.hashers.talr.objectives import Metric, relaxed_objective
from protocol.hashers.training import progress
from protocol.registry import Count, Positive, at_least, choice

_MOMENTUM = 0.9
_START_ITERATIONS = 50  # of ITQ, for the initial functions
_PARTS = 20  # the fit record has the mean objective of each of this many parts of the training


class TALR(LinearHasher):
    """Hashing as tie-aware learning to rank; the subclasses `TALRAP` and `TALRNDCG` define metric and supervision."""

    metric: ClassVar[Metric]
    components: ClassVar[int | None]
    """The default of `n_components`; None means all principal components."""
    learned = THRESHOLDS

    relaxation: Annotated[str, choice("simplified", "integral")] = "simplified"
    alpha: Positive = 1.0
    growth: Positive = 1.0
    n_steps: Count = 400
    batch_size: Annotated[int, at_least(2)] = 256
    learning_rate: Positive = 0.1
    n_components: Count | None = None
    start: Annotated[str, choice("itq", "random")] = "itq"
    rate_over_alpha: bool = False

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        affinities, objective = training.affinities, self.metric.objectives[self.relaxation]
        n_features = training.X.shape[1]
        n_components = self.n_components or self.components or n_features
        directions = training.components(min(n_components, n_features)).directions
        components = project(training.X, training.mean, directions)
        # Rows are scaled so that the learning rate does not depend on the features; the column of 1 is for thresholds.
        rows = np.column_stack([components / np.float32(training.scale), np.ones(len(components), dtype=np.float32)])
        W = np.vstack([directions.T @ self._start(training, rng) * training.scale, np.zeros(self.n_bits)])
        velocity = np.zeros_like(W)
        batches = _batches(len(rows), min(self.batch_size, len(rows)), rng)
        name = f"{type(self).__name__}, {self.n_bits} bits"
        # An overflow leads to an objective that is not a number, which stops the training.
        with progress(name, self.n_steps) as course, np.errstate(over="ignore", invalid="ignore"):
            for step, batch in zip(range(self.n_steps), batches, strict=False):
                done = step / self.n_steps
                levels = affinities.among(batch)
                np.fill_diagonal(levels, 0)
                alpha = self.alpha * self.growth**done
                value, by_weights = relaxed_objective(rows[batch], W, alpha, *self.metric.gains(levels), objective)
                course.step(value)
                velocity = _MOMENTUM * velocity + (by_weights / alpha if self.rate_over_alpha else by_weights)
                W += self.learning_rate * (1 + math.cos(math.pi * done)) / 2 * velocity
        self.mean_ = training.mean
        self.projection_ = (directions @ W[:-1] / training.scale).astype(np.float32)
        self.threshold_ = (-W[-1]).astype(np.float32)
        parts = np.array_split(course.values, min(_PARTS, self.n_steps))
        return {"objective": [round(float(part.mean()), 6) for part in parts]}

    def _start(self, training: TrainingSet, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the initial functions of centred rows, as columns.

        These are the functions of ITQ, scaled to unit variance over the training rows; or, as in the authors' code,
        random weights of variance 2 / d for features of root mean square 1, so that the mean variance of functions is
        2.
        """
        if self.start == "random":
            n_features = training.X.shape[1]
            return rng.normal(scale=math.sqrt(2 / n_features), size=(n_features, self.n_bits)) / training.scale
        components = training.components(self.n_bits)
        V = project(training.X, training.mean, components.directions)
        rotation = quantizing_rotation(V, _START_ITERATIONS, rng)
        deviation = (V @ rotation).std(axis=0)
        return components.directions @ rotation / np.where(deviation > 0, deviation, 1)


def _batches(n_rows: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield minibatches forever: all rows in random order, then in another order; incomplete batches are skipped."""
    while True:
        order = rng.permutation(n_rows)
        for start in range(0, n_rows - size + 1, size):
            yield order[start : start + size]
