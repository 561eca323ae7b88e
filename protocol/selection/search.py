"""Grid search: every point of a grid is fitted on the training set and scored on the validation partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.metrics import mean
from protocol.ranking import Relevance, count
from protocol.selection.grid import described


class Model(Protocol):
    """What is asked of a fitted hasher."""

    n_bits: int

    def transform(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return codes (n, n_bits) of queries."""

    def transform_database(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return codes (n, n_bits) of database items."""


@dataclass(frozen=True)
class Validation:
    """What every point is scored on.

    Parameters
    ----------
    query, database : ndarray of float32, shape (n, d)
        Vectors of the validation queries, and of the items they are ranked against; d may differ between them.
    relevance : Relevance
        Of these queries and this database.
    metric : str
        Name of a registered metric of which more is better, its numbers filled in.
    empty : {"zero", "drop"}, default="zero"
        What an undefined value of a query is.
    """

    query: NDArray[np.float32]
    database: NDArray[np.float32]
    relevance: Relevance
    metric: str
    empty: str = "zero"

    def score(self, model: Model, *, calls: int = 1) -> float:
        """Return the metric of a fitted model, mean over the validation queries; NaN where it is undefined for all.

        `calls` is how many models will be scored; it changes the time, as in `protocol.ranking.count`, and no score.
        """
        query = codes.pack(model.transform(self.query))
        database = codes.pack(model.transform_database(self.database))
        counts = count(query, database, model.n_bits, {"": self.relevance}, calls=calls)[""]
        return mean(registry.get("metric", self.metric)(counts, empty=self.empty))


def search(
    hasher: Callable[..., Any],
    points: Sequence[Mapping[str, Any]],
    training: Any,
    validation: Validation,
    *,
    seeds: Mapping[int, int],
    options: Mapping[str, Any],
) -> dict[int, list[float]]:
    """Return the validation scores of all points, in their order, for every code length.

    Parameters
    ----------
    hasher : callable
        The hasher's class.
    points : sequence of mapping
        The options that are searched.
    training : TrainingSet or ndarray of float32, shape (n, d)
        What every point is fitted on.
    validation : Validation
    seeds : mapping of int to int
        By code length; all points of a length have the same.
    options : mapping
        The hasher's other options.

    Raises
    ------
    ProtocolError
        If a point can't be fitted: says which, at which length, and why.
    """
    scores: dict[int, list[float]] = {}
    for n_bits, seed in seeds.items():
        scores[n_bits] = []
        for point in points:
            try:
                model = hasher(n_bits=n_bits, seed=seed, **options, **point).fit(training)
            except ProtocolError as error:
                raise ProtocolError(f"grid point {described(point)} at {n_bits} bits: {error}") from error
            scores[n_bits].append(validation.score(model, calls=len(seeds) * len(points)))
    return scores
