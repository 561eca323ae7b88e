"""The sampled splits of the leak study and its four rankings, with fake hashers whose leak is known."""

import numpy as np
import pytest
from encoded import refuses

from protocol.auditing.leak_study import SIDES, halves, rankings
from protocol.truth.relevance import LabelRelevance

SIZES = {"query_per_class": 3, "outside_per_class": 2, "train_per_class": [2, 4, "all"]}
Y = np.random.default_rng(0).permutation(np.repeat([4, 7, 9], [20, 25, 31]))


def leak(scores):
    return (scores["a", "a"] - scores["a", "b"] + scores["b", "b"] - scores["b", "a"]) / 2


def histogram(rows):
    return {int(name): int((Y[rows] == name).sum()) for name in np.unique(Y)}


def test_both_sides_are_balanced_and_share_only_queries_and_items_outside():
    drawn = halves(Y, **SIZES, seed=1)
    a, b = (drawn[side]["database"] for side in SIDES)
    used = np.concatenate([drawn["a"]["query"], drawn["a"]["train"], a, b])
    assert np.unique(used).size == used.size == 20 + 25 + 31 - 1  # one of the 20 - 5 items of class 4 is left out
    for parts in drawn.values():
        assert histogram(parts["database"]) == {4: 7, 7: 10, 9: 13}
        assert histogram(parts["query"]) == {4: 3, 7: 3, 9: 3}
        assert histogram(parts["train"]) == histogram(parts["inside/2"]) == {4: 2, 7: 2, 9: 2}
        assert histogram(parts["inside/4"]) == {4: 4, 7: 4, 9: 4}
        assert set(parts["inside/2"]) < set(parts["inside/4"]) < set(parts["database"])
        assert (parts["inside/all"] == parts["database"]).all()
        assert all((np.diff(rows) > 0).all() and rows.dtype == np.int64 for rows in parts.values())
        assert all((parts[part] == drawn["a"][part]).all() for part in ("query", "train"))


@pytest.mark.parametrize(
    ("y", "train_per_class", "message"),
    [
        (Y, [8], "leak: class 4 has only 20 items, too few for 3 queries, 2 outside and two databases of at least 8"),
        (None, [2], "leak: expected one class label per item, to balance the two databases, got none"),
        (np.ones((10, 2), dtype=bool), [2], "leak: expected one class label per item"),
    ],
)
def test_datasets_without_two_balanced_databases_are_refused(y, train_per_class, message):
    refuses(message, halves, y, **SIZES | {"train_per_class": train_per_class}, seed=0)


class Memoriser:
    """A fake hasher that memorises the classes of its training rows, guesses others, and reads those of queries.

    It ranks the query's class first in the database inside which it was trained; in another one, it can only guess.
    """

    def __init__(self, rows, y, seed):
        self.known = {row.tobytes(): bool(label) for row, label in zip(rows, y, strict=True)}
        self.seed = seed

    def transform(self, X):
        guesses = np.where(X[:, 2] == 1, X[:, 0] > 0, np.random.default_rng(self.seed).random(len(X)) < 0.5)
        return np.array([[self.known.get(row.tobytes(), guess)] for row, guess in zip(X, guesses, strict=True)])


class ByNumber:
    """A fake hasher that learns nothing: bits that depend on its seed and on the values of the item."""

    def __init__(self, seed, n_bits=6):
        self.projection = np.random.default_rng(seed).standard_normal((3, n_bits))

    def transform(self, X):
        return X @ self.projection > 0


def world(seed, *, easier=0.0, n=60):
    """Two classes apart on the first axis; in database b `easier` times as far again. The third marks a query."""
    rng = np.random.default_rng(seed)

    def draw(is_query, distance):
        y = np.repeat([0, 1], n // 2)
        X = rng.standard_normal((n, 3))
        X[:, 0] += np.where(y == 1, distance, -distance)
        X[:, 2] = 1 if is_query else 0
        return X.astype(np.float32), y

    query, y = draw(True, 1.0)
    a, y_a = draw(False, 1.0)
    b, y_b = draw(False, 1.0 + easier)
    truths = {"a": {"class": LabelRelevance(y, y_a)}, "b": {"class": LabelRelevance(y, y_b)}}
    return query, {"a": a, "b": b}, {"a": y_a, "b": y_b}, truths


def leaks_of(models_of, *, easier=0.0, runs=40):
    found, one_way = [], []
    for run in range(runs):
        query, database, y, truths = world(run, easier=easier)
        scores = rankings(models_of(database, y, run), query, database, truths)["class"]
        found.append(leak(scores))
        one_way.append(scores["a", "a"] - scores["a", "b"])
    return np.array(found), np.array(one_way)


def standard_error(values):
    return values.std(ddof=1) / len(values) ** 0.5


def memorisers(database, y, run):
    return {side: Memoriser(database[side], y[side], seed=run) for side in SIDES}


def item_independent(database, y, run):
    return {side: ByNumber(seed=2 * run + (side == "b")) for side in SIDES}


def test_a_hasher_that_learns_nothing_shows_no_leak():
    """None in expectation, also where one database is easier, which would look like a leak without the swap."""
    found, one_way = leaks_of(item_independent, easier=3.0, runs=200)
    assert found.std() > 0
    assert abs(found.mean()) < 3 * standard_error(found)
    assert one_way.mean() < -10 * standard_error(one_way)
    found, _ = leaks_of(lambda database, y, run: {side: ByNumber(seed=run) for side in SIDES})
    assert np.abs(found).max() == 0, "with one seed for both sides, exactly none"


def test_a_hasher_that_memorises_shows_a_leak_whichever_database_is_easier():
    found, _ = leaks_of(memorisers)
    assert found.min() > 0.05
    with_easier, _ = leaks_of(memorisers, easier=3.0)
    assert with_easier.mean() == pytest.approx(found.mean(), rel=0.1)
