"""Claims about mLGAP, RAMAP and mAP@p that need no data: examples, enumerations and properties."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from formulas import CLAIMS, agrees, every_code, histograms, per_query, random_counts, untied, value

from protocol import codes, registry
from protocol.counting import count
from protocol.truth.relevance import LabelRelevance


def test_worked_example():
    """The factor phi at a radius is the term of mLGAP over precision."""
    counts = replace(histograms([1, 5, 4, 0, 0], [1, 3, 1, 0, 0]), largest_bucket=np.array([[1, 2, 2, 2, 2]]))
    precision = [value(counts, f"precision@r{r}") for r in range(3)]
    terms = np.diff([(r + 1) * value(counts, f"mLGAP@r{r}") for r in range(3)], prepend=0)
    values = {"P": precision, "phi": list(terms / precision)}
    values |= dict.fromkeys(["LGAP@2", "LGAP@2 as a fraction"], value(counts, "mLGAP@r2"))
    agrees("S0-01", values | {"ball volumes": [value(counts, f"lookups@r{r}") for r in range(3)]})


def test_the_uniformity_factor():
    """All balls of 4 bits, with 3 items in each bucket, and with 2 in one of them; all items are relevant."""
    outside = wrong = 0
    query = every_code(4)
    for last in (3, 2):
        database = np.repeat(query, [3] * 15 + [last], axis=0)
        relevance = LabelRelevance(np.zeros(16, int), np.zeros(len(database), int))
        counts = count(query, database, 4, {"all": relevance})["all"]
        phi = np.diff([(r + 1) * per_query(counts, f"mLGAP@r{r}") for r in range(5)], axis=0, prepend=0).T
        outside += ((phi <= 0) | (phi > 1 + 1e-12)).sum()
        holds_last = codes.hamming_distance(query, query[15:]) <= np.arange(5)
        even = (last == 3) | ~holds_last | (np.arange(5) == 0)  # a ball of one code is always even
        wrong += (np.isclose(phi, 1) != even).sum()
    names = "balls with phi outside (0, 1]", "balls with phi = 1 and uneven buckets, or the reverse"
    agrees("S0-02", dict(zip(names, (outside, wrong), strict=True)))


def test_the_order_of_items():
    moved = {"mLGAP@r3": 0, "mAP[database-order]": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        query, database = codes.pack(rng.random((4, 5)) < 0.5), codes.pack(rng.random((60, 5)) < 0.5)
        query_labels, labels = rng.integers(0, 2, 4), rng.integers(0, 2, 60)
        for name in moved:
            both = []
            for order in (np.arange(60), rng.permutation(60)):
                relevance = {"class": LabelRelevance(query_labels, labels[order])}
                both.append(value(count(query, database[order], 5, relevance, index_order=True)["class"], name))
            moved[name] += both[0] != both[1]
    names = (f"reordered databases, of 20, with a different {metric}" for metric in ("mLGAP", "mAP"))
    agrees("S0-03", dict(zip(names, moved.values(), strict=True)))


def test_hand_made_rankings():
    bucket = histograms([10, 0], [5, 0])
    agrees("S0-04", {"best": value(bucket, "mAP[best]"), "worst": value(bucket, "mAP[worst]")})
    assert value(bucket, "mAP") == pytest.approx(0.607165, abs=1e-6)
    first, second = untied("+-+"), untied("-++")
    both = {name: [value(ranking, name) for ranking in (first, second)] for name in ("P@2", "mAP@2[retrieved]")}
    agrees("S0-05", {"P@2": both["P@2"], "AP@2": both["mAP@2[retrieved]"]})
    agrees("S1-02", {signs: value(untied(signs), "mAP@5[retrieved]") for signs in ("+----", "+---+")})
    assert value(untied("+---+"), "mAP@1[retrieved]") == 1  # not monotone
    whole = {n: histograms([59_000] + [0] * n, [5900] + [0] * n) for n in (8, 9)}
    ends = {f"{name} at R = 8": value(whole[8], f"{name}@r8") for name in ("precision", "recall")}
    ends |= {f"{name} at R = 9, same extension": value(whole[9], f"{name}@r9") for name in ("precision", "recall")}
    agrees("S2-04-ends", ends)
    agrees("S2-05", {"RAMAP@0": value(histograms([0, 4], [0, 2]), "RAMAP@r0")})
    two = [histograms([4, 10, 6], [2, 5, 3]), histograms([4, 10, 6], [3, 4, 3])]
    found = {f"{name}@1": [value(counts, f"{name}@r1") for counts in two] for name in ("precision", "recall", "RAMAP")}
    agrees("S2-06", found | {"ball size": two[0].retrieved_within[0, 1]})
    assert found["RAMAP@1"][0] < found["RAMAP@1"][1]


def test_lookups():
    """The codes in the balls of 8 bits; with 48 and 64 bits, a step of the radius multiplies them by ten or more."""
    counts = {n: histograms([1] + [0] * n, [1] + [0] * n) for n in (8, 48, 64)}
    balls = {n: [value(own, f"lookups@r{r}") for r in range(n + 1)] for n, own in counts.items()}
    agrees("S2-01", {"lookups, Q = 8": balls[8]})
    slower = sum(balls[n][r + 1] < 10 * balls[n][r] for n in (48, 64) for r in range(3))
    agrees("S2-09-lookups", {"steps to R = 1, 2, 3 where lookups grow less than tenfold": slower})


def test_gains():
    """An item of each level before one of the highest, from whose nDCG the gain follows."""
    for number, levels in (("S1-03", (0, 1, 2, 3)), ("S3-19", (1, 2, 5, 10))):
        second, highest, gains = 1 / np.log2(3), max(levels), []
        for level in levels:
            relevant = {highest: [[int(level == highest), 1]]} | ({level: [[1, 0]]} if 0 < level < highest else {})
            ndcg = value(histograms([1, 1], relevant), "nDCG")
            gains.append((2**highest - 1) * (ndcg - second) / (1 - second * ndcg))
        agrees(number, {"gains": gains})


def test_proposition_1():
    """A separate class for each of the 8 codes of 3 bits; if each class has two codes, at most half are used."""
    owners = LabelRelevance(np.arange(8), np.arange(8))
    assert value(count(every_code(3), every_code(3), 3, {"class": owners})["class"], "mAP[worst]") == 1
    agrees("S0-06", {"used": 8 / 2**3})
    assert max(used for (n_classes, _), used in most_used_codes(3).items() if n_classes > 1) == 4


def most_used_codes(n_bits):
    """Return the largest number of used codes by the number of classes and a lower bound of their diameters.

    A class has two codes or more, and is farther from the others than it is wide. Sets of codes are integers with a bit
    for each code. Flipping the same bits of all codes keeps all distances, so some class contains code 0.
    """
    n_codes = 2**n_bits
    apart = codes.hamming_distance(every_code(n_bits), every_code(n_bits))
    members = np.array(list(itertools.product((False, True), repeat=n_codes)))[:, ::-1]  # row i is the set i
    farthest = np.zeros(len(members), dtype=int)
    for a, b in itertools.combinations(range(n_codes), 2):
        np.maximum(farthest, apart[a, b] * (members[:, a] & members[:, b]), out=farthest)
    classes = np.flatnonzero((farthest > 0) & (farthest < n_bits))
    nearest = np.stack([np.where(members[classes], apart[code], n_bits + 1).min(axis=1) for code in range(n_codes)])
    around = ((nearest <= farthest[classes]) << np.arange(n_codes)[:, None]).sum(axis=0)
    most = {}

    def add(n, used, fitting, narrowest):
        for position, index in enumerate(fitting):
            rest = fitting[position + 1 :] if n else np.arange(len(classes))
            fits = (classes[rest] & around[index] == 0) & (around[rest] & classes[index] == 0)
            narrow = min(narrowest, farthest[classes[index]])
            size = used + members[classes[index]].sum()
            for wide in range(1, narrow + 1) if n else ():
                most[n + 1, wide] = max(size, most.get((n + 1, wide), 0))
            add(n + 1, size, rest[fits], narrow)

    add(0, 0, np.flatnonzero(members[classes, 0]), n_bits)
    return most


def test_the_largest_number_of_used_codes():
    most = most_used_codes(4)
    assert [most[n, 1] for n in (4, 3, 2)] == [8, 6, 4]
    fewer = sum(most[n, wide] >= most[n + 1, wide] for n, wide in most if (n + 1, wide) in most)
    wider = sum(most[n, wide + 1] >= most[n, wide] for n, wide in most if (n, wide + 1) in most)
    steps = {"one class fewer": fewer, "a larger diameter": wider}
    agrees("X-24", {f"steps to {to} at which the largest code utilisation does not drop": n for to, n in steps.items()})


def test_the_orthodrome():
    path = codes.pack(np.cumsum([np.eye(4, dtype=int)[bit - 1] for bit in (2, 4, 1, 3) * 2], axis=0) % 2)
    steps = np.diag(codes.hamming_distance(path, np.roll(path, 1, axis=0)))
    distinct = len(np.unique(path, axis=0))
    agrees("S0-07", {"length": len(path), "distinct codes on the path": distinct, "bits flipped by a step": steps})


def test_the_training_of_buffer_zones():
    hasher = registry.get("hasher", "buffer_zone")
    factor, periods = hasher.decay
    (one,), (superclass, fine) = hasher.PAPER_ZONES[1], hasher.PAPER_ZONES[2]
    made = hasher()
    values = {"epochs": made.epochs, "batch": made.batch_size, "rate": made.learning_rate, "decay": 1 - factor}
    values |= {"margin over k": made.margin, "epochs between two decays, of 750": 750 / periods}
    agrees("S0-13", values | {"CIFAR-10 zone over k": one, "CIFAR-100 zones over k": [*fine, *superclass]})


def test_the_training_of_deep_squared_hashing():
    sizes = registry.get("split", "cifar10_s1").sizes({}, n_items=60_000, n_classes=10)
    hasher = registry.get("hasher", "deep_squared")
    factor, periods = hasher.decay
    made = hasher()
    values = {"epochs": made.epochs, "batch": made.batch_size, "weight decay": made.weight_decay}
    values |= {"rates": [made.learning_rate, factor * made.learning_rate], "growth of beta": hasher.beta_growth}
    values |= {"queries": sizes["query"], "per class": sizes["query"] / 10, "database": sizes["database"]}
    agrees("S2-08", values | {"train": sizes["train"], "epochs before the rate falls, of 400": 400 / periods})


def test_mlgap_and_ramap():
    below = 0
    for seed, undefined, radius in itertools.product(range(20), ("zero", "drop"), range(5)):
        counts = random_counts(seed, 4)
        mlgap, ramap = (per_query(counts, f"{name}@r{radius}", undefined=undefined) for name in ("mLGAP", "RAMAP"))
        below += ((mlgap < ramap - 1e-15) | (np.isnan(mlgap) != np.isnan(ramap))).sum()
    one = histograms([6, 0, 0], [2, 0, 0])
    difference = value(one, "mLGAP@r2") - value(one, "RAMAP@r2")
    names = "queries and radii with mLGAP below RAMAP", "difference if all items are in one bucket"
    agrees("X-01", dict(zip(names, (below, difference), strict=True)))


def test_distance_and_product():
    """Codes of -1 and +1: the distance follows from the product, the cosine, and the distance of unit vectors."""
    for n_bits in (1, 12, 64):
        bits = np.random.default_rng(n_bits).random((2, 9, n_bits)) < 0.5
        query, database = np.where(bits, 1.0, -1.0)
        distances = codes.hamming_distance(codes.pack(bits[0]), codes.pack(bits[1]))
        unit = ((query[:, None] - database) ** 2).sum(axis=2) / n_bits
        apart = {"distance": n_bits / 4 * unit, "cosine": n_bits / 2 * (1 - query @ database.T / n_bits)}
        differences = {f"largest difference, {name}": np.abs(distances - own).max() for name, own in apart.items()}
        agrees("S1-01", differences)
        wrong = (distances != (n_bits - query @ database.T) / 2).sum()
        agrees("S3-01", {"pairs for which this is false": wrong})


PRECISIONS = (1896, 1651, 1433, 1261)  # of LSH at radius 0 to 3, printed with four digits; 0.1 at radius 8
CASES = [("S2-03-LSH", 8, 0), ("S2-03-LSH_SEs1", 9, 0), ("S2-03-LSH_SEs8", 16, 0), ("S2-03-LSH_DEs1", 9, 1)]


@pytest.mark.parametrize(("number", "n_bits", "shift"), CASES, ids=[case[0] for case in CASES])
def test_ramap_follows_from_the_printed_precisions(number, n_bits, shift):
    """Our value is the nearest one within their rounding; those at radius 4 to 7 lie between those at 3 and 8."""

    def ramap(precisions, radius):
        """Return the mean over the radii of precision over the number of codes in the ball; an empty ball has 0."""
        balls = itertools.accumulate(math.comb(n_bits, r) for r in range(n_bits + 1))
        terms = [p / 10_000 / ball for p, ball in zip([0] * shift + precisions, balls, strict=True)]
        return sum(terms[: radius + 1]) / (radius + 1)

    rest, values = n_bits - 7 - shift, {}
    lowest, highest = [*PRECISIONS, *[1000] * 4, *[1000] * rest], [*PRECISIONS, *[1261] * 4, *[1000] * rest]
    for name, printed in CLAIMS[number].expected.items():
        radius = int(name.removeprefix("R = "))
        reach = 5e-5 * ramap([10_000] * (n_bits + 1 - shift), radius)
        values[name] = np.clip(printed, ramap(lowest, radius) - reach, ramap(highest, radius) + reach)
    agrees(number, values)


def test_extension_codes():
    """60 random rankings at every radius; RAMAP without its penalty is the mean precision over the radii."""
    wrong = dict.fromkeys(["moved", "MAP", "precision", "penalty", "order"], 0)
    for seed in range(60):
        n_bits, s = 2 + seed % 6, 1 + seed % 3
        plain, same, different = (random_counts(seed, n_bits, *of) for of in ((), ("same", s), ("different", s)))
        wrong["moved"] += (different.retrieved[:, s:] != plain.retrieved).sum() + different.retrieved[:, :s].sum()
        wrong["MAP"] += sum(not np.allclose(per_query(c, "mAP"), per_query(plain, "mAP")) for c in (same, different))
        means = np.zeros((2, plain.n_queries))
        for radius in range(n_bits + 1):
            for name in (f"precision@r{radius}", f"recall@r{radius}"):
                wrong["precision"] += (per_query(same, name) != per_query(plain, name)).sum()
            means += [per_query(counts, f"precision@r{radius}") for counts in (plain, same)]
            wrong["penalty"] += (np.abs(means[0] - means[1]) > 1e-12).sum()
            first, second, third = (per_query(c, f"RAMAP@r{radius}") for c in (plain, same, different))
            wrong["order"] += (first < second - 1e-15).sum() + (second < third - 1e-15).sum()
    names = ["distances not moved by s", "unequal MAP", "unequal precision or recall"]
    names += ["unequal RAMAP without its penalty", "RAMAP in the wrong order"]
    agrees("S2-07", dict(zip(names, wrong.values(), strict=True)))
    agrees("X-05", {names[3]: wrong["penalty"]})
