"""Selection of a hasher's options from a grid, by scores on the validation partitions (Moran 2016, section 3.5)."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.counting import count
from protocol.hashers import Hasher, TrainingSet
from protocol.metrics import mean
from protocol.provenance import reuse, storage
from protocol.scores.metadata import options_text
from protocol.scores.tables import DIGITS, write_csv
from protocol.truth.relevance import Relevance

_COMBINATION = ("dataset", "feature", "ground_truth", "sample", "run", "hasher")
COLUMNS = (*_COMBINATION, "n_bits", "metric", "options", "default", "chosen", "score")


def points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of a grid's values; those of the last option vary fastest.

    A grid without options has one point, the empty one.

    Examples
    --------
    >>> points({"alpha": [1.0, 1.5], "n_neighbors": [3, 4]})[:3]
    [{'alpha': 1.0, 'n_neighbors': 3}, {'alpha': 1.0, 'n_neighbors': 4}, {'alpha': 1.5, 'n_neighbors': 3}]
    """
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def best(scores: ArrayLike) -> int:
    """Return the index of the largest score, the first if several are equal; NaN (undefined) is never chosen.

    Raises
    ------
    ProtocolError
        If no score is defined.

    Examples
    --------
    >>> best([0.1, float("nan"), 0.3, 0.3])
    2
    """
    values = np.asarray(scores, dtype=np.float64)
    if np.isnan(values).all():
        raise ProtocolError(f"selection: undefined for all {values.size:,} grid points. Choose another metric.")
    return int(np.nanargmax(values))


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

    def score(self, model: Hasher) -> float:
        """Return the mean metric of a fitted model over the validation queries; NaN if it is undefined for all."""
        query = codes.pack(model.transform(self.query))
        database = codes.pack(model.transform_database(self.database))
        counts = count(query, database, model.n_bits, {"": self.relevance})[""]
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
    scores = defaultdict[int, list[float]](list)
    for (n_bits, seed), point in itertools.product(seeds.items(), points):
        try:
            model = hasher(n_bits=n_bits, seed=seed, **options, **point).fit(training)
        except ProtocolError as error:
            raise ProtocolError(f"grid point {options_text(point)} at {n_bits} bits: {error}") from error
        scores[n_bits].append(validation.score(model))
    return scores


def select(
    output: str | Path,
    hasher: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]],
    made_of: Mapping[int, Mapping[str, Any]],
    training: TrainingSet,
    validation: Validation,
    *,
    options: Mapping[str, Any],
    combination: Mapping[str, Any],
    inputs: Mapping[str, str | Path],
) -> None:
    """Write the validation scores of all points of a grid, and the chosen point, at every code length.

    Scores that an earlier run has computed from the same are copied (`protocol.provenance.reuse`).

    Parameters
    ----------
    output : path
    hasher : callable
        The hasher's class.
    grid : mapping of str to sequence
        The values of the options that are searched.
    made_of : mapping of int to mapping
        As for `protocol.provenance.reuse.unchanged`, with the ``seed`` of each code length.
    training : TrainingSet
    validation : Validation
    options : mapping
        The options of the hasher that are not searched.
    combination : mapping
        The dataset, feature, sample, run, hasher and criterion.
    inputs : mapping of str to path
        The input files of the job.
    """
    every, earlier = points(grid), reuse.unchanged([output], made_of)
    seeds = {n_bits: origin["seed"] for n_bits, origin in made_of.items() if n_bits not in earlier}
    scores: dict[int, ArrayLike] = {n_bits: reuse.arrays([output], n_bits)[0]["scores"] for n_bits in earlier}
    scores |= search(hasher, every, training, validation, seeds=seeds, options=options)
    defaults = hasher().get_params()
    read = {"validation_query": validation.query, "validation_database": validation.database, "train": training.X}
    provenance = storage.provenance(
        "selection",
        parameters={**combination, "n_bits": sorted(scores), "options": dict(options)},
        inputs=inputs,
        points=every,
        default={option: defaults[option] for option in grid},
        chosen={n_bits: every[best(scores[n_bits])] for n_bits in sorted(scores)},
        fits={n_bits: {"made_of": origin} for n_bits, origin in made_of.items()},
        read={name: storage.array_digest(rows) for name, rows in read.items()},
    )
    storage.write(output, {f"{n_bits}/scores": scores[n_bits] for n_bits in sorted(scores)}, provenance)
    reuse.keep(output)


def write_table(path: str | Path, selections: Iterable[str | Path]) -> None:
    """Write the scores of selections as CSV with the columns `COLUMNS`, independent of the order of the files.

    The points of a grid remain in its order. ``default`` marks the point with the hasher's default options, ``chosen``
    the selected point.
    """
    rows = sorted((row for file in selections for row in _rows(file)), key=lambda row: row[: COLUMNS.index("options")])
    write_csv(path, COLUMNS, rows, checksum=True)


def _rows(path: str | Path) -> Iterator[tuple[Any, ...]]:
    provenance, scored = storage.read_provenance(path), storage.grouped(storage.read(path))
    parameters = provenance["parameters"]
    combination = tuple(parameters[name] for name in _COMBINATION)
    for n_bits, arrays in scored.items():
        for point, score in zip(provenance["points"], arrays["scores"], strict=True):
            marks = (point == provenance["default"], point == provenance["chosen"][n_bits])
            yield (*combination, int(n_bits), parameters["metric"], options_text(point), *marks, DIGITS % score)
