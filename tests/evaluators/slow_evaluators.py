"""Every way to evaluate, in plain Python: lists are sorted, and scores are added up rank by rank."""

import itertools
import math
from fractions import Fraction


def score(way, query, database, related):
    """Return the score of a way.

    `query` and `database` are lists of bits; `related(q, d)` is true for a relevant item, or its level.
    """
    variants = dict(way.variants)
    pairs = [[(q, d) for d in range(len(database))] for q in range(len(query))]
    if variants.get("codes") == "transposed":
        query, database = (in_other_order(side) for side in (query, database))
    if variants.get("codes") == "exchanged":
        pairs = [[(q, d) for q in range(len(query))] for d in range(len(database))]
    values, ranked = [], []
    for items in pairs:
        keys = [distance(query[q], database[d], variants.get("distance")) for q, d in items]
        relevant = [int(related(q, d)) for q, d in items]
        if not way.measure.startswith("nDCG"):
            relevant = [r > 0 for r in relevant]
        if variants.get("list") == "with-query":
            keys, relevant = [-1, *keys], [max(1, *relevant), *relevant]
        is_positive = [variants.get("list") != "positive" or 2 * key < len(query[0]) for key in keys]
        relevant = [r * positive for r, positive in zip(relevant, is_positive, strict=True)]
        values.append(of_query(way.measure, variants, keys, relevant))
        ranked.append((keys, relevant))
    if way.measure.startswith("AUPRC[") and not way.measure.endswith("macro]"):
        return area_under_curve(way.measure[6:-1], ranked, variants.get("undefined") == "left-out")
    if variants.get("undefined") == "one":
        values = [1.0 if value is None else value for value in values]
    if variants.get("undefined") in ("left-out", "without-hit") or variants.get("mean") == "ten-more":
        shares = [share_defined(way.measure, variants, *items) for items in ranked]
        pairs = [(value, part) for value, part in zip(values, shares, strict=True) if value is not None]
        total = math.fsum(part for _, part in pairs) + 10 * (variants.get("mean") == "ten-more")
        return math.fsum(value * part for value, part in pairs) / total if total else math.nan
    values = [0.0 if value is None else value for value in values]
    return math.fsum(values) / len(values) if values else math.nan


def area_under_curve(rule, ranked, is_dropping):
    """Return the area under the precision-recall curve over the radius, of all pairs of queries and items."""
    pairs = [pair for keys, relevant in ranked for pair in zip(keys, relevant, strict=True)]
    n_relevant, points = sum(r for _, r in pairs), []
    for radius in range(max(key for key, _ in pairs) + 1):
        inside = [r for key, r in pairs if key <= radius]
        if inside or not is_dropping:
            precision = sum(inside) / len(inside) if inside else 0.0
            points.append((sum(inside) / n_relevant if n_relevant else 0.0, precision))
    if rule == "area":
        points = [(0.0, points[0][1]), *points]
    area = 0.0
    for (recall, precision), (larger, other) in itertools.pairwise(points):
        area += (larger - recall) * (other if rule == "sum" else (precision + other) / 2)
    return area


def in_other_order(matrix):
    """Return the matrix with as many rows whose columns, one after the other, are the rows of `matrix`."""
    values = [value for row in matrix for value in row]
    return [values[row :: len(matrix)] for row in range(len(matrix))]


def distance(one, other, variant):
    n_bits = len(one)
    if variant in ("mixed-bit-order", "bit-order"):
        padded = [[*side, *[0] * (-n_bits % 8)] for side in (one, other)]
        turned = [[side[i - i % 8 + 7 - i % 8] for i in range(len(side))] for side in padded]
        if variant == "mixed-bit-order":
            return distance(turned[0], padded[1], None)
        return distance(turned[0][:n_bits], turned[1][:n_bits], None)  # the bits after the first n_bits are not read
    differing = [a != b for a, b in zip(one, other, strict=True)]
    by_byte = (sum(differing[start : start + 8]) for start in range(0, n_bits, 8))
    match variant:
        case "farthest":
            return n_bits - sum(differing)
        case "saturating":
            return sum(min(n, 7) for n in by_byte)
        case "bytes":
            return sum(n > 0 for n in by_byte)
        case "int8":
            return (2 * sum(differing) + 128) % 256 - 128
        case "packed-signs":
            return sum(differs for bit, differs in enumerate(differing) if bit % 8 not in (0, 7))
    return sum(differing)


def orders(keys, relevant, ties):
    """Return the relevance of the items in rank order, for each order that ties can take."""
    groups = [[i for i in range(len(keys)) if keys[i] == key] for key in sorted(set(keys))]
    match ties:
        case "index":
            lists = [groups]
        case "reversed":
            lists = [[group[::-1] for group in groups]]
        case "best":
            lists = [[sorted(group, key=lambda i: -relevant[i]) for group in groups]]
        case "worst":
            lists = [[sorted(group, key=lambda i: relevant[i]) for group in groups]]
        case _:
            lists = itertools.product(*(list(itertools.permutations(group)) for group in groups))
    return [[relevant[i] for group in groups for i in group] for groups in lists]


