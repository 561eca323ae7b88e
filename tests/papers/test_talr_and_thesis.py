"""Claims of TALR and of the thesis that need no data: relaxations, areas, splits, and the tables that they print."""

import itertools

import numpy as np
import pytest
from formulas import CLAIMS, agrees, histograms, per_query, random_counts, untied, value
from scipy.special import expi

from protocol import codes, registry
from protocol.counting import count
from protocol.hashers.talr.objectives import ap_r, ap_s, binary_gains, dcg_r, dcg_s, graded_gains, mean_objective
from protocol.truth import Items
from protocol.truth.relevance import LabelRelevance


def ap_r_as_printed(items, relevant):
    """Return AP_r of eq. 11."""
    before, relevant_before = np.cumsum(items) - items, np.cumsum(relevant) - relevant
    total = np.float64(0)
    for n, m, s, p in zip(*map(np.float64, (items, relevant, before, relevant_before)), strict=True):
        if m > 0:
            slope = (m - 1) / (n - 1)
            total += m * slope + m / n * (p + 1 - slope * (s + 1)) * np.log((s + n) / s)
    return total / relevant.sum()


def dcg_r_as_printed(items, relevant):
    """Return DCG_r of eq. 12 with gain 1."""
    until, filled = np.cumsum(items) + 1, relevant > 0
    integral = expi(np.log(until[filled])) - expi(np.log((until - items)[filled]))  # li(x) = Ei(ln x)
    return np.log(2) * (relevant[filled] / items[filled] * integral).sum()


def test_the_relaxations_as_printed_are_infinite():
    """500 random histograms of five distances; with limits moved by half an item, they are finite."""
    rng, cases = np.random.default_rng(0), []
    while len(cases) < 500:
        items = rng.integers(0, 7, 5)
        relevant = rng.binomial(items, 0.4)
        if 0 < relevant.sum() < items.sum():
            cases.append((items, relevant))
    two_tied = np.array([2, 0]), np.array([1, 0])
    for number, printed, repaired in (("S3-05", ap_r_as_printed, ap_r), ("S3-06", dcg_r_as_printed, dcg_r)):
        with np.errstate(divide="ignore", invalid="ignore"):
            infinite = sum(not np.isfinite(printed(*case)) for case in cases)
            assert np.isinf(printed(*two_tied))
        agrees(number, {"histograms, of 500, for which it is infinite or undefined": infinite})
        for items, relevant in cases:
            relaxed = repaired(relevant[None].astype(float), items[None].astype(float), relevant.sum()[None])
            assert np.isfinite(relaxed.value).all()


def test_the_harmonic_sum():
    """All ties of up to 60 items after up to 60, and some large ones."""
    a, n = (grid.ravel() for grid in np.meshgrid(np.arange(1, 61), np.arange(1, 61)))
    a, n = np.append(a, [100, 10**6 - 50]), np.append(n, [900, 50])
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, 10**6 + 1)))
    error = np.log((a + n) / a) - (harmonic[a + n] - harmonic[a])
    far = np.abs(error - n / (2 * a * (a + n))) > 1 / (12 * a.astype(float) ** 2)
    values = {"ties where the error differs by more than 1 / (12 a^2)": far.sum()}
    agrees("S3-07", values | {"ties where the sum is larger": (error <= 0).sum()})


def test_the_soft_histogram():
    def triangle(distance):  # eq. 14, width 1
        return np.maximum(0, 1 - np.abs(distance[..., None] - np.arange(9.0)))

    query, database = (codes.pack(np.random.default_rng(n).random((n, 8)) < 0.5) for n in (4, 30))
    relevance = LabelRelevance(np.zeros(4, int), np.zeros(30, int))
    counts = count(query, database, 8, {"class": relevance})["class"]
    soft = triangle(codes.hamming_distance(query, database)).sum(axis=1)
    values = {"largest error of the total weight": np.abs(triangle(np.linspace(0, 8, 1000)).sum(axis=1) - 1).max()}
    agrees("S3-13", values | {"largest difference from the hard histogram": np.abs(soft - counts.retrieved).max()})


