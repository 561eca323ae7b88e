import numpy as np
import pytest
from encoded import refused, refuses, yaml_of

from protocol.truth.relevance import LabelRelevance, NeighbourRelevance, ground_truth_sha256, relevance_from_arrays


def rows(relevance):
    return [tuple(part.tolist() for part in relevance.row(i)) for i in range(relevance.n_queries)]


def test_single_labels():
    relevance = LabelRelevance([2, 0, -1, 7], np.array([0, 2, 2, -1, 0], dtype=np.int8))
    assert rows(relevance) == [([1, 2], [1, 1]), ([0, 4], [1, 1]), ([3], [1]), ([], [])]
    assert (relevance.n_queries, relevance.n_database, relevance.levels.tolist()) == (4, 5, [1])


def test_label_matrices_count_shared_labels():
    relevance = LabelRelevance([[1, 1, 0], [0, 0, 0], [0, 0, 1]], [[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert rows(relevance) == [([0, 1, 3], [2, 1, 1]), ([], []), ([0], [1])]
    assert relevance.levels.tolist() == [1, 2]  # no query has three labels
    assert LabelRelevance(np.zeros((2, 3), bool), np.zeros((4, 3), bool)).levels.tolist() == [1]  # none has any


@pytest.mark.parametrize(
    ("query", "database"),
    [([2, 0, -1, 7, 2], [0, 2, 2, -1, 0]), ([[1, 1, 0], [0, 0, 0], [1, 1, 0]], [[1, 1, 1], [0, 1, 0], [0, 0, 0]])],
)
def test_levels_of_groups_are_the_rows_of_their_queries(query, database):
    relevance = LabelRelevance(query, database)
    assert relevance.n_groups == len(np.unique(query, axis=0))
    for i, group in enumerate(relevance.group.tolist()):
        positions, levels = relevance.row(i)
        expected = np.zeros(len(database), dtype=int)
        expected[positions] = levels
        np.testing.assert_array_equal(relevance.level_numbers(group), expected)


def test_neighbours_with_and_without_levels():
    plain = NeighbourRelevance([0, 2, 2, 3], [1, 4, 0], 5)
    assert rows(plain) == [([1, 4], [1, 1]), ([], []), ([0], [1])]
    graded = NeighbourRelevance([0, 2, 2, 3], [1, 4, 0], 5, [5, 2, 5])
    assert rows(graded) == [([1, 4], [5, 2]), ([], []), ([0], [5])]
    assert (plain.levels.tolist(), graded.levels.tolist()) == ([1], [2, 5])
    empty = NeighbourRelevance([0, 0, 0], np.empty(0, dtype=np.int64), 5)
    assert (rows(empty), empty.levels.tolist()) == ([([], []), ([], [])], [1])


def test_from_arrays():
    labels = {"query_labels": np.array([1]), "database_labels": np.array([1, 0, 1])}
    ball = {"indptr": np.array([0, 2]), "indices": np.array([0, 2]), "radius": np.array([0.5])}
    assert rows(relevance_from_arrays(labels, 3)) == rows(relevance_from_arrays(ball, 3)) == [([0, 2], [1, 1])]
    assert rows(relevance_from_arrays(ball | {"levels": np.array([3, 1])}, 3)) == [([0, 2], [3, 1])]
    with refused(r"relevance needs query_labels and database_labels, or indptr and indices, got"):
        relevance_from_arrays({"indptr": ball["indptr"], "radius": ball["radius"]}, 3)
    refuses("3 database items, expected 4", relevance_from_arrays, labels, 4)


@pytest.mark.parametrize(("truth", "other", "is_same"), yaml_of("truth/digests.yaml"))
def test_the_digest_depends_on_relevance_and_not_on_label_names(truth, other, is_same):
    one, two = (LabelRelevance(*labels) for labels in (truth, other))
    assert (ground_truth_sha256(one) == ground_truth_sha256(two)) == (rows(one) == rows(two)) == is_same


def test_the_digest_of_neighbours_counts_positions_levels_and_queries():
    truths = [
        NeighbourRelevance([0, 2, 3], [1, 4, 0], 5),
        NeighbourRelevance([0, 1, 3], [1, 0, 4], 5),
        NeighbourRelevance([0, 2, 3], [1, 4, 0], 6),
        NeighbourRelevance([0, 2, 3], [1, 4, 0], 5, [2, 1, 1]),
    ]
    assert len(set(map(ground_truth_sha256, truths))) == len(truths)
    again = NeighbourRelevance(np.array([0, 2, 3], np.int32), np.array([1, 4, 0], np.int32), 5, [1, 1, 1])
    assert ground_truth_sha256(again) == ground_truth_sha256(truths[0])


SMALL = np.array([3, 0, 5, 3, 1, 5, 5, 0])
"""Labels of 3 queries and 5 database items, which each dtype represents far from 0."""


def at(first, step, dtype):
    """Return labels from `first`, as a list of Python integers or an array; the span is 5 * step."""
    numbers = [first + step * label for label in SMALL.tolist()]
    return numbers if dtype is list else np.array(numbers, dtype=dtype)


def shifted():
    for dtype in ("i1", "i4", "i8", "u1", "u8", ">i8", ">u8"):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        yield from ((low, (high - low) // 5, dtype), (high - 5, 1, dtype))
    yield from ((first, 1, list) for first in (2**53 - 3, 2**63 - 6, 2**63))


@pytest.mark.parametrize(("first", "step", "dtype"), list(shifted()))
def test_labels_of_every_dtype_and_size_are_compared_exactly(first, step, dtype):
    plain, labels = LabelRelevance(SMALL[:3], SMALL[3:]), at(first, step, dtype)
    relevance = LabelRelevance(labels[:3], labels[3:])
    assert rows(relevance) == rows(plain)
    assert ground_truth_sha256(relevance) == ground_truth_sha256(plain)
    np.testing.assert_array_equal(relevance.class_numbers()[1].argsort(), plain.class_numbers()[1].argsort())


@pytest.mark.parametrize(
    ("query", "database"),
    [
        (np.array([2**53 + 1, -1, 2**53]), np.array([2**53, 5], dtype=np.uint64)),
        (np.array([2**63 + 1, 2**64 - 1, 2**63], dtype=np.uint64), np.array([2**63, 1], dtype=np.uint64)),
    ],
)
def test_neighbouring_labels_of_different_dtypes_are_different(query, database):
    assert rows(LabelRelevance(query, database)) == [([], []), ([], []), ([0], [1])]
