"""Ways to evaluate, a measure with the variants by which evaluators differ from the standard, and the scores of all."""

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.counting import HammingCounts, LabelRelevance, Relevance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.progress import Progress, stage
from protocol.evaluators.rankings import RADII, WHOLE, Distances, Lists, gains_of, of_codes, of_values, ranked
from protocol.scores.tables import filled

PACKAGE_DATA = "variants.toml"
CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000)
_ORDERS = ("", "best", "worst")
_LIGHT = 1
"""Rarer distances and ground truths are not combined with faults in how the list is read."""
_OF_RADIUS, _OF_CUTOFF = ("precision", "recall"), ("mAP", "nDCG", "P", "R", "hit")
_CURVES = ("AUPRC[area]", "AUPRC[trapezoid]", "AUPRC[sum]", "AUPRC[area,macro]")
_DROPPING = frozenset({("undefined", "left-out"), ("mean", "ten-more")})


@dataclass(frozen=True)
class Variant:
    """One thing that evaluators do differently from the standard.

    Parameters
    ----------
    family : str
        An evaluation has at most one variant of each family.
    name : str
        The name, which is unique in its family.
    text : str
        What is computed differently.
    weight : int
        1 for a convention of many tools, 2 for a rarer one or a fault of several tools, 3 for a fault of one tool.
    sources : tuple of str
        Where it is found.
    """

    family: str
    name: str
    text: str
    weight: int
    sources: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The text with its sources."""
        return f"{self.text} ({'; '.join(self.sources)})." if self.sources else f"{self.text}."


def _variants() -> dict[tuple[str, str], Variant]:
    declared = tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8"))
    return {
        (family, name): Variant(family, name, **record | {"sources": tuple(record.get("sources", ()))})
        for family, of_family in declared.items()
        for name, record in of_family.items()
    }


_COMMON = ("", "mAP", "precision", "recall", "nDCG")
VARIANTS = _variants()
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
    return "\n".join(filled(f"{' '.join(variant)}: {VARIANTS[variant].sentence}") for variant in used)


STANDARD = Way("mAP", ())


class Case(NamedTuple):
    """What is ranked: distances and a ground truth; and other denominators of each query, by name."""

    distances: Distances
    relevance: Relevance
    denominators: Mapping[str, NDArray[np.int64]] = MappingProxyType({})


def cases_of(
    pair: CodePair,
    relevance: Relevance,
    outputs: Sequence[NDArray] | None = None,
    denominators: Mapping[str, NDArray[np.int64]] = MappingProxyType({}),
) -> dict[Way, Case]:
    """Return what evaluators rank, by what differs from the standard; `outputs` are the values of binarised codes."""
    plain, (query, database, n_bits, *_) = Way("", ()), pair
    distances = of_codes(query, database, n_bits) | (of_values(*outputs) if outputs else {})
    cases = {plain.but(distance=name): Case(one, relevance, denominators) for name, one in distances.items()}
    q, d = (codes.pack(codes.unpack(side, n_bits).reshape(n_bits, -1).T) for side in (query, database))
    cases[plain.but(codes="transposed")] = Case(of_codes(q, d, n_bits)[""], relevance, denominators)
    if isinstance(relevance, LabelRelevance):
        query_labels, database_labels = relevance.labels
        exchanged = of_codes(database, query, n_bits)[""]
        cases[plain.but(codes="exchanged")] = Case(exchanged, LabelRelevance(database_labels, query_labels))
        if relevance.kind != "class labels":
            _, sets = np.unique(np.concatenate([query_labels, database_labels]), axis=0, return_inverse=True)
            sets = sets.ravel()
            others = {
                "same-set": LabelRelevance(sets[: len(query)], sets[len(query) :]),
                "first-label": LabelRelevance(query_labels.argmax(axis=1), database_labels.argmax(axis=1)),
            }
            for name, other in others.items():
                cases[plain.but(relevance=name)] = Case(distances[""], other)
    return cases


def scores_of(
    base: Way, case: Case, *, cutoffs: Iterable[int] = (), threads: int = 1, progress: Progress = None
) -> dict[Way, tuple[float, float]]:
    """Return the score of every evaluation of a case, and its standard deviation if the order of ties is random.

    `base` is what differs in the case. The cutoffs are common ones and sizes of the data, unless they are given.
    """
    distances, relevance, _ = case
    group, n_queries, is_light = distances.group, distances.group.size, base.weight <= _LIGHT
    classes = relevance.group if isinstance(relevance, LabelRelevance) and relevance.kind == "class labels" else None
    last, sizes = distances.n_database, {*cutoffs} or _sizes(distances, relevance, classes)
    tried = np.array([*sorted({*sizes, last - 1} - {0, last}), last])
    report = stage(progress, base.text, n_queries)
    counts, lists = ranked(distances, relevance, tried, plain=not is_light, threads=threads, progress=report)
    values: dict[Way, tuple[float, float]] = {}
    for way, zero, drop, errors in _of_queries(case, counts, lists, tried, is_light):
        # Queries with the same distances have the same order of ties, so that their errors add up.
        sums = [float(np.linalg.norm(np.bincount(group, of_one))) for of_one in errors] or [0.0, 0.0]
        n_defined = np.count_nonzero(~np.isnan(drop)) or 1
        means = _means(way._replace(variants=(*base.variants, *way.variants)), zero, drop, classes)
        for key, mean in means.items():
            is_dropping = not _DROPPING.isdisjoint(key.variants)
            values[key] = mean, sums[1] / n_defined if is_dropping else sums[0] / n_queries
    return values


def _of_queries(
    case: Case,
    counts: HammingCounts | None,
    lists: Mapping[tuple[str, str], Lists],
    cutoffs: NDArray[np.int64],
    is_light: bool,
) -> Iterator[tuple[Way, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the value of each query, 0 and NaN if undefined; and the errors of both in a random order, or nothing."""
    distances, _, denominators = case
    expected: dict[Way, NDArray[np.float64]] = {}
    if counts is not None:
        orders = _ORDERS[: 1 + 2 * is_light]
        expected |= _of_counts(counts, cutoffs, RADII if distances.has_radius else (), "", orders, denominators)
    if counts is not None and is_light:
        positive = counts.at_level * (np.arange(distances.n_groups) < distances.middle)
        expected |= _of_counts(replace(counts, at_level=positive), cutoffs, (), "positive", _ORDERS[:1], denominators)
    none = np.zeros((0, distances.group.size))
    for way, values in expected.items():
        yield way, values[0], values[1], none
    for way, of_list, is_known in _of_lists(lists, cutoffs, denominators):
        of_expected, values = way.without(("ties", "random")), np.array([np.nan_to_num(of_list), of_list])
        if of_expected == way:
            yield way if expected else way.without(("ties", "index")), values[0], values[1], none
        elif of_expected in expected:
            zero, drop = expected[of_expected]
            errors = np.nan_to_num(values - expected[of_expected]) * np.sqrt(is_known.size / is_known.sum())
            yield way, zero, drop, np.where(is_known, errors, 0)


