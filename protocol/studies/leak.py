r"""How much does training on the database flatter a hasher? Two equal databases, training inside each, ranking both.

Of one run, with m(t, r) the score after training inside database t and ranking database r,

.. math:: \mathrm{leak} = \tfrac12 [(m(a, a) - m(a, b)) + (m(b, b) - m(b, a))]

A database that is easier than the other one, for whatever reason, enters once with each sign and cancels out; so does
a training set that is better than the other one. What stays is what a model gains on the items it was trained on, or
trained among. A hasher that learns nothing gains nothing: its two models are draws from one distribution.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, labels
from protocol.metrics import evaluate, mean
from protocol.ranking import Relevance, count
from protocol.tables import DIGITS, write_csv

SIDES = ("a", "b")
RANKINGS = tuple((trained, ranked) for trained in SIDES for ranked in SIDES)
"""Every pair of the database trained in and the database ranked."""
COLUMNS = (
    *("dataset", "feature", "run", "hasher", "n_bits", "train_per_class", "n_train", "ground_truth"),
    *(f"{trained}_on_{ranked}" for trained, ranked in RANKINGS),
)
"""Of the table of scores: the cell, then the four scores; in ``a_on_b`` the model trained inside a ranks b."""


def halves(
    y: NDArray | None, *, query_per_class: int, outside_per_class: int, train_per_class: Sequence[int | str], seed: int
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Draw one run: the same queries for both sides, and a database on each side, its training sets inside.

    Parameters
    ----------
    y : ndarray of int, shape (n_items,), or None
        Class labels.
    query_per_class, outside_per_class : int
        Queries of each class; and items of each class in neither database, to fit what is not the hasher.
    train_per_class : sequence of int or "all"
        Sizes of the training sets; a smaller one lies inside a larger one, and ``all`` is the whole database.
    seed : int

    Returns
    -------
    dict of dict of ndarray of int64
        By side, row numbers, ascending: ``query``, ``train`` (the items outside: what the preprocessing and the ground
        truth are fitted on, under the name they read it by), ``database``, and ``inside/<size>``. ``query`` and
        ``train`` are the same on both sides, and the databases have equally many items of each class; one item of a
        class with an odd rest is left out.

    Raises
    ------
    ProtocolError
        If items have no label or several, or a class is too small.
    """
    if y is None or y.ndim != 1:
        raise ProtocolError("leak: the two databases are balanced over classes; wanted one class label per item")
    classes = labels(y, len(y))
    rng = np.random.default_rng(seed)
    drawn: dict[str, dict[str, list[NDArray]]] = {side: {} for side in SIDES}
    for name in np.unique(classes):
        items = rng.permutation(np.flatnonzero(classes == name))
        query, outside, rest = np.split(items, [query_per_class, query_per_class + outside_per_class])
        half = rest.size // 2
        largest = max((size for size in train_per_class if isinstance(size, int)), default=1)
        if half < largest:
            raise ProtocolError(
                f"leak: class {name} has {items.size} items; wanted {query_per_class} queries, {outside_per_class} "
                f"outside and two databases of at least {largest}"
            )
        for side, database in zip(SIDES, (rest[:half], rest[half : 2 * half]), strict=True):
            inside = {f"inside/{size}": database[: None if size == "all" else size] for size in train_per_class}
            for part, chosen in {"query": query, "train": outside, "database": database, **inside}.items():
                drawn[side].setdefault(part, []).append(chosen)
    return {
        side: {part: np.sort(np.concatenate(chosen)) for part, chosen in parts.items()} for side, parts in drawn.items()
    }


def rankings(
    models: Mapping[str, Any],
    query: NDArray[np.float32],
    database: Mapping[str, NDArray[np.float32]],
    truths: Mapping[str, Mapping[str, Relevance]],
    *,
    metric: str = "mAP",
    empty: str = "zero",
    calls: int = 1,
) -> dict[str, dict[tuple[str, str], float]]:
    """Rank both databases with both models.

    Parameters
    ----------
    models : mapping of str to Hasher
        By side, the model trained inside its database.
    query : ndarray of float32, shape (n_queries, d)
    database : mapping of str to ndarray of float32, shape (n_database, d)
        By side.
    truths : mapping of str to mapping of str to Relevance
        By side of the ranked database, then by name.
    metric, empty : str
        As in `protocol.metrics.evaluate`.
    calls : int, default=1
        How many calls like this one the process makes; nothing but the time depends on it.

    Returns
    -------
    dict of dict of float
        By ground truth, the mean score by `RANKINGS`.
    """
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for trained, ranked in RANKINGS:
        bits = models[trained].transform(query)
        counted = count(
            codes.pack(bits),
            codes.pack(models[trained].transform(database[ranked])),
            bits.shape[1],
            truths[ranked],
            largest_bucket=False,
            calls=calls * len(RANKINGS),
        )
        for truth, counts in counted.items():
            values = evaluate(counts, [metric], empty=empty)[metric]
            scores.setdefault(truth, {})[trained, ranked] = mean(values)
    return scores


def write_scores(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows in the order of `COLUMNS` as CSV; the four scores, last in a row, with nine digits."""
    n = len(RANKINGS)
    written = ((*row[:-n], *(DIGITS % score for score in row[-n:])) for row in rows)
    write_csv(path, COLUMNS, written, checksum=True)
