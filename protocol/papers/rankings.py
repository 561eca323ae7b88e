"""Hand-made and random rankings, for claims that require no data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol import codes, metrics
from protocol.counting import HammingCounts, count
from protocol.truth.relevance import LabelRelevance


def histograms(retrieved: ArrayLike, relevant: ArrayLike | Mapping[int, ArrayLike], **more: Any) -> HammingCounts:
    """Return counts of one or more queries from the numbers of items and relevant items at each distance."""
    by_level = relevant if isinstance(relevant, Mapping) else np.atleast_2d(np.asarray(relevant))
    return HammingCounts.from_histograms(np.atleast_2d(np.asarray(retrieved)), by_level, **more)


def untied(signs: str) -> HammingCounts:
    """Return a ranking without ties, such as ``++--+``, with a distance for each rank."""
    return histograms(np.ones(len(signs), dtype=int), [int(sign == "+") for sign in signs])


def value(counts: HammingCounts, name: str, **options: Any) -> float:
    """Return the mean of a metric over the queries."""
    return metrics.mean(metrics.evaluate(counts, [name], **options)[name])


def per_query(counts: HammingCounts, name: str, **options: Any) -> NDArray[np.float64]:
    """Return the value of a metric for each query."""
    return metrics.evaluate(counts, [name], **options)[name]


def every_code(n_bits: int) -> NDArray[np.uint8]:
    """Return all codes of a length, packed."""
    return codes.pack(np.array(list(np.ndindex(*[2] * n_bits))))


def random_codes(
    seed: int, n_bits: int, *, n_queries: int = 4, n_items: int = 30, n_classes: int = 3
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], LabelRelevance]:
    """Return random query and database codes, packed, with the relevance of random labels."""
    rng = np.random.default_rng(seed)
    query, database = codes.pack(rng.random((n_queries, n_bits)) < 0.5), codes.pack(rng.random((n_items, n_bits)) < 0.4)
    labels = LabelRelevance(rng.integers(0, n_classes, n_queries), rng.integers(0, n_classes, n_items))
    return query, database, labels


def random_counts(seed: int, n_bits: int, *, extension: str = "none", extension_bits: int = 0) -> HammingCounts:
    """Return the counts of random codes, or of their extension codes."""
    query, database, labels = random_codes(seed, n_bits)
    extended = codes.extend(query, database, n_bits, extension=extension, extension_bits=extension_bits)
    return count(*extended, {"class": labels})["class"]


def small_ties(most: int, n_distances: int, levels: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield all lists of ties with at most `most` items each; an item is given by its level, and ties are sorted."""
    ties = [list(tie) for n in range(most + 1) for tie in np.ndindex(*[len(levels)] * n) if list(tie) == sorted(tie)]
    for chosen in np.ndindex(*[len(ties)] * n_distances):
        yield [[levels[item] for item in ties[number]] for number in chosen]


def gains(levels: Sequence[int]) -> dict[str, list[float]]:
    """Rank an item of each level before one of the highest, and solve nDCG for its gain, as a share of the highest."""
    second, highest = 1 / np.log2(3), max(levels)
    found = []
    for level in levels:
        relevant = {highest: [[int(level == highest), 1]]} | ({level: [[1, 0]]} if 0 < level < highest else {})
        ndcg = value(histograms([1, 1], relevant), "nDCG")
        found.append((2**highest - 1) * (ndcg - second) / (1 - second * ndcg))
    return {"gains": found}