def _sizes(distances: Distances, relevance: Relevance, classes: NDArray[np.int64] | None) -> set[int]:
    """Return the cutoffs below the size of the database: common ones, and sizes of the data."""
    sizes = {*CUTOFFS, distances.group.size}
    if classes is not None:  # the size of the largest class
        sizes |= {max(relevance.row(row)[0].size for row in np.unique(classes, return_index=True)[1].tolist())}
    return {size for size in sizes if size < distances.n_database}


def _of_counts(
    counts: HammingCounts,
    cutoffs: NDArray[np.int64],
    radii: Sequence[int],
    part: str,
    orders: Sequence[str],
    denominators: Mapping[str, NDArray[np.int64]],
) -> Iterator[tuple[Way, NDArray[np.float64]]]:
    """Yield the value of each query, 0 and NaN if undefined, with ties in expectation or in the best or worst order.

    `orders` are those of measures other than mAP, which has all of them.
    """
    complete, names = _metrics(cutoffs[:-1], radii, part, orders, counts)
    drop = metrics.evaluate(counts, names | complete, undefined="drop")
    zero = {name: np.nan_to_num(values) for name, values in drop.items()}
    # Only these have other values as well: a mean over some of the orders of ties, or a curve without some points.
    others = [name for name in names if name.endswith("[retrieved]") or name.startswith("AUPRC[")]
    zero |= metrics.evaluate(counts, others, undefined="zero")
    for name, way in (names | complete).items():
        yield way, np.array([zero[name], drop[name]])
    for name, way in complete.items():
        for denominator, total in denominators.items():
            ratio = _ratio(zero[name] * counts.n_relevant, total)
            yield way.but(denominator=denominator), np.array([np.nan_to_num(ratio), ratio])
    for radius, ties in itertools.product(radii, orders):
        within = counts.relevant_within[:, min(radius, counts.n_bits)]
        ratio = _ratio(zero[metrics.bracketed(f"mAP@r{radius}", ties)] * within, counts.n_relevant)
        way = Way(f"mAP@r{radius}", ()).but(ties=ties, denominator="all")
        yield way, np.array([np.nan_to_num(ratio), ratio])
    precisions = _ratio(counts.relevant_within, counts.retrieved_within)
    grouped = _ratio(np.nansum(counts.relevant * precisions, axis=1), counts.n_relevant)
    yield STANDARD.but(list=part, ties="grouped"), np.array([np.nan_to_num(grouped), grouped])


