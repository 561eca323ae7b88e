"""What several tests measure or compute plainly: memory, distances, sets of nearest items, Holm's tests, counts."""

import itertools
import tracemalloc

import numpy as np


def peak_memory(call):
    """Return what a function returns, and the largest number of bytes that it took."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def all_distances(query, database, distance):
    """Return the stated formula for all pairs, by broadcasting."""
    A, B = (X.astype(np.float64) for X in (query, database))
    if distance == "cosine" and query.dtype == np.float64:
        A, B = (np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1]) for X in (A, B))
    A, B = A[:, None], B[None]
    if distance == "euclidean":
        return np.sqrt(((A - B) ** 2).sum(axis=2))
    if distance == "dot":
        return -(A * B).sum(axis=2)
    return 1 - (A * B).sum(axis=2) / np.sqrt((A * A).sum(axis=2) * (B * B).sum(axis=2))


def rejected_by_steps(p, level):
    """Holm's procedure as he wrote it: the smallest p against level / m, the next against level / (m - 1), ..."""
    rejected = set()
    for step, which in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[which] > level / (len(p) - step):
            break
        rejected.add(which)
    return rejected


def assert_same_counts(found, expected):
    """Check that two counts have the same arrays."""
    arrays, others = found.to_arrays(), expected.to_arrays()
    assert arrays.keys() == others.keys()
    for name, array in others.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def sets_of_nearest(distance, k):
    """Return all sets of the k nearest items."""
    kth = np.sort(distance)[k - 1]
    sure, tied = np.flatnonzero(distance < kth).tolist(), np.flatnonzero(distance == kth).tolist()
    return [{*sure, *more} for more in itertools.combinations(tied, k - len(sure))]
