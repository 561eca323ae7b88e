r"""The leak study, which measures how much a hasher gains from training on the database that it ranks.

Each run draws two equal databases, trains a model inside each of them, and ranks both with both models. Let m(t, r) be
the score after training inside database t and ranking database r. Then

.. math:: \mathrm{leak} = \tfrac12 [(m(a, a) - m(a, b)) + (m(b, b) - m(b, a))]

If one database is easier than the other, for whatever reason, this enters once with each sign and cancels out, and so
does the quality of the training sets. The remainder is the gain from ranking the items on which, or among which, a
model was trained. It is zero for a hasher that learns nothing, because its two models come from one distribution.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.counting import count
from protocol.features import Prepared
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.scores.tables import DIGITS, write_csv
from protocol.truth import Items
from protocol.truth.relevance import Relevance, relevance_from_arrays

SIDES = ("a", "b")
PARTS = ("query", "database", "train")
RANKINGS = tuple((trained, ranked) for trained in SIDES for ranked in SIDES)
"""All pairs of the database in which the model is trained and the database that is ranked."""
COLUMNS = (
    *("dataset", "feature", "run", "hasher", "n_bits", "train_per_class", "n_train", "ground_truth"),
    *(f"{trained}_on_{ranked}" for trained, ranked in RANKINGS),
)
"""The columns of the table: the combination, then its four scores; ``a_on_b`` ranks b with the model trained inside a.
"""


def halves(
    y: NDArray | None, *, query_per_class: int, outside_per_class: int, train_per_class: Sequence[int | str], seed: int
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Sample one run: shared queries and two disjoint databases (sides), each with nested training sets.

    Parameters
    ----------
    y : ndarray of int, shape (n_items,), or None
        Class labels.
    query_per_class : int
        The number of queries of each class.
    outside_per_class : int
        The number of items of each class in neither database, on which everything except the hasher is fitted.
    train_per_class : sequence of int or "all"
        Sizes of the training sets. They are nested, and ``all`` is the complete database.
    seed : int

    Returns
    -------
    dict of dict of ndarray of int64
        For each side, ascending row numbers of ``query``, ``train``, ``database`` and ``inside/<size>``. ``train`` are
        the items outside both databases; it has this name because preprocessing and ground truth read it. ``query`` and
        ``train`` are the same on both sides. The databases have the same number of items of each class; if the number
        of remaining items of a class is odd, one item is left out.

    Raises
    ------
    ProtocolError
        If items have no label or several labels, or a class is too small.
    """
    if y is None or y.ndim != 1:
        got = "none" if y is None else f"labels of shape {y.shape}"
        raise ProtocolError(f"leak: expected one class label per item, to balance the two databases, got {got}.")
    lengths = {f"inside/{size}": None if size == "all" else int(size) for size in train_per_class}
    largest, rng = max(filter(None, lengths.values()), default=1), np.random.default_rng(seed)
    drawn: defaultdict[str, list[dict[str, NDArray]]] = defaultdict(list)  # the parts of one class after another
    for name in np.unique(y):
        items = rng.permutation(np.flatnonzero(y == name))
        query, outside, rest = np.split(items, [query_per_class, query_per_class + outside_per_class])
        half = rest.size // 2
        if half < largest:
            needed = f"{query_per_class:,} queries, {outside_per_class:,} outside and two databases of at least"
            raise ProtocolError(f"leak: class {name} has only {items.size:,} items, too few for {needed} {largest:,}.")
        for side, database in zip(SIDES, (rest[:half], rest[half : 2 * half]), strict=True):
            inside = {part: database[:length] for part, length in lengths.items()}
            drawn[side].append({"query": query, "train": outside, "database": database, **inside})
    return {
        side: {part: np.sort(np.concatenate([rows[part] for rows in classes])) for part in classes[0]}
        for side, classes in drawn.items()
    }


