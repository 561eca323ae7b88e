"""Ground truths by hand, among the training rows, and what they refuse."""

import numpy as np
import pytest
from encoded import message_of, refusals
from plainly import all_distances, peak_memory

from protocol import registry, truth
from protocol.provenance import storage
from protocol.truth import Items, _items, epsilon_ball, relevance, write_among

LINE = np.arange(11, dtype=np.float32)[:, None]  # points 0, 1, ..., 10 on a line


def items(X, labels=None):
    return Items(np.asarray(X, dtype=np.float32), labels)


def ball(train, *, database=None, query=None, **options):
    build = registry.get("ground_truth", "epsilon_ball")
    return build(*(items(train if side is None else side) for side in (query, database)), items(train), **options)


def rows(truth):
    return [truth["indices"][a:b].tolist() for a, b in zip(truth["indptr"], truth["indptr"][1:], strict=False)]


def test_class_labels_never_compute_the_vectors():
    items = Items(lambda: pytest.fail("the vectors were computed"), np.array([3, 4]))
    truth = registry.get("ground_truth", "class_label")(items, items, items)
    assert truth["database_labels"].tolist() == [3, 4]


@pytest.mark.parametrize("chunk", [7, 1 << 15])
@pytest.mark.parametrize("n_database", [59, 90])
@pytest.mark.parametrize("reading", [{}, {"reading": "mean_distance"}, {"reading": "average_count"}])
def test_the_radius_matches_the_full_matrix_of_distances(reading, n_database, chunk, monkeypatch):
    monkeypatch.setattr(epsilon_ball, "CHUNK", chunk)
    X = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    X[10:20] = X[0]
    options = {"n_neighbours": 4, "n_sample": 60, "seed": 3} | reading
    radius = ball(X, database=np.zeros((n_database, 5)), **options)["radius"][0]
    rows = all_distances(X, X, "euclidean")[~np.eye(60, dtype=bool)].reshape(60, 59)
    exact_rank = 4 * 59 / n_database
    if reading == {"reading": "average_count"}:
        assert radius == np.sort(rows.ravel())[round(exact_rank * 60) - 1]
    else:
        rows.sort(axis=1)
        expected = [np.interp(exact_rank, np.arange(1, 60), row) for row in rows]
        assert radius == pytest.approx(np.mean(expected), rel=1e-14)


def test_radius_depends_on_training_points_only_and_on_the_seed():
    X = np.random.default_rng(0).standard_normal((500, 8))
    one = ball(X[:200], database=X[200:], query=X[:3], seed=1)["radius"]
    assert one == ball(X[:200], database=X[200:] * 100, query=X[5:9], seed=1)["radius"]
    assert one != ball(X[:200], database=X[200:], query=X[:3], seed=2)["radius"]


FOUR = [[1, 0.5]], [[1, 0], [2, 1], [4, 2.1], [9, 0]]
NEAREST = {"euclidean": [0, 1], "cosine": [1, 2], "dot": [2, 3]}


@pytest.mark.parametrize(
    ("query", "database", "distance", "expected"),
    [([[0], [5]], LINE, "euclidean", [[0, 1], [4, 5, 6]]), *((*FOUR, of, [ranks]) for of, ranks in NEAREST.items())],
)
def test_nearest_neighbours_with_ties_at_the_last_and_by_three_distances(query, database, distance, expected):
    build = registry.get("ground_truth", "nearest_neighbours")
    truth = build(items(query), items(database), items(database), n_neighbours=2, distance=distance)
    assert rows(truth) == expected


def test_graded_distance_gives_the_level_of_the_smallest_radius():
    build = registry.get("ground_truth", "graded_distance")
    # 55 pairs of 11 points: 10 at distance 1, 9 at 2, ...; the percentiles 70, 30, 10 of them are 5, 2 and 1
    options = {"percentiles": (70, 30, 10), "levels": (1, 2, 5), "n_sample": 11}
    truth = build(items([[0]]), items(LINE), items(LINE), **options)
    assert truth["radii"].tolist() == [5, 2, 1]
    assert rows(truth) == [[0, 1, 2, 3, 4, 5]]
    assert truth["levels"].tolist() == [5, 5, 2, 1, 1, 1]


def test_graded_distance_against_all_distances():
    rng = np.random.default_rng(0)
    X, query = rng.standard_normal((200, 6)).astype(np.float32), rng.standard_normal((7, 6)).astype(np.float32)
    truth = registry.get("ground_truth", "graded_distance")(items(query), items(X), items(X), seed=3)
    apart = all_distances(query, X, "euclidean")
    level_of = np.zeros(apart.shape, dtype=int)
    for radius, level in zip(truth["radii"], (1, 2, 5, 10), strict=True):
        level_of[apart <= radius] = level
    pairs = all_distances(X, X, "euclidean")[np.triu_indices(200, 1)]
    np.testing.assert_allclose(truth["radii"], np.percentile(pairs, [5, 1, 0.2, 0.1]))
    assert rows(truth) == [np.flatnonzero(row).tolist() for row in level_of]
    assert truth["levels"].tolist() == level_of[level_of > 0].tolist()


PROVENANCE = storage.provenance("test", parameters={}, inputs={})


def made(n, d=3):
    rng = np.random.default_rng(0)
    return Items(rng.normal(size=(n, d)).astype(np.float32), rng.integers(0, 3, n))


@pytest.mark.parametrize("name", registry.names("ground_truth"))
@pytest.mark.parametrize("block", [1, 350, 1 << 26])  # one query, 8 queries, all queries
def test_blocks_equal_the_result_of_a_single_call(tmp_path, name, block, monkeypatch):
    monkeypatch.setattr(_items, "BLOCK", block)
    items, rule = made(41), registry.get("ground_truth", name)
    options = {"seed": 3} | ({"n_neighbours": 5} if name in ("nearest_neighbours", "epsilon_ball") else {})
    with storage.writing(tmp_path / "y.h5", PROVENANCE) as file:
        write_among(file, rule, items, **options)
    found, expected = storage.read(tmp_path / "y.h5"), rule(items, items, items, **options)
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array)
        if key in ("indices", "levels"):
            assert found[key].dtype == np.int32


def test_the_pairs_need_not_fit_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_items, "BLOCK", 1 << 15)
    items, rule = made(1000, d=2), registry.get("ground_truth", "graded_distance")
    options = {"seed": 3, "percentiles": (60, 5), "levels": (1, 2), "n_sample": 100}
    with storage.writing(tmp_path / "y.h5", PROVENANCE) as file:
        _, peak = peak_memory(lambda: write_among(file, rule, items, **options))
    pairs = len(storage.read(tmp_path / "y.h5")["indices"])
    assert pairs > 500_000
    assert peak < 4 * pairs  # bytes: half the size of the file


ONES = {"query": np.ones((2, 3)), "database": np.ones((4, 3))}
SEARCHES = {"nearest": ONES | {"k": 1}, "neighbours_within": ONES | {"radius": 1.0}}


@pytest.mark.parametrize(("case", "message"), refusals("truth/refusals.yaml"))
def test_refusals(case, message):
    name, arguments = case.pop("call"), case.pop("arguments", ())
    if name in SEARCHES:
        function, case = getattr(truth, name), SEARCHES[name] | case
    elif name in registry.names("ground_truth"):
        function = registry.get("ground_truth", name)
        arguments = Items(LINE, None), Items(case.pop("database", LINE), None), Items(LINE, None)
    else:
        function = getattr(relevance, name)
    assert message_of(function, *arguments, **case) == message
