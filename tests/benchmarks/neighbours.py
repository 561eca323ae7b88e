r"""Speed, exactness and memory of the search for nearest neighbours compared with its peers, run by hand.

`python tests/benchmarks/neighbours.py` compares with scikit-learn's brute-force search and with faiss where it is
installed, on one core, in turns; the least CPU time of the turns counts.

CPU seconds on one core of a Xeon with AVX-512, k = 100 (scikit-learn 1.9.1):

========================  =====================  =====================
\                         500 x 50,000 x 768     1,000 x 60,000 x 128
========================  =====================  =====================
ours                      1.04                   0.60
ours, cosine              1.19                   0.64
ours, dot                 1.05                   0.59
scikit-learn, brute       0.86                   0.40
========================  =====================  =====================

All lists contain the nearest items, also where vectors are moved by 1,000, but those of the peers end at the k-th item:
of 200 queries among vectors of integers, 2 got every item that is as far as the k-th.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits
from timing import best, say

from protocol.truth import nearest, pair_distances

K = 100


def vectors(n_items: int, d: int, seed: int, *, offset: float = 0.0, whole: bool = False) -> NDArray[np.float32]:
    """Return normal vectors, moved by an offset or rounded to integers, which makes many ties."""
    X = np.random.default_rng(seed).standard_normal((n_items, d), dtype=np.float32)
    return np.round(X) if whole else X + np.float32(offset)


def peers(database: NDArray[np.float32]) -> dict[str, Callable[[NDArray[np.float32]], NDArray]]:
    """Return the searches of other packages: from queries to the rows of their K nearest by Euclidean distance."""
    brute = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=1).fit(database)
    found = {"scikit-learn, brute": lambda query: brute.kneighbors(query, return_distance=False)}
    try:
        import faiss
    except ModuleNotFoundError:
        return found
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(database.shape[1])
    flat.add(database)
    return found | {"faiss, IndexFlatL2": lambda query: flat.search(query, K)[1]}


def speed(n_queries: int, n_database: int, d: int, turns: int) -> None:
    """Print the least CPU time of each contender."""
    query, database = vectors(n_queries, d, seed=1), vectors(n_database, d, seed=2)
    running: dict[str, Callable[[], object]] = {
        f"ours, {distance}": lambda distance=distance: nearest(query, database, K, distance=distance)
        for distance in ("euclidean", "cosine", "dot")
    }
    with threadpool_limits(1):
        running |= {name: lambda search=search: search(query) for name, search in peers(database).items()}
        seconds = best(running, turns)
    say(f"\n{n_queries:,} x {n_database:,} x {d}, k = {K}, one core")
    for name, taken in seconds.items():
        say(f"  {name:24} {taken:7.2f} CPU s   {taken / seconds['ours, euclidean']:5.2f} times ours")


def exactness(n_queries: int = 200, n_database: int = 20_000) -> None:
    """Print for how many queries each list contains the K nearest, by distances in float64, and all ties."""
    say(f"\nqueries of {n_queries} whose list contains the {K} nearest / and every item as far as the last")
    for title, options in {
        "normal": {},
        "moved by 1,000": {"offset": 1000.0},
        "integers": {"whole": True},
    }.items():
        d = 8 if "whole" in options else 64
        query, database = vectors(n_queries, d, 1, **options), vectors(n_database, d, 2, **options)
        rows, columns = np.divmod(np.arange(n_queries * n_database), n_database)
        apart = pair_distances(query, database, rows, columns).reshape(n_queries, n_database)
        kth = np.partition(apart, K - 1, axis=1)[:, [K - 1]]
        found = nearest(query, database, K)
        lists = {"ours": np.split(found.indices, found.indptr[1:-1])}
        with threadpool_limits(1):
            lists |= {name: list(search(query)) for name, search in peers(database).items()}
        for name, listed in lists.items():
            right = [
                np.isin(np.flatnonzero(a < k), own).all() and (a[own] <= k).all()
                for a, k, own in zip(apart, kth, listed, strict=True)
            ]
            ties = [set(np.flatnonzero(a <= k)) == set(own) for a, k, own in zip(apart, kth, listed, strict=True)]
            say(f"  {title:16} {name:24} {sum(right):4} / {sum(ties)}")


if __name__ == "__main__":
    exactness()
    speed(1_000, 100_000, 768, turns=3)
    speed(10_000, 59_000, 512, turns=3)