def of_query(measure, variants, keys, relevant):
    if measure.startswith("AUPRC"):
        return area_under_curve("area", [(keys, relevant)], True) if any(relevant) else None
    if measure.startswith("mAP@r"):
        inside = [(key, r) for key, r in zip(keys, relevant, strict=True) if key <= int(measure[5:])]
        value = of_query("mAP", variants, [key for key, _ in inside], [r for _, r in inside])
        if variants.get("denominator") == "all":
            return (value or 0) * sum(r for _, r in inside) / sum(relevant) if any(relevant) else None
        return value
    if "@r" in measure:
        measure, _, radius = measure.partition("@r")
        inside = [r for key, r in zip(keys, relevant, strict=True) if key <= int(radius)]
        total = len(inside) if measure == "precision" else sum(relevant)
        return sum(inside) / total if total else None
    if variants.get("ties") == "grouped":
        if not any(relevant):
            return None
        at_end = []
        for key, is_relevant in zip(keys, relevant, strict=True):
            inside = [r for other, r in zip(keys, relevant, strict=True) if other <= key]
            at_end += [sum(inside) / len(inside)] if is_relevant else []
        return math.fsum(at_end) / len(at_end)
    values = [of_list(measure, variants, order) for order in orders(keys, relevant, variants.get("ties"))]
    if None in values and (variants.get("undefined") or variants.get("mean") == "ten-more"):
        values = [value for value in values if value is not None] or [None]
    if all(value is None for value in values):
        return None
    return math.fsum(value or 0 for value in values) / len(values)


def share_defined(measure, variants, keys, relevant):
    """Return the share of the random orders of ties in which a query, if it has a value, has one."""
    if variants.get("ties") != "random" or "@r" in measure:
        return 1
    values = [of_list(measure, variants, order) for order in orders(keys, relevant, "random")]
    return sum(value is not None for value in values) / len(values)


def of_list(measure, variants, ranked):
    if variants.get("list") == "without-first":
        ranked = ranked[1:]
    size, n_relevant = len(ranked), sum(r > 0 for r in ranked)
    measure, _, cutoff = measure.partition("@")
    if cutoff == "R":
        cutoff = n_relevant
    if variants.get("precision") == "by-hits":
        terms = precisions(ranked, size, None)[: int(cutoff or size)]
        return float(sum(terms) / len(terms)) if terms else None
    top = min(int(cutoff), size) if cutoff else size
    if variants.get("list") == "without-last":
        top = size - 1
    cut = int(cutoff) if cutoff else top
    found = sum(ranked[:top])
    if measure == "P":
        return found / cut
    if measure in ("R", "hit", "MRR", "R-precision"):
        return of_relevant(measure, ranked, found) if n_relevant else None
    if measure == "nDCG":
        gains = [level if variants.get("gain") == "linear" else 2**level - 1 for level in ranked]
        best = math.fsum(gain / math.log2(i + 2) for i, gain in enumerate(sorted(gains, reverse=True)[:cut]))
        return math.fsum(gain / math.log2(i + 2) for i, gain in enumerate(gains[:top])) / best if best else None
    total = {"retrieved": found, "min": min(n_relevant, cut), "K": cut}.get(variants.get("denominator"), n_relevant)
    if not total or (variants.get("undefined") == "without-hit" and not found):
        return None
    return float(sum(precisions(ranked, top, variants.get("precision"))) / total)


def of_relevant(measure, ranked, found):
    n_relevant = sum(ranked)
    match measure:
        case "R":
            return found / n_relevant
        case "hit":
            return float(found > 0)
        case "MRR":
            return 1 / (ranked.index(True) + 1)
    return sum(ranked[:n_relevant]) / n_relevant


def precisions(ranked, top, variant):
    """Return the terms of the sum that is divided by the number of relevant items."""
    hits = [rank for rank in range(1, len(ranked) + 1) if ranked[rank - 1]]
    points = [(Fraction(number, rank), number, rank) for number, rank in enumerate(hits, 1)]
    shown = [point for point in points if point[2] <= top]
    match variant:
        case "next-rank":
            return [Fraction(number, rank + 1) for _, number, rank in shown]
        case "without-rank-1":
            return [p for p, _, rank in shown if rank > 1]
        case "trapezoid":
            return [(p + (Fraction(number - 1, rank - 1) if rank > 1 else 1)) / 2 for p, number, rank in shown]
        case "interpolated":
            return [max(p for p, *_ in points[i:]) for i in range(len(points))]
        case "eleven-points":
            best, largest = [], precisions(ranked, top, "interpolated")
            for tenth in range(11):
                reached = [p for p, (_, n, _) in zip(largest, points, strict=True) if 10 * n >= tenth * len(hits)]
                best.append(max(reached))
            return [sum(best) * len(hits) / 11]
    return [p for p, *_ in shown]