def _metrics(
    cutoffs: NDArray[np.int64], radii: Sequence[int], part: str, orders: Sequence[str], counts: HammingCounts
) -> tuple[dict[str, Way], dict[str, Way]]:
    """Return metrics by their names: those that are divided by all relevant items, and others."""
    complete, n_database = {"mAP": STANDARD.but(list=part)}, counts.n_database
    of_radius = itertools.starmap("{}@r{}".format, itertools.product(_OF_RADIUS, radii))
    names = {name: Way(name, ()) for name in (*of_radius, *(_CURVES if radii else ()))}
    names |= {f"mAP[{ties}]": STANDARD.but(list=part, ties=ties) for ties in _ORDERS[1:]}
    in_every_order = {name: Way(name, ()) for name in ("nDCG", *WHOLE, *map("mAP@r{}".format, radii))}
    for cutoff in cutoffs[cutoffs != n_database - bool(part)].tolist():
        ways = {name: _with_cutoff(name, cutoff, n_database) for name in _OF_CUTOFF}
        complete[f"mAP@{cutoff}[all]"] = way = ways.pop("mAP").but(list=part)
        names |= {f"mAP@{cutoff}[{name}]": way.but(denominator=name) for name in ("retrieved", "min")}
        in_every_order |= {f"{name}@{cutoff}": ways.pop(name) for name in ("nDCG", "hit")}
        names |= {f"{measure}@{cutoff}": way.but(list=part) for measure, way in ways.items()}
    return complete, names | _in_orders(in_every_order, orders, part, gains_of(counts.levels))


def _in_orders(ways: Mapping[str, Way], orders: Sequence[str], part: str, gains: Sequence[str]) -> dict[str, Way]:
    """Return metrics by their names, in each order of ties and with each gain."""
    names = {}
    for (name, way), ties in itertools.product(ways.items(), orders):
        for gain in gains if way.family == "nDCG" else [""]:
            of_gain = metrics.bracketed(name, "linear" * (gain == "linear"))
            names[metrics.bracketed(of_gain, ties)] = way.but(list=part, ties=ties, gain=gain)
    return names


def _with_cutoff(measure: str, cutoff: int, n_database: int) -> Way:
    if cutoff == n_database:
        return Way(measure, ())
    return Way(measure, (("list", "without-last"),)) if cutoff == n_database - 1 else Way(f"{measure}@{cutoff}", ())


