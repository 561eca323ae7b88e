"""Ways to evaluate, a measure with the variants by which evaluators differ from the standard, and the scores of all."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.counting import HammingCounts, LabelRelevance, Relevance
from protocol.counting.counts import Floats, Integers
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.progress import Progress, stage
from protocol.evaluators.rankings import RADII, WHOLE, Case, Sums, gains_of, of_codes, of_values, ranked, without_own
from protocol.registry.records import read_toml
from protocol.scores.tables import filled

PACKAGE_DATA = "*.toml"
_DECLARED, TEXTS = (read_toml(Path(__file__).with_name(name)) for name in ("variants.toml", "texts.toml"))
CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000)
_ORDERS = ("", "best", "worst")
_LIGHT = 1
"""Rarer distances and ground truths are not combined with faults in how the list is read."""
_OF_RADIUS, _OF_CUTOFF = ("precision", "recall"), ("mAP", "nDCG", "P", "R", "hit")
_CURVES = ("AUPRC[area]", "AUPRC[trapezoid]", "AUPRC[sum]", "AUPRC[area,macro]")
_WITHOUT_HIT = ("undefined", "without-hit")
_DROPPING = frozenset({("undefined", "left-out"), _WITHOUT_HIT, ("mean", "ten-more")})

Pair = Floats
"""The value of each query, (2, n_queries): undefined ones are 0 in the first row, and NaN in the second."""


class Variant(NamedTuple):
    """One thing that evaluators do differently from the standard; an evaluation has at most one of each family.

    Parameters
    ----------
    text : str
        What is computed differently.
    weight : int
        1 for a convention of many tools, 2 for a rarer one or a fault of several tools, 3 for a fault of one tool.
    sources : tuple of str
        Where it is found.
    """

    text: str
    weight: int
    sources: tuple[str, ...] = ()


_COMMON = ("", "mAP", "precision", "recall", "nDCG")
VARIANTS = {
    (family, name): Variant(**record) for family, of_family in _DECLARED.items() for name, record in of_family.items()
}
"""Every variant by family and name, as declared in ``variants.toml``."""


class Way(NamedTuple):
    """A way to compute a score: a measure, and what differs from the standard, by family and name."""

    measure: str
    variants: tuple[tuple[str, str], ...]

    @property
    def family(self) -> str:
        """The measure without its cutoff or radius, by its long name."""
        name = re.split(r"[@_[]", self.measure)[0]
        return {"P": "precision", "R": "recall"}.get(name, name)

    @property
    def weight(self) -> int:
        """The sum of the weights of the variants, and of one for a measure that seldom goes by the name of another."""
        return sum(VARIANTS[variant].weight for variant in self.variants) + (self.family not in _COMMON)

    @property
    def text(self) -> str:
        """The variants in words."""
        return "; ".join(VARIANTS[variant].text for variant in self.variants) or "the standard"

    @property
    def names(self) -> str:
        """The names of the variants."""
        return ", ".join(map(" ".join, self.variants)) or "nothing"

    def but(self, measure: str = "", **names: str) -> "Way":
        """Return the way with another measure, or with variants of other families; an empty name is the standard."""
        added = ((family, name) for family, name in names.items() if name)
        return Way(measure or self.measure, (*self.variants, *added))

    def without(self, variant: tuple[str, str]) -> "Way":
        """Return the way without a variant."""
        return self._replace(variants=tuple(other for other in self.variants if other != variant))

    def record(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"measure": self.measure, "variants": dict(self.variants), "text": self.text, "weight": self.weight}


def meanings(ways: Iterable[Way]) -> str:
    """Return what the variants of ways mean, with their sources, a paragraph each."""
    used = dict.fromkeys(variant for way in ways for variant in way.variants)
    sources = {variant: f" ({'; '.join(VARIANTS[variant].sources)})".replace(" ()", "") for variant in used}
    return "\n".join(filled(f"{' '.join(one)}: {VARIANTS[one].text}{source}.") for one, source in sources.items())


STANDARD = Way("mAP", ())
OWN = ("database", "without-own")


def cases_of(pair: CodePair, relevance: Relevance, outputs: Sequence[NDArray] | None = None) -> dict[Way, Case]:
    """Return what evaluators rank, by what differs from the standard; `outputs` are the values of binarised codes."""
    plain, (query, database, n_bits, *_) = Way("", ()), pair
    distances = of_codes(query, database, n_bits) | (of_values(*outputs) if outputs else {})
    cases: dict[Way, Case] = {plain.but(distance=name): (one, relevance) for name, one in distances.items()}
    has_same_labels = not isinstance(relevance, LabelRelevance) or np.array_equal(*relevance.labels)
    if len(query) > 1 and np.array_equal(query, database) and has_same_labels:
        cases[plain.but(database="without-own")] = without_own(distances[""], relevance)
    q, d = (codes.pack(codes.unpack(side, n_bits).reshape(n_bits, -1).T) for side in (query, database))
    cases[plain.but(codes="transposed")] = of_codes(q, d, n_bits)[""], relevance
    if isinstance(relevance, LabelRelevance):
        query_labels, database_labels = relevance.labels
        exchanged = of_codes(database, query, n_bits)[""]
        cases[plain.but(codes="exchanged")] = exchanged, LabelRelevance(database_labels, query_labels)
        if relevance.kind != "class labels":
            _, sets = np.unique(np.concatenate([query_labels, database_labels]), axis=0, return_inverse=True)
            same_set = LabelRelevance(*np.split(sets.ravel(), [len(query)]))
            first_label = LabelRelevance(query_labels.argmax(axis=1), database_labels.argmax(axis=1))
            cases[plain.but(relevance="same-set")] = distances[""], same_set
            cases[plain.but(relevance="first-label")] = distances[""], first_label
    return cases


def scores_of(
    base: Way, case: Case, *, cutoffs: Iterable[int] = (), threads: int = 1, progress: Progress = None
) -> dict[Way, tuple[float, float]]:
    """Return the score of every evaluation of a case, and its standard deviation if the order of ties is random.

    `base` is what differs in the case. The cutoffs are common ones and sizes of the data, unless they are given.
    """
    distances, relevance = case
    group, n_queries, is_light = distances.group, distances.group.size, base.weight <= _LIGHT
    classes = relevance.group if isinstance(relevance, LabelRelevance) and relevance.kind == "class labels" else None
    last, sizes = distances.n_database, {*cutoffs} or _sizes(case, classes)
    tried = np.array([*sorted({*sizes, last - 1} - {0, last}), last])
    report = stage(progress, base.text, n_queries)
    counts, lists, shuffled = ranked(case, tried, plain=not is_light, threads=threads, progress=report)
    expected: dict[Way, Pair] = {}
    if counts is not None:
        orders = _ORDERS[: 1 + 2 * is_light]  # of measures other than mAP, which has all of them
        expected |= _of_counts(counts, tried, RADII if distances.has_radius else (), "", orders)
    if counts is not None and is_light:
        positive = counts.at_level * (np.arange(distances.n_groups) < distances.middle)
        expected |= _of_counts(replace(counts, at_level=positive), tried, (), "positive", _ORDERS[:1])
    values: dict[Way, tuple[float, float]] = {}

    def add(way: Way, of_queries: Pair, of_lists: Pair | None = None) -> None:
        zero, drop = of_queries
        weights, deviations = (~np.isnan(drop)).astype(np.float64), [0.0, 0.0]
        if of_lists is not None:  # an undefined value is left out in some orders only
            np.divide(zero, drop, out=weights, where=drop > 0)
            lists_zero, lists_drop = of_lists.reshape(2, shuffled.size, -1)
            errors = lists_zero - zero[shuffled, None]
            lost = ~np.isnan(lists_drop) - weights[shuffled, None]
            n_defined = weights.sum() or 1
            both = (errors, n_queries), (errors - lost * zero.sum() / n_defined, n_defined)
            deviations = [_deviation(of_sample, group[shuffled], n_queries) / n for of_sample, n in both]
        of_base = way._replace(variants=(*base.variants, *way.variants))
        for key, mean in _means(of_base, of_queries, weights, classes).items():
            values[key] = mean, deviations[not _DROPPING.isdisjoint(key.variants)]

    for way, of_queries in expected.items():
        add(way, of_queries)
    for way, of_lists in _of_lists(lists, tried):
        of_expected = way.without(("ties", "random"))
        if of_expected == way:
            add(way if expected else way.without(("ties", "index")), of_lists)
        elif of_expected in expected:
            add(way, expected[of_expected], of_lists)
    return values


def _deviation(errors: Floats, group: Integers, n_queries: int) -> float:
    """Return the standard deviation of the sum over all queries, from the errors of a sample in random orders.

    An unstable sort orders the ties of queries with the same distances alike, and those of others partly alike,
    because it moves the same items. The result is the larger of two: with an order for each group of queries, and with
    one order of the database for all of them.

    Parameters
    ----------
    errors : ndarray of float64, shape (n_sampled, n_orders)
        The differences from the expected value.
    group : ndarray of int64, shape (n_sampled,)
        As in `Distances`; ascending.
    n_queries : int
    """
    of_groups = np.add.reduceat(errors, np.flatnonzero(np.diff(group, prepend=-1)), axis=0)
    apart = np.square(of_groups).sum(axis=0).mean()
    covariances, scale = np.square(of_groups.sum(axis=0)).mean() - apart, n_queries / len(errors)
    return float(np.sqrt(scale * apart + scale**2 * max(covariances, 0.0)))


def _sizes(case: Case, classes: Integers | None) -> set[int]:
    """Return the cutoffs below the size of the database: common ones, and sizes of the data."""
    distances, relevance = case
    sizes = {*CUTOFFS, distances.group.size}
    if classes is not None:  # the size of the largest class
        sizes |= {max(relevance.row(row)[0].size for row in np.unique(classes, return_index=True)[1].tolist())}
    return {size for size in sizes if size < distances.n_database}


def _of_counts(
    counts: HammingCounts, cutoffs: Integers, radii: Sequence[int], part: str, orders: Sequence[str]
) -> Iterator[tuple[Way, Pair]]:
    """Yield the values of the queries with ties in expectation or in the best or worst order."""
    names = _metrics(cutoffs, radii, part, orders, gains_of(counts.levels))
    drop = metrics.evaluate(counts, names, undefined="drop")
    # Only these have other values as well: a mean over some of the orders of ties, or a curve without some points.
    others = [name for name in names if name.endswith("[retrieved]") or name.startswith("AUPRC[")]
    zero = metrics.evaluate(counts, others, undefined="zero")
    for name, way in names.items():
        yield way, np.array([zero.get(name, np.nan_to_num(drop[name])), drop[name]])
    for radius, ties in itertools.product(radii, orders):
        found = np.nan_to_num(drop[metrics.bracketed(f"mAP@r{radius}", ties)])
        found *= counts.relevant_within[:, min(radius, counts.n_bits)]
        yield Way(f"mAP@r{radius}", ()).but(ties=ties, denominator="all"), _pair(found, counts.n_relevant)
    precisions = _ratio(counts.relevant_within, counts.retrieved_within)
    n = counts.n_relevant
    for cutoff in [cutoff for cutoff in cutoffs.tolist() if f"mAP@{cutoff}[all]" in names]:
        name, is_hit = f"mAP@{cutoff}[all]", np.nan_to_num(drop[f"hit@{cutoff}"])
        for denominator, total in {"": n, "min": np.minimum(n, cutoff), "K": np.full(n.size, cutoff)}.items():
            of_total = _pair(np.nan_to_num(drop[name]) * n, total)
            yield from _with_hits(names[name].but(denominator=denominator), of_total, is_hit)
    at_ends = np.nansum(counts.relevant * precisions, axis=1)
    yield STANDARD.but(list=part, ties="grouped"), _pair(at_ends, counts.n_relevant)


def _with_hits(way: Way, of_total: Pair, is_hit: NDArray) -> Iterator[tuple[Way, Pair]]:
    """Yield the values of the queries, and those of queries with a hit; `is_hit` are the probabilities of one."""
    yield way, of_total
    yield way.but(undefined="without-hit"), np.array([of_total[0], _ratio(of_total[0], is_hit)])


def _metrics(
    cutoffs: Integers, radii: Sequence[int], part: str, orders: Sequence[str], gains: Sequence[str]
) -> dict[str, Way]:
    """Return what each of the metrics of this package computes, by its name."""
    n_database = int(cutoffs[-1])
    names = {"mAP": STANDARD.but(list=part)}
    of_radii = itertools.starmap("{}@r{}".format, itertools.product(_OF_RADIUS, radii))
    names |= {name: Way(name, ()) for name in (*of_radii, *_CURVES * bool(radii))}
    names |= {f"mAP[{ties}]": STANDARD.but(list=part, ties=ties) for ties in _ORDERS[1:]}
    in_orders = {name: Way(name, ()) for name in ("nDCG", *WHOLE, *map("mAP@r{}".format, radii))}
    for cutoff in cutoffs[:-1][cutoffs[:-1] != n_database - bool(part)].tolist():
        ways = {f"{name}@{cutoff}": _with_cutoff(name, cutoff, n_database) for name in _OF_CUTOFF}
        in_orders |= {name: ways.pop(name) for name in (f"nDCG@{cutoff}", f"hit@{cutoff}")}
        way = ways.pop(f"mAP@{cutoff}").but(list=part)
        names |= {f"mAP@{cutoff}[all]": way, f"mAP@{cutoff}[retrieved]": way.but(denominator="retrieved")}
        names |= {name: of_top.but(list=part) for name, of_top in ways.items()}
    for (name, way), ties in itertools.product(in_orders.items(), orders):
        for gain in gains if way.family == "nDCG" else [""]:
            of_gain = metrics.bracketed(name, "linear" * (gain == "linear"))
            names[metrics.bracketed(of_gain, ties)] = way.but(list=part, ties=ties, gain=gain)
    return names


def _with_cutoff(measure: str, cutoff: int, n_database: int) -> Way:
    if cutoff == n_database:
        return Way(measure, ())
    return Way(measure, (("list", "without-last"),)) if cutoff == n_database - 1 else Way(f"{measure}@{cutoff}", ())


def _of_lists(lists: Mapping[tuple[str, str], Sums], cutoffs: Integers) -> Iterator[tuple[Way, Pair]]:
    """Yield the values of lists without ties."""
    n_database = int(cutoffs[-1])
    for (ties, part), sums in lists.items():
        hits, n_relevant = sums["number", "hits"], sums["number", "relevant"]
        n_balls = hits.shape[1] - len(cutoffs)
        for name, values in zip(WHOLE, sums["number", "whole"].T, strict=True):
            yield Way(name, ()).but(list=part, ties=ties), _pair(values)
        for column, radius in enumerate(RADII[: 0 if part else n_balls]):
            way, found = Way(f"mAP@r{radius}", ()).but(ties=ties), sums["precision", ""][:, column]
            yield way, _pair(found, hits[:, column])
            yield way.but(denominator="all"), _pair(found, n_relevant)
        for column, cutoff in enumerate(cutoffs.tolist(), n_balls):
            if not part or cutoff != n_database - 1:
                ways = {name: _with_cutoff(name, cutoff, n_database).but(list=part, ties=ties) for name in _OF_CUTOFF}
                yield from _at_cutoff(sums, column, cutoff, n_database, ways)


def _at_cutoff(
    sums: Sums, column: int, cutoff: int, n_database: int, ways: Mapping[str, Way]
) -> Iterator[tuple[Way, Pair]]:
    """Yield the values of the queries for the measures `ways` with one cutoff, in a column of the sums."""
    is_complete, n, hits = cutoff == n_database, sums["number", "relevant"], sums["number", "hits"][:, column]
    at_most = np.minimum(n, cutoff + is_complete)  # the query may be an item of its complete list
    totals = {"": n}
    if not is_complete:
        totals |= {"retrieved": hits, "min": at_most, "K": np.full(n.size, cutoff)}
        yield ways["P"], _pair(hits, np.full(n.size, min(cutoff, n_database)))
        yield from [(ways["P"].but(denominator="K"), _pair(hits, totals["K"]))] * (cutoff > n_database)
        yield ways["R"], _pair(hits, n)
        yield ways["hit"], _pair(hits > 0, n > 0)
    for (kind, name), values in sums.items():
        if kind == "gain":
            yield ways["nDCG"].but(gain=name), _pair(values[:, column])
        # With all items, the first n relevant items are all of them; interpolated precisions have no cutoff.
        by_hits = name == "by-hits"
        is_whole = by_hits and cutoff >= n_database - 1
        if kind == "precision" and not is_whole and not np.isnan(values[:, column]).all():
            for denominator, total in ({"": at_most} if by_hits else totals).items():
                of_total = _pair(values[:, column], total)
                way = ways["mAP"].but(precision=name, denominator=denominator)
                in_top = not (name or is_complete or denominator == "retrieved")
                yield from itertools.islice(_with_hits(way, of_total, hits > 0), 1 + in_top)


def _pair(sums: NDArray, totals: NDArray | None = None) -> Pair:
    """Return sums, divided by totals: 0 where the ratio is undefined, and NaN."""
    ratio = sums if totals is None else _ratio(sums, totals)
    return np.array([np.nan_to_num(ratio), ratio])


def _ratio(sums: NDArray, totals: NDArray) -> Floats:
    """Return sums divided by totals, NaN where a total is 0."""
    return np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0)


def _means(way: Way, of_queries: Pair, weights: Floats, classes: Integers | None) -> dict[Way, float]:
    """Return the mean over the queries, and those that leave out undefined values or weight classes equally.

    `weights` are the probabilities that the values are defined.
    """
    zero, drop = of_queries
    defined, total = ~np.isnan(drop), float(weights.sum())
    known = float(weights @ np.nan_to_num(drop))
    if _WITHOUT_HIT in way.variants:
        return {way: known / total} if 0 < total < defined.size else {}
    means = {way: float(zero.mean())}
    if way.measure.startswith("AUPRC[") and not way.measure.endswith("macro]"):  # one curve of all queries
        return means if np.array_equal(zero, drop) else means | {way.but(undefined="left-out"): float(drop[0])}
    if not defined.all() and np.allclose(zero[defined], drop[defined], rtol=1e-9, atol=0):
        means[way.but(undefined="one")] = float(np.where(defined, zero, 1.0).mean())
    if total < defined.size:
        means[way.but(undefined="left-out")] = known / total if total else math.nan
    means[way.but(mean="ten-more")] = known / (total + 10)
    if classes is not None and np.ptp(sizes := np.bincount(classes)):
        means[way.but(mean="classes")] = float((np.bincount(classes, zero) / sizes).mean())
    return means