def rankings(
    models: Mapping[str, Any],
    query: NDArray[np.float32],
    database: Mapping[str, NDArray[np.float32]],
    truths: Mapping[str, Mapping[str, Relevance]],
    *,
    undefined: str = "zero",
) -> dict[str, dict[tuple[str, str], float]]:
    """Rank both databases with both models and return the mAP.

    Parameters
    ----------
    models : mapping of str to Hasher
        For each side, the model trained inside its database.
    query : ndarray of float32, shape (n_queries, d)
    database : mapping of str to ndarray of float32, shape (n_database, d)
        The database of each side.
    truths : mapping of str to mapping of str to Relevance
        The ground truths, by side of the ranked database, then by name.
    undefined : str
        How undefined values count, as in `protocol.metrics.evaluate`.

    Returns
    -------
    dict of dict of float
        For each ground truth, the mean score of each pair in `RANKINGS`.
    """
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for trained, ranked in RANKINGS:
        bits = models[trained].transform(query)
        ranked_bits = codes.pack(models[trained].transform(database[ranked]))
        counted = count(codes.pack(bits), ranked_bits, bits.shape[1], truths[ranked], buckets=False)
        for truth, counts in counted.items():
            values = evaluate(counts, ["mAP"], undefined=undefined)["mAP"]
            scores.setdefault(truth, {})[trained, ranked] = mean(values)
    return scores


def scores_of_feature(
    items: Prepared,
    sides: Mapping[str, Mapping[str, NDArray[np.int64]]],
    y: NDArray,
    *,
    ground_truths: Mapping[str, Mapping[str, Any]],
    hashers: Mapping[str, Mapping[str, Any]],
    seeds: Mapping[str, Any],
    undefined: str,
) -> Iterator[tuple[Any, ...]]:
    """Train every hasher inside both databases of a run, and yield the rows of its table.

    Parameters
    ----------
    items : Prepared
        The vectors of the feature, whose preprocessing was fitted on the items outside.
    sides : mapping
        As `halves` returns them.
    y : ndarray of int, shape (n_images,)
        Class labels.
    ground_truths, hashers : mapping of str to mapping
        For each name, the ``plugin`` and its ``options``.
    seeds : mapping
        ``ground_truth``; and ``models``, which has for each hasher, by training size and code length, those of its two
        models by side. With one seed for both sides, a control would produce the same model twice, and its leak would
        always be zero.
    undefined : str
        How undefined values count, as in `protocol.metrics.evaluate`.

    Yields
    ------
    tuple
        The hasher and the columns after it in `COLUMNS`.
    """
    X, truths = dict[str, Any](), defaultdict[str, dict[str, Relevance]](dict)
    for side, parts in sides.items():
        X[side] = {part: items.vectors(part, rows) for part, rows in parts.items()}
        options = {part: Items(X[side][part], items.per_item(parts[part], y)) for part in PARTS}
        options["seed"] = seeds["ground_truth"]
        for name, rule in ground_truths.items():
            arrays = registry.get("ground_truth", rule["plugin"])(**options, **rule["options"])
            truths[side][name] = relevance_from_arrays(arrays, len(X[side]["database"]))
    database = {side: of_side["database"] for side, of_side in X.items()}
    for name, described in hashers.items():
        hasher = registry.get("hasher", described["plugin"])
        for (size, n_bits), of_side in seeds["models"][name].items():
            models = {}
            for side, seed in of_side.items():
                training = TrainingSet(X[side][f"inside/{size}"])
                models[side] = hasher(n_bits=n_bits, seed=seed, **described["options"]).fit(training)
            scores = rankings(models, X["a"]["query"], database, truths, undefined=undefined)
            for truth, four in scores.items():
                yield name, n_bits, size, len(X["a"][f"inside/{size}"]), truth, *four.values()


def write_scores(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows with the columns `COLUMNS` as CSV; the four scores, last in a row, have nine digits."""
    n = len(RANKINGS)
    written = ((*row[:-n], *(DIGITS % score for score in row[-n:])) for row in rows)
    write_csv(path, COLUMNS, written, checksum=True)
