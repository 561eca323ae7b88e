"""Claims of *Learning to Hash for Large Scale Image Retrieval*, chapter 3."""

import itertools

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.codes import hamming_distance
from protocol.counting import HammingCounts, bucket_search
from protocol.papers.claim import AS_PRINTED, Evidence, Values
from protocol.papers.rankings import every_code, histograms, per_query, random_counts, untied, value
from protocol.truth import Items
from protocol.truth.relevance import LabelRelevance

_PARTITIONS = ("query", "database", "validation_query", "validation_database", "train")
_SIZES = {"query": 100, "validation_query": 50, "validation_database": 200, "train": 300}


def toy_ranking() -> Values:
    """Score all rankings of up to six images, divided by their relevant images; show those that round to 0.87."""
    rankings = ["".join(signs) for n in range(1, 7) for signs in itertools.product("+-", repeat=n) if "+" in signs]
    scores = {signs: value(untied(signs), "mAP") for signs in rankings}
    fitting = [signs for signs, score in scores.items() if abs(score - 0.87) <= 5e-3]
    return {
        "AP nearest to 0.87": min(scores.values(), key=lambda score: abs(score - 0.87)),
        "rankings that fit": " ".join(sorted(fitting)) or "none",
        "rankings": len(rankings),
    }


def f_measure() -> Values:
    """Score random codes of 4 bits at every radius, per query and pooled, with beta from 0.01 to 100."""
    betas, differing, wrong = ("0.01", "0.5", "1", "2", "100"), 0, 0
    for counts, radius, average in itertools.product(
        [random_counts(seed, 4) for seed in range(5)], range(5), ("", "_micro")
    ):
        p, r = (per_query(counts, f"{name}{average}@r{radius}") for name in ("precision", "recall"))
        scores = np.array([per_query(counts, f"F{beta}{average}@r{radius}") for beta in betas])
        found = (p > 0) & (r > 0)
        for beta, values in zip(map(float, betas), scores, strict=True):
            expected = (1 + beta**2) * p * r / np.where(found, beta**2 * p + r, 1)
            differing += int((~np.isclose(values, expected, rtol=1e-12)).sum())
        wrong += int((np.sign(p - r) * np.diff(scores, axis=0) > 1e-15)[:, found].sum())
    return {"values where the forms differ": differing, "steps of beta in the wrong direction": wrong}


def ideal_curve() -> Evidence:
    """Score five relevant items with the query's code and seven others farther away, by every rule."""
    counts = histograms([5, 0, 7], [5, 0, 0])
    areas = {
        AS_PRINTED: value(counts, "AUPRC[sum]"),
        "trapezoids, as in the footnote": value(counts, "AUPRC[trapezoid]"),
        "trapezoids from recall 0": value(counts, "AUPRC[area]"),
        "the sum from radius 0": _sum_from_0(counts),
    }
    return Evidence({rule: {"AUPRC of the ideal ranking": area} for rule, area in areas.items()})


def _sum_from_0(counts: HammingCounts) -> float:
    at_0 = value(counts, "precision_micro@r0") * value(counts, "recall_micro@r0")
    return value(counts, "AUPRC[sum]") + at_0


def area_and_map() -> Evidence:
    """Score the example by mAP and by every rule for the area."""
    counts = histograms([[1, 1, 0, 0], [0, 0, 1, 1]], [[1, 0, 0, 0], [0, 0, 1, 0]])
    areas = {
        AS_PRINTED: value(counts, "AUPRC[sum]"),
        "the sum from radius 0": _sum_from_0(counts),
        "trapezoids from recall 0": value(counts, "AUPRC[area]"),
    }
    mean_ap = value(counts, "mAP")
    return Evidence(
        {
            rule: {"mAP minus AUPRC, one relevant item per query": mean_ap - area, "mAP": mean_ap, "AUPRC": area}
            for rule, area in areas.items()
        }
    )


def favoured_queries() -> Values:
    """Score the example, with one item at each distance, by mAP and by AUPRC with trapezoids from recall 0."""
    n_relevant, ranks = np.array([[50], [2]]), np.arange(100)
    first, last = ranks < n_relevant, ranks >= 100 - n_relevant
    models = [np.where([[which], [not which]], first, last).astype(int) for which in (True, False)]
    both = [histograms(np.ones((2, 100), dtype=int), relevant) for relevant in models]
    areas, maps = ([value(counts, name) for counts in both] for name in ("AUPRC[area]", "mAP"))
    return {
        "AUPRC of the other model minus that of this model": areas[1] - areas[0],
        "mAP of this model minus that of the other": maps[0] - maps[1],
        "AUPRC[area]": areas,
        "mAP": maps,
    }


