"""Counts of rankings by distance, compared with a slow loop over all pairs."""

import numpy as np
import pytest
from encoded import refuses

from protocol.counting import by_distance, count_by_distance
from protocol.truth import nearest, pair_distances
from protocol.truth.relevance import NeighbourRelevance


def data(seed, n_database=1300):
    """Vectors of small integers, so that many distances are equal, and the nearest items by other vectors."""
    rng = np.random.default_rng(seed)
    query, database = (rng.integers(-2, 3, (n, 4)).astype(np.float32) for n in (9, n_database))
    query[(query == 0).all(axis=1)] = database[(database == 0).all(axis=1)] = 1
    found = nearest(query, database + rng.normal(size=database.shape), 20)
    relevances = {k: NeighbourRelevance(*found.first(k), n_database) for k in (1, 5, 20)}
    return query, database, relevances


def slow(query, database, relevances, distance, largest):
    """Return the counts of the items at, and between, the distances of the relevant items of the `largest` number."""
    rows = []
    for row in range(len(query)):
        every = np.arange(len(database))
        apart = pair_distances(query, database, np.full(len(database), row), every, distance=distance)
        values = np.unique(apart[relevances[largest].row(row)[0]])
        places = np.searchsorted(values, apart) + np.searchsorted(values, apart, side="right")
        relevant = {k: np.bincount(places[relevance.row(row)[0]]) for k, relevance in relevances.items()}
        rows.append({None: np.bincount(places)} | relevant)
    return rows


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_slow_loop(distance, threads, monkeypatch):
    monkeypatch.setattr(by_distance, "_QUERIES", 4)
    monkeypatch.setattr(by_distance, "_PAIRS", 700)
    query, database, relevances = data(3)
    steps = []
    counts = count_by_distance(query, database, relevances, distance=distance, threads=threads, progress=steps.append)
    assert sum(steps) == len(query) * len(database)
    for row, expected in enumerate(slow(query, database, relevances, distance, 20)):
        for k in relevances:
            for found, wanted in ((counts[k].retrieved[row], expected[None]), (counts[k].relevant[row], expected[k])):
                np.testing.assert_array_equal(found[: wanted.size], wanted)
                assert not found[wanted.size :].any()


def test_refusals():
    query, database, relevances = data(1, 40)
    database[7, 2] = np.nan
    refuses(r"^database row 7: expected finite numbers, got nan\.$", count_by_distance, query, database, relevances)
    arguments, message = (query * 0, database, relevances), "^query: row 0 has zeros only, so no cosine distance "
    refuses(message, count_by_distance, *arguments, distance="cosine")


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("ends", [[0, 1, 1], [0, 0, 0]])
def test_a_query_without_relevant_items_has_all_items_in_one_cell(distance, ends):
    line, relevance = np.array([[1.0], [2], [-1]]), NeighbourRelevance(ends, [1][: ends[-1]], 3)
    counts = count_by_distance(line[:2], line, {1: relevance}, distance=distance)[1]
    assert counts.retrieved[1, 0] == 3
    assert (counts.retrieved.sum(axis=1).tolist(), counts.relevant.sum(axis=1).tolist()) == ([3, 3], [ends[1], 0])
