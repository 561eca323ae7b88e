"""Compare `evaluate` with definitions in plain Python on random cases.

Cases vary in the dtype and size of labels, in the form and packing of codes, in ties, in cutoffs at and next to the end
of a group of ties, in queries without relevant items, and in the ranking (Hamming or asymmetric).
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from protocol import Codes, Outputs, evaluate

DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8")
FORMS = ("bool", "signs", "floats", "little", "big", "big-128")
TOLERANCE = 1e-12


def labels_of(rng, numbers):
    """Return small labels as far integers of a dtype, as Python integers, or as strings."""
    form = rng.choice([*DTYPES, "list", "str"])
    if form == "str":
        return [np.array([f"class {n}" for n in own]) for own in numbers]
    if form == "list":
        first = 2 ** int(rng.choice([31, 53])) - int(rng.integers(0, 8))
        return [[first + int(n) for n in own] for own in numbers]
    low, high, step = np.iinfo(form).min, np.iinfo(form).max, int(rng.choice([1, 2, 17]))
    first = low if rng.random() < 0.5 else high - 7 * step
    return [np.array([first + step * int(n) for n in own], dtype=form) for own in numbers]


def codes_of(bits, form):
    """Return codes in a form."""
    if form == "bool":
        return bits
    if form in ("signs", "floats"):
        return np.where(bits, 1, -1).astype(np.int8 if form == "signs" else np.float32)
    packed = np.packbits(bits, axis=1, bitorder="little" if form == "little" else "big")
    if form == "big-128":
        packed = (packed.astype(np.int16) - 128).astype(np.int8)
    return Codes(packed, bits.shape[1], form)


def groups_of(keys, levels):
    """Return the levels of the items in each group of ties, the nearest group first."""
    ordered = sorted(zip(keys, levels, strict=True))
    return [[level for _, level in own] for _, own in itertools.groupby(ordered, key=lambda item: item[0])]


def positions(groups):
    """Yield for each rank, from 1: its group, the items and relevant items before the group, and the rank within it."""
    before = found = 0
    for group in groups:
        for within in range(1, len(group) + 1):
            yield before + within, group, found, within
        before, found = before + len(group), found + sum(level > 0 for level in group)


def average_precision(groups, cutoff, divisor):
    """Return the expected AP over all orders of ties, or None if it is undefined."""
    total = Fraction(0)
    for rank, group, found, within in positions(groups):
        n, m = len(group), sum(level > 0 for level in group)
        if rank <= cutoff and m:
            others = Fraction((within - 1) * (m - 1), n - 1) if n > 1 else 0
            total += Fraction(m, n) * (found + 1 + others) / rank
    return total / divisor if divisor else None


def of_one_order(groups, cutoff, divisor, *, best):
    order = [level > 0 for group in groups for level in sorted(group, key=lambda level: (level > 0) != best)]
    hits = [rank for rank, hit in enumerate(order, 1) if hit]
    return sum(Fraction(i, rank) for i, rank in enumerate(hits, 1) if rank <= cutoff) / divisor if divisor else None


def found_at(groups, cutoff):
    """Return the expected number of relevant items among the first."""
    own = positions(groups)
    return sum(Fraction(sum(level > 0 for level in group), len(group)) for rank, group, *_ in own if rank <= cutoff)


def first_hit(groups):
    """Return the probability of each rank to be that of the first relevant item."""
    chances, none_before = {}, Fraction(1)
    for rank, group, found, within in positions(groups):
        m = 0 if found else sum(level > 0 for level in group)
        chances[rank] = none_before * Fraction(m, len(group) - within + 1) if none_before else 0
        none_before -= chances[rank]
    return chances


def ndcg(groups, cutoff):
    """Return the expected nDCG over all orders of ties, with the best order of the database as ideal."""
    own = [(rank, sum(2**level - 1 for level in group) / len(group)) for rank, group, *_ in positions(groups)]
    best = sorted((2**level - 1 for group in groups for level in group), reverse=True)
    ideal = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1) if rank <= cutoff)
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in own if rank <= cutoff) / ideal if ideal else None


def expected(groups, n_bits, cutoffs, distances):
    """Return the value of each metric for a query; None where it is undefined."""
    levels = [level for group in groups for level in group]
    n, m = len(levels), sum(level > 0 for level in levels)
    values = {
        "mAP": average_precision(groups, n, m),
        "mAP[best]": of_one_order(groups, n, m, best=True),
        "mAP[worst]": of_one_order(groups, n, m, best=False),
        "mAP@R": average_precision(groups, m, m),
        "R-precision": found_at(groups, m) / m if m else None,
        "MRR": sum(chance / rank for rank, chance in first_hit(groups).items()) if m else None,
    }
    for k in cutoffs:
        values[f"mAP@{k}[all]"] = average_precision(groups, k, m)
        values[f"mAP@{k}[min]"] = average_precision(groups, k, min(m, k))
        values[f"P@{k}"] = found_at(groups, k) / min(k, n)
        values[f"R@{k}"] = found_at(groups, k) / m if m else None
        values[f"nDCG@{k}"] = ndcg(groups, k)
        values[f"hit@{k}"] = sum(chance for rank, chance in first_hit(groups).items() if rank <= k) if m else None
    for radius in range(n_bits + 1) if distances else ():
        ball = [level > 0 for distance, level in distances if distance <= radius]
        values[f"precision@r{radius}"] = Fraction(sum(ball), len(ball)) if ball else None
        values[f"recall@r{radius}"] = Fraction(sum(ball), m) if m else None
        values[f"mAP@r{radius}"] = average_precision(groups, len(ball), sum(ball))
    return values


def check(seed):
    """Return the number of compared values in the case of a seed; raise AssertionError if one is wrong."""
    rng = np.random.default_rng(seed)
    n_bits, n_queries, n_items = int(rng.integers(1, 20)), int(rng.integers(1, 5)), int(rng.integers(1, 40))
    bits = rng.random((n_queries + n_items, n_bits)) < rng.random()
    asymmetric = rng.random() < 0.3
    if rng.random() < 0.25:
        several = rng.random((n_queries + n_items, 3)) < 0.5
        several[[0, n_queries]] = True
        sides = [several[:n_queries], several[n_queries:]]
        shared = sides[0].astype(int) @ sides[1].T.astype(int)
    else:
        numbers = rng.integers(0, rng.integers(1, 8), n_queries + n_items)
        numbers[0] = numbers[n_queries]  # one query has a relevant item
        shared = (numbers[:n_queries, None] == numbers[n_queries:]).astype(int)
        sides = labels_of(rng, (numbers[:n_queries], numbers[n_queries:]))
    form = "bool" if asymmetric else rng.choice(FORMS)
    query, database = (codes_of(own, form) for own in (bits[:n_queries], bits[n_queries:]))
    keys = (bits[:n_queries, None] != bits[n_queries:]).sum(axis=2)
    if asymmetric:
        outputs = rng.integers(-3, 4, (n_queries, n_bits)) / 2 + 0.25
        query, keys = Outputs(outputs), -(outputs @ np.where(database, 1, -1).T)  # exact: multiples of a quarter
    groups = [groups_of(*own) for own in zip(keys.tolist(), shared.tolist(), strict=True)]
    ends = np.cumsum([len(group) for group in groups[rng.integers(n_queries)]])
    cutoffs = sorted({max(1, int(end) + int(rng.integers(-1, 2))) for end in rng.choice(ends, 3)} | {int(ends[0])})
    by_query = [
        expected(own, n_bits, cutoffs, None if asymmetric else list(zip(distances, levels, strict=True)))
        for own, distances, levels in zip(groups, keys.tolist(), shared.tolist(), strict=True)
    ]
    names = list(by_query[0])
    found = evaluate(query, database, query_labels=sides[0], database_labels=sides[1], metrics=names)
    for name, (at, values) in itertools.product(names, enumerate(by_query)):
        exact = float(values[name] or 0)
        got = found.per_query[name][at]
        assert abs(got - exact) <= TOLERANCE, f"seed {seed}: {name} of query {at}: {got!r}, by definition {exact!r}"
    undefined = {name: sum(values[name] is None for values in by_query) for name in names}
    assert {name: found.n_undefined.get(name, 0) for name in names} == undefined, f"seed {seed}: undefined"
    return len(names) * n_queries
