"""Grid search: every point of a grid is fitted on the training set and scored on the validation partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.counting import count
from protocol.metrics import mean
from protocol.selection.grid import described
from protocol.truth.relevance import Relevance


class Model(Protocol):
    """The methods that a fitted hasher must have."""

    n_bits: int

    def transform(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return codes (n, n_bits) of queries."""

    def transform_database(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return codes (n, n_bits) of database items."""


@dataclass(frozen=True)
class Validation:
    """The data and the metric by which all points are scored.

    Parameters
    ----------
    query : ndarray of float32, shape (n, d)
        Vectors of the validation queries.
    database : ndarray of float32, shape (n, d)
        Vectors of the database items that they rank; their dimension may differ from that of the queries.
    relevance : Relevance
        The ground truth of these queries and this database.
    metric : str
        The name of a registered metric to maximise, with numbers in place of K and R.
    undefined : {"zero", "drop"}, default="zero"
        The treatment of undefined values.
    """

    query: NDArray[np.float32]
    database: NDArray[np.float32]
    relevance: Relevance
    metric: str
    undefined: str = "zero"

    def score(self, model: Model, *, calls: int = 1) -> float:
        """Return the mean metric of a fitted model over the validation queries; NaN if it is undefined for all of them.

        `calls` is the number of models that will be scored. As in `protocol.counting.count`, it only affects the speed.
        """
        query = codes.pack(model.transform(self.query))
        database = codes.pack(model.transform_database(self.database))
        counts = count(query, database, model.n_bits, {"": self.relevance}, calls=calls)[""]
        return mean(registry.get("metric", self.metric)(counts, undefined=self.undefined))


def search(
    hasher: Callable[..., Any],
    points: Sequence[Mapping[str, Any]],
    training: Any,
    validation: Validation,
    *,
    seeds: Mapping[int, int],
    options: Mapping[str, Any],
) -> dict[int, list[float]]:
    """Return the validation scores of all points, in their order, for each code length.

    Parameters
    ----------
    hasher : callable
        The hasher's class.
    points : sequence of mapping
        The options that are searched.
    training : TrainingSet or ndarray of float32, shape (n, d)
        The data on which every point is fitted.
    validation : Validation
    seeds : mapping of int to int
        The seed for each code length; all points share it.
    options : mapping
        The hasher's other options.

    Raises
    ------
    ProtocolError
        If a point can't be fitted. The message gives the point, the code length and the reason.
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