def _of_lists(
    lists: Mapping[tuple[str, str], Lists], cutoffs: NDArray[np.int64], denominators: Mapping[str, NDArray[np.int64]]
) -> Iterator[tuple[Way, NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield the value of each query, NaN if undefined, from lists without ties, and whether it is known."""
    n_database = int(cutoffs[-1])
    for (ties, part), of_list in lists.items():
        differing = {"list": part, "ties": ties}
        values = {Way(name, ()).but(**differing): whole for name, whole in zip(WHOLE, of_list.whole.T, strict=True)}
        n_balls = of_list.hits.shape[1] - len(cutoffs)
        for column, radius in enumerate(RADII[: 0 if part else n_balls]):
            way, sums = Way(f"mAP@r{radius}", ()).but(ties=ties), of_list.precisions[""][:, column]
            values[way] = _ratio(sums, of_list.hits[:, column])
            values[way.but(denominator="all")] = _ratio(sums, of_list.n_relevant)
        for column, cutoff in enumerate(cutoffs.tolist(), n_balls):
            if not part or cutoff != n_database - 1:
                ways = {name: _with_cutoff(name, cutoff, n_database).but(**differing) for name in _OF_CUTOFF}
                values |= _at_cutoff(of_list, column, cutoff, n_database, ways, denominators)
        for way, of_way in values.items():
            yield way, of_way, of_list.is_known


def _at_cutoff(
    lists: Lists,
    column: int,
    cutoff: int,
    n_database: int,
    ways: Mapping[str, Way],
    denominators: Mapping[str, NDArray[np.int64]],
) -> dict[Way, NDArray[np.float64]]:
    """Return the value of each query, NaN if undefined, for the measures `ways` with one cutoff, in a column."""
    is_complete, n, hits = cutoff == n_database, lists.n_relevant, lists.hits[:, column]
    at_most = np.minimum(n, cutoff + is_complete)  # the query may be an item of its complete list
    values, totals = dict[Way, NDArray[np.float64]](), {"": n, **denominators}
    if not is_complete:
        totals |= {"retrieved": hits, "min": at_most, "K": np.full(n.size, cutoff)}
        values |= {ways["P"]: hits / cutoff, ways["R"]: _ratio(hits, n), ways["hit"]: _ratio(hits > 0, n > 0)}
    for precision, sums in lists.precisions.items():
        # With all items, the first n relevant items are all of them; interpolated precisions have no cutoff.
        if not (precision == "by-hits" and cutoff >= n_database - 1) and not np.isnan(sums[:, column]).all():
            for denominator, total in {"by-hits": {"": at_most}}.get(precision, totals).items():
                way = ways["mAP"].but(precision=precision, denominator=denominator)
                values[way] = _ratio(sums[:, column], total)
    return values | {ways["nDCG"].but(gain=gain): ndcg[:, column] for gain, ndcg in lists.ndcg.items()}


def _ratio(sums: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Return sums divided by totals, NaN where a total is 0."""
    return np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0)


def _means(
    way: Way, zero: NDArray[np.float64], drop: NDArray[np.float64], classes: NDArray[np.int64] | None
) -> dict[Way, float]:
    """Return the mean over the queries, and those that leave out undefined values or weight classes equally."""
    means, defined = {way: float(zero.mean())}, ~np.isnan(drop)
    if way.measure.startswith("AUPRC[") and not way.measure.endswith("macro]"):  # one curve of all queries
        return means if np.array_equal(zero, drop) else means | {way.but(undefined="left-out"): float(drop[0])}
    if not defined.all() and np.allclose(zero[defined], drop[defined], rtol=1e-9, atol=0):
        means[way.but(undefined="one")] = float(np.where(defined, zero, 1.0).mean())
    if not defined.all():
        means[way.but(undefined="left-out")] = float(drop[defined].mean()) if defined.any() else math.nan
    means[way.but(mean="ten-more")] = float(drop[defined].sum() / (defined.sum() + 10))
    if classes is not None:
        sizes = np.bincount(classes)
        if (sizes != sizes[0]).any():
            means[way.but(mean="classes")] = float((np.bincount(classes, zero) / sizes).mean())
    return means