def sure_collisions() -> Values:
    """Search for all 6-bit codes, and find the largest radius within which all of them are found."""
    database = every_code(6)
    query = database[:1]
    distances = hamming_distance(query, database)[0]

    def all_found(radius: int, n_tables: int) -> bool:
        near = LabelRelevance(np.array([1]), (distances <= radius).astype(int))
        found = bucket_search(query, database, 6, near, bits_per_table=6 // n_tables, n_tables=n_tables)
        return bool((found.true_positives == found.relevant).all())

    return {
        f"L {n_tables}, K {6 // n_tables}": max(radius for radius in range(7) if all_found(radius, n_tables))
        for n_tables in (6, 3, 2, 1)
    }


def epsilon() -> Evidence:
    """Count the neighbours of 500 points among 2,000, half of them in a dense cluster, under both readings."""
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(4500) % 2, 1.0, 4.0)[:, None]
    points = (spread * rng.standard_normal((4500, 8))).astype(np.float32)
    parts = [Items(part, None) for part in np.split(points, [500, 2500])]
    values = {}
    for name, reading in (("one radius", "average_count"), ("mean distance to the 50th neighbour", "mean_distance")):
        ball = registry.get("ground_truth", "epsilon_ball")(*parts, n_neighbours=50, n_sample=100, reading=reading)
        neighbours = np.diff(ball["indptr"])
        values[name] = {
            "neighbours on average": neighbours.mean(),
            "share of queries without neighbours": (neighbours == 0).mean(),
        }
    return Evidence(values)


def _drawn(protocol: str) -> list[dict[str, NDArray[np.int64]]]:
    """Return ten runs of a split protocol on 2,000 items of ten classes."""
    y = np.arange(2000) % 10
    return [registry.get("split", protocol).split(2000, y, seed=run, sizes=_SIZES) for run in range(10)]


def _shared(parts: dict[str, NDArray[np.int64]], pairs: list[tuple[str, str]]) -> int:
    return sum(np.intersect1d(parts[a], parts[b]).size for a, b in pairs)


def standard_split() -> Values:
    """Draw ten runs of the protocol `standard` on 2,000 items."""
    runs = _drawn("standard")
    inner = _PARTITIONS[2:]
    return {
        "items in both queries and database": sum(_shared(parts, [("query", "database")]) for parts in runs),
        "items in neither": sum(2000 - np.union1d(parts["query"], parts["database"]).size for parts in runs),
        "drawn items outside the database": sum(
            np.setdiff1d(parts[name], parts["database"]).size for parts in runs for name in inner
        ),
        "different runs": len({parts["query"].tobytes() for parts in runs}),
    }


def improved_split() -> Values:
    """Draw ten runs of the protocol `improved` on 2,000 items of ten classes."""
    runs = _drawn("improved")
    return {
        "items in two partitions": sum(_shared(parts, list(itertools.combinations(_PARTITIONS, 2))) for parts in runs),
        "drawn partitions with unbalanced classes": sum(
            int(np.ptp(np.bincount(parts[name] % 10, minlength=10)) > 0) for parts in runs for name in _SIZES
        ),
    }


def micro_and_macro() -> Values:
    """Score random codes of 4 bits: pooled values at every radius, and mAP@K[retrieved] of each query separately."""
    differing = apart = 0
    for counts in [random_counts(seed, 4) for seed in range(5)]:
        for radius in range(5):
            found, size = counts.relevant_within[:, radius].sum(), counts.retrieved_within[:, radius].sum()
            differing += value(counts, f"precision_micro@r{radius}") != found / max(size, 1)
            differing += value(counts, f"recall_micro@r{radius}") != found / counts.n_relevant.sum()
        alone = [histograms(counts.retrieved[[q]], counts.relevant[[q]]) for q in range(counts.n_queries)]
        for k in (1, 5, 30):
            macro = np.mean([value(of_query, f"mAP@{k}[retrieved]") for of_query in alone])
            apart += not np.isclose(value(counts, f"mAP@{k}[retrieved]"), macro, rtol=1e-12)
    return {
        "values that differ from sums over the queries": int(differing),
        "mAP values that differ from the mean over the queries": int(apart),
    }