def cosine_of_gradients(objectives, gains_of, n_bits, size, seed):
    """Return the cosine of two objectives' gradients by the codes of a minibatch around the centres of ten classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, 128)
    batch = np.tanh(size * rng.standard_normal((10, n_bits))[labels] + rng.standard_normal((128, n_bits)))
    shared = (labels[:, None] == labels) & ~np.eye(128, dtype=bool)
    one, other = (mean_objective(batch, *gains_of(shared.astype(np.int64)), of)[1] for of in objectives)
    return (one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum())


def test_the_directions_of_gradients():
    """The mean over three minibatches; with classes apart and 48 bits, little remains to be learned."""
    values = {}
    for name, objectives, gains_of in (("AP", (ap_s, ap_r), binary_gains), ("DCG", (dcg_s, dcg_r), graded_gains)):
        for n_bits, (kind, size) in itertools.product((12, 48), (("that overlap", 0.5), ("apart", 1.0))):
            cosines = [cosine_of_gradients(objectives, gains_of, n_bits, size, seed) for seed in range(3)]
            values[f"{name}, {n_bits} bits, classes {kind}: 1 - cosine"] = 1 - np.mean(cosines)
    agrees("X-11", values)


def test_the_numbers_of_a_query():
    values = {}
    for n_bits, n_levels, n_items in itertools.product((16, 64), (1, 3), (1000, 20_000)):
        rng = np.random.default_rng(0)
        query, database = codes.pack(rng.random((4, n_bits)) < 0.5), codes.pack(rng.random((n_items, n_bits)) < 0.5)
        relevance = LabelRelevance(np.ones((4, n_levels), dtype=bool), rng.random((n_items, n_levels)) < 0.5)
        counts = count(query, database, n_bits, {"class": relevance}, buckets=False)["class"]
        numbers = (counts.retrieved.size + counts.at_level.size) // len(query)
        values.setdefault(f"{n_bits} bits, {n_levels} levels", []).append(numbers)
    agrees("S3-21-counts", values)


def test_the_sizes_of_the_splits():
    def thousands(name, *parts):
        protocol = registry.get("split", name)
        sizes = protocol.sizes({}, n_items=protocol.n_items, n_classes=protocol.n_classes)
        return [{**sizes, "all": protocol.n_items}[part] / 1000 for part in parts]

    values = {"CIFAR-10 S1, thousands": thousands("cifar10_s1", "query", "database", "train")}
    values["CIFAR-10 S2, thousands"] = thousands("cifar10_s2", "query", "database")
    values["NUS-WIDE, thousands"] = thousands("nuswide_21", "all", "query", "train")
    values["LabelMe, thousands"] = thousands("labelme_2k", "query", "database", "train")
    values["ImageNet100 train, thousands"] = thousands("imagenet100", "train")
    agrees("S3-22", values)


def printed(number, part=""):
    """Return a table that TALR prints, or a part of it: the values by code length of each method."""
    start, rows = f"{part}, " * bool(part), CLAIMS[number].expected
    return {name.removeprefix(start): np.array(row) for name, row in rows.items() if name.startswith(start)}


def best_of(table, *, without=()):
    return np.max([row for name, row in table.items() if name not in without], axis=0)


def test_what_the_printed_tables_show():
    table, values = printed("S3-16"), {}
    for method in ("MIHash", "HashNet"):
        gains = table["TALR-AP"] - table[method]
        for n_bits, gain in zip((16, 32), gains[:2], strict=True):
            name = f"{method}, {n_bits} bits: largest improvement with 48 or 64 bits minus this one"
            values[name] = max(gains[2:]) - gain
    agrees("X-18", values)
    parts = {part: printed("S3-15", part) for part in ("CIFAR-10 S1", "NUS-WIDE", "CIFAR-10 S2", "NUS-WIDE AP@5K")}
    above, margins = {}, {}
    for part, rows in parts.items():
        third = best_of(rows, without=("MIHash", "TALR-AP")) > rows["MIHash"]
        above[f"{part}, code lengths where a third method is above MIHash"] = third.sum()
        margin = rows["TALR-AP"] - best_of(rows, without=("TALR-AP", "StructHash", "MIHash"))
        margins[f"{part}: 0.01 minus the smallest margin"] = max(0.01 - margin)
    agrees("X-19", above)
    agrees("X-20", margins)
    both = {"NUS-WIDE": printed("S3-17"), "LabelMe": printed("S3-18")}
    beaten = {name: (best_of(rows, without=["TALR-NDCG"]) >= rows["TALR-NDCG"]).sum() for name, rows in both.items()}
    agrees("X-21", {f"{name}, code lengths where another method is not below": n for name, n in beaten.items()})
    ranks = {
        name: {method: np.sum([row > own for row in rows.values()], axis=0) + 1 for method, own in rows.items()}
        for name, rows in both.items()
    }
    labelme, nus_wide = ranks["LabelMe"], ranks["NUS-WIDE"]
    loses_none = (labelme["DPSH"] <= nus_wide["DPSH"]) | (labelme["DTSH"] <= nus_wide["DTSH"])
    third = np.maximum(labelme["StructHash"], labelme["MIHash"]) > 3
    names = "where a third method is above StructHash or MIHash", "where DPSH or DTSH loses no ranks against NUS-WIDE"
    agrees("X-22", dict(zip([f"code lengths {name}" for name in names], [third.sum(), loses_none.sum()], strict=True)))


def test_a_ranking_of_the_figure():
    """All rankings of up to six images, divided by their relevant images."""
    rankings = ["".join(signs) for n in range(1, 7) for signs in itertools.product("+-", repeat=n) if "+" in signs]
    scores = [value(untied(signs), "mAP") for signs in rankings]
    agrees("S4-02", {"AP nearest to 0.87": min(scores, key=lambda score: abs(score - 0.87))})


def test_the_f_measure():
    """3 true positives, 1 false positive and 2 false negatives; then random codes at every radius, pooled or not."""
    pooled = histograms([[1, 3, 0], [3, 1, 0]], [[1, 1, 0], [2, 1, 0]])
    agrees("S4-03", {"micro F1": value(pooled, "F1@r0[micro]")})
    assert [value(pooled, f"F{beta}@r0[micro]") for beta in ("0.01", "100")] == pytest.approx([0.75, 0.6], abs=1e-4)
    betas, differing, wrong = ("0.01", "0.5", "1", "2", "100"), 0, 0
    for seed, radius, average in itertools.product(range(5), range(5), ("", "[micro]")):
        counts = random_counts(seed, 4)
        p, r = (per_query(counts, f"{name}@r{radius}{average}") for name in ("precision", "recall"))
        scores = np.array([per_query(counts, f"F{beta}@r{radius}{average}") for beta in betas])
        defined = (p > 0) & (r > 0)
        for beta, values in zip(map(float, betas), scores, strict=True):
            expected = (1 + beta**2) * p * r / np.where(defined, beta**2 * p + r, 1)
            differing += (~np.isclose(values, expected, rtol=1e-12)).sum()
        wrong += (np.sign(p - r) * np.diff(scores, axis=0) > 1e-15)[:, defined].sum()
    names = "values where the forms differ", "steps of beta in the wrong direction"
    agrees("S4-04", dict(zip(names, (differing, wrong), strict=True)))


def test_areas_under_the_curve():
    ideal = histograms([5, 0, 7], [5, 0, 0])  # relevant items at distance 0, others farther away
    agrees("S4-05", {"AUPRC of the ideal ranking": value(ideal, "AUPRC[sum]")})
    assert [value(ideal, f"AUPRC[{rule}]") for rule in ("trapezoid", "area")] == [0, 1]
    one_each = histograms([[1, 1, 0, 0], [0, 0, 1, 1]], [[1, 0, 0, 0], [0, 0, 1, 0]])
    assert value(one_each, "mAP") == 1
    difference = value(one_each, "mAP") - value(one_each, "AUPRC[sum]")
    agrees("S4-06", {"mAP minus AUPRC, one relevant item per query": difference})
    assert value(one_each, "AUPRC[area]") == pytest.approx(0.7917, abs=5e-5)
    n_relevant, ranks = np.array([[50], [2]]), np.arange(100)
    first, last = ranks < n_relevant, ranks >= 100 - n_relevant
    models = [np.where([[which], [not which]], first, last).astype(int) for which in (True, False)]
    both = [histograms(np.ones((2, 100), dtype=int), relevant) for relevant in models]
    areas, maps = ([value(counts, name) for counts in both] for name in ("AUPRC[area]", "mAP"))
    names = "AUPRC of the other model minus that of this model", "mAP of this model minus that of the other"
    agrees("X-23", dict(zip(names, (areas[1] - areas[0], maps[0] - maps[1]), strict=True)))


def test_the_radius_of_an_epsilon_ball():
    """The neighbours of 500 points among 2,000, half of them in a dense cluster."""
    spread = np.where(np.arange(4500) % 2, 1.0, 4.0)[:, None]
    points = (spread * np.random.default_rng(0).standard_normal((4500, 8))).astype(np.float32)
    parts = [Items(part, None) for part in np.split(points, [500, 2500])]
    build, options = registry.get("ground_truth", "epsilon_ball"), {"n_neighbours": 50, "n_sample": 100}
    readings = ("average_count", "mean_distance")
    balls = {reading: np.diff(build(*parts, **options, reading=reading)["indptr"]) for reading in readings}
    agrees("S4-08", {"neighbours on average": balls["average_count"].mean()})
    assert balls["mean_distance"].mean() > 60  # the other reading
    assert (balls["average_count"] == 0).any()


def test_the_splits_of_the_thesis():
    """Ten runs of each protocol on 2,000 items of ten classes."""
    y, parts = np.arange(2000) % 10, ("query", "database", "validation_query", "validation_database", "train")
    sizes = {"query": 100, "validation_query": 50, "validation_database": 200, "train": 300}
    standard, improved = (
        [registry.get("split", name).split(2000, y, seed=run, sizes=sizes) for run in range(10)]
        for name in ("standard", "improved")
    )

    def shared(run, a, b):
        return np.intersect1d(run[a], run[b]).size

    values = {"items in both queries and database": sum(shared(run, "query", "database") for run in standard)}
    neither = sum(2000 - np.union1d(run["query"], run["database"]).size for run in standard)
    outside = sum(np.setdiff1d(run[name], run["database"]).size for run in standard for name in parts[2:])
    values |= {"items in neither": neither, "drawn items outside the database": outside}
    agrees("S4-09", values | {"different runs": len({run["query"].tobytes() for run in standard})})
    overlaps = sum(shared(run, a, b) for run in improved for a, b in itertools.combinations(parts, 2))
    unbalanced = sum(np.ptp(np.bincount(run[name] % 10, minlength=10)) > 0 for run in improved for name in sizes)
    agrees("S4-10", {"items in two partitions": overlaps, "drawn partitions with unbalanced classes": unbalanced})
