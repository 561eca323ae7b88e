"""Claims of *Hashing as Tie-Aware Learning to Rank* about its experiments; those without data are in `claims`."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.papers import statements
from protocol.papers.claim import AS_PRINTED, Difference, Evidence, Values, number_of
from protocol.papers.results import Results, Row

_GIST = "GIST for VGG-F"
_HALVES = ("CIFAR-10 S1", "NUS-WIDE", "CIFAR-10 S2", "NUS-WIDE AP@5K")
"""The parts of table 1."""
_CIFAR10 = {"dataset": "cifar10", "ground_truth": "class_label", "extension": "none"}


def performance_of_simplified(results: Results) -> Evidence:
    """Compare means on the digits with the default and with the original relaxation, at every code length."""
    values: dict[str, Difference] = {}
    for title, hasher, metric in (("TALR-AP", "talr_ap", "mAP"), ("TALR-NDCG", "talr_ndcg", "nDCG")):
        apart = [_from_default(results, hasher, metric, "relaxation integral", n_bits) for n_bits in (16, 32, 48, 64)]
        if known := [difference for difference in apart if difference is not None]:
            values[f"{metric} of {title}: largest difference"] = max(known, key=lambda one: abs(one.mean))
    return Evidence.as_printed(values, substitute="linear functions on the digits for networks on images")


def growing_slope(results: Results) -> Evidence:
    """Compare means on the digits at 32 bits with a slope of 1 and with slopes that grow from 1 to 10 or 40."""
    values = {}
    for growth in (10, 40):
        growing = _from_default(results, "talr_ap", "mAP", f"alpha 1, growth {growth}, rate_over_alpha True", 32)
        if growing is not None:
            name = f"growth {growth}: constant slope minus growing slope"
            values[name] = Difference(-growing.mean, growing.half_width)
    return Evidence.as_printed(values, substitute="linear functions on the digits for a network on images")


def _from_default(results: Results, hasher: str, metric: str, variant: str, n_bits: int) -> Difference | None:
    """Return the mean difference of a variant from the default over the same runs; None if it was not computed."""
    name = f"{metric} of {hasher}, {variant}, {n_bits} bits"
    mean, error, n_runs = (
        results.statistic("digits", f"{name}: {what}")
        for what in ("difference from the default", "standard error of this difference", "runs")
    )
    if mean is None or error is None or n_runs is None:
        return None
    return Difference.of_runs(mean, error, n_runs - 1)


_TIES = ("mAP", "mAP[best]", "mAP[worst]", "mAP[index]")


def range_of_ties(results: Results) -> Evidence:
    """Compare all four treatments of ties for every hasher on CIFAR-10 with class labels, at each code length."""
    rows, substitute = _rows(results, f"{_GIST} and other methods", metric=_TIES)
    scores = [score for score in _by_metric(rows) if set(_TIES) <= set(score)]
    if not scores:
        return Evidence({}, substitute)
    off = [abs(score["mAP[index]"].mean - score["mAP"].mean) for score in scores]
    values: dict[str, Any] = {
        "scores outside their range": sum(
            not score["mAP[worst]"].mean <= score["mAP"].mean <= score["mAP[best]"].mean for score in scores
        ),
        "scores that differ by more than 0.001 from those in database order": sum(
            difference > 1e-3 for difference in off
        ),
        "scores": len(scores),
        "largest difference from database order": max(off),
    }
    for runs, fewest, most in (("the mean range of ten runs", 10, np.inf), ("the range of a single run", 1, 1)):
        grown, n_steps = _growing([score for score in scores if fewest <= score["mAP"].n_runs <= most])
        if n_steps:
            values |= {f"steps to more bits where {runs} grows": len(grown), f"steps, {runs}": n_steps}
            values |= {f"where {runs} grows": ", ".join(grown)} if grown else {}
    return Evidence.as_printed(values, substitute=substitute)


def _rows(results: Results, substitute: str, **columns: Any) -> tuple[list[Row], str]:
    """Return rows of CIFAR-10 with the paper's features; if there are none, all rows and the name of the substitute."""
    rows = results.rows(**_CIFAR10, **columns)
    vgg = [row for row in rows if row.feature == "vgg_f"]
    return (vgg, "") if vgg else (rows, substitute)


def _by_metric(rows: list[Row]) -> list[dict[str, Row]]:
    """Return the rows of each hasher and code length in a table, by metric."""
    scores: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in rows:
        key = row.folder, row.feature, row.split, row.n_runs, row.hasher, row.n_bits
        scores.setdefault(key, {})[row.metric] = row
    return [scores[key] for key in sorted(scores, key=str)]


def _growing(scores: list[dict[str, Row]]) -> tuple[list[str], int]:
    """Return the steps to the next code length in which the range grows, and the number of all steps."""
    by_hasher: dict[tuple[object, ...], dict[int, float]] = {}
    for score in scores:
        row, width = score["mAP"], score["mAP[best]"].mean - score["mAP[worst]"].mean
        by_hasher.setdefault((row.hasher, row.split, row.feature, row.folder, row.n_runs), {})[row.n_bits] = width
    steps = [
        (f"{hasher}, {split}, {fewer} to {more} bits", later > former)
        for (hasher, split, *_), widths in by_hasher.items()
        for (fewer, former), (more, later) in itertools.pairwise(sorted(widths.items()))
    ]
    return [name for name, grows in steps if grows], len(steps)


def overlapping_ranges(results: Results) -> Evidence:
    """Compare the ranges of all pairs of methods in one table for CIFAR-10, class labels and split S1."""
    rows, substitute = _rows(results, f"{_GIST} and other methods", metric=("mAP[best]", "mAP[worst]"))
    ranges: dict[tuple[str, int], dict[tuple[object, ...], list[tuple[float, float]]]] = {}
    for score in _by_metric(rows):
        if len(score) == 2:
            worst, best = score["mAP[worst]"], score["mAP[best]"]
            tables = ranges.setdefault((worst.split, worst.n_bits), {})
            tables.setdefault((worst.folder, worst.feature, worst.n_runs), []).append((worst.mean, best.mean))
    overlaps = {
        place: [
            one[0] <= other[1] and other[0] <= one[1]
            for ranges_of_table in tables.values()
            for one, other in itertools.combinations(ranges_of_table, 2)
        ]
        for place, tables in sorted(ranges.items())
    }
    values: dict[str, float | str] = {}
    for (split, n_bits), pairs in overlaps.items():
        if pairs and split == "cifar10_s1" and n_bits <= 48:
            values[f"{n_bits} bits: share of pairs that do not overlap"] = 1 - float(np.mean(pairs))
        elif pairs and split == "standard" and n_bits in (12, 64, 128):
            values[f"standard split, {n_bits} bits: pairs that overlap"] = f"{sum(pairs)} of {len(pairs)}"
    return Evidence.as_printed(values, substitute=substitute)


_KINDS = {
    "pair-wise": ("bre", "machash", "fasthash", "dpsh", "hashnet", "ksh"),
    "triplet": ("dtsh",),
    "list-wise": ("structhash", "mihash", "talr_ap", "talr_ap_network"),
}
_SUPERVISED = [hasher for hashers in _KINDS.values() for hasher in hashers]
_NOT_IN_TABLE_1 = ("hashnet", "ksh")
_CLASSIFIERS = ("classifier", "classifier_probabilities")
_SETTINGS = {"S1": ("cifar10_s1", "standard"), "S2": ("cifar10_s2",)}


def _best(rows: Mapping[str, Row], hashers: Iterable[str]) -> Row | None:
    """Return the row with the largest mean of some hashers; None if there is none."""
    return max((rows[hasher] for hasher in hashers if hasher in rows), key=lambda row: row.mean, default=None)


def order_of_kinds(results: Results) -> Evidence:
    """Compare means of class-label mAP in the table of each setting with the most of these methods."""
    rows, substitute = _rows(results, _GIST, metric="mAP", hasher=_SUPERVISED)
    as_printed, with_more = dict[str, Any](), dict[str, Any]()
    for setting, splits in _SETTINGS.items():
        tables: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows:
            if row.split in splits:
                tables.setdefault((row.folder, row.feature, row.split), []).append(row)
        if tables:
            table = max(tables.values(), key=lambda table: len({row.hasher for row in table}))
            as_printed |= _order(setting, [row for row in table if row.hasher not in _NOT_IN_TABLE_1])
            with_more |= _order(setting, table)
    readings = {AS_PRINTED: as_printed, "with HashNet and KSH": with_more}
    return Evidence({reading: values for reading, values in readings.items() if values}, substitute)


def _order(setting: str, rows: list[Row]) -> dict[str, Any]:
    """Return the number of code lengths at which each kind of methods is not above the next, and the code lengths."""
    by_length: dict[int, dict[str, Row]] = {}
    for row in rows:
        by_length.setdefault(row.n_bits, {})[row.hasher] = row
    talr_ap = ("talr_ap", "talr_ap_network")  # of linear functions and of a network
    groups = _KINDS | {"TALR-AP": talr_ap, "other": [name for name in _SUPERVISED if name not in talr_ap]}
    best: dict[int, dict[str, Row]] = {}
    for n_bits, of_length in sorted(by_length.items()):
        found = {name: one for name, hashers in groups.items() if (one := _best(of_length, hashers)) is not None}
        best |= {n_bits: found} if len(found) == len(groups) else {}
    if not best:
        return {}

    def not_above(upper: str, lower: str) -> int | str:
        above = [Difference.of_means(of_kind[upper], of_kind[lower]).exceeds(0) for of_kind in best.values()]
        return number_of([None if shown is None else not shown for shown in above])

    start = f"{setting}, code lengths where"
    return {
        f"{start} the best list-wise method is not above the triplet one": not_above("list-wise", "triplet"),
        f"{start} the triplet method is not above the best pair-wise one": not_above("triplet", "pair-wise"),
        f"{start} TALR-AP is not above every other method": not_above("TALR-AP", "other"),
        f"{setting}, code lengths": list(best),
        f"{setting}, methods": " ".join(sorted({row.hasher for row in rows})),
    }


def codes_of_a_classifier(results: Results) -> Evidence:
    """Compare the better of `classifier` and `classifier_probabilities` with the best hasher of X-13 in its table."""
    rows, substitute = _rows(results, _GIST, metric="mAP", hasher=[*_SUPERVISED, *_CLASSIFIERS])
    values: dict[str, Any] = {}
    for setting, splits in _SETTINGS.items():
        places: dict[tuple[object, ...], dict[str, Row]] = {}
        for row in rows:
            if row.split in splits:
                places.setdefault((row.folder, row.feature, row.split, row.n_bits), {})[row.hasher] = row
        pairs = [(_best(place, _SUPERVISED), _best(place, _CLASSIFIERS)) for _, place in sorted(places.items())]
        gaps = [Difference.of_means(best, codes) for best, codes in pairs if best is not None and codes is not None]
        if gaps:
            name = f"{setting}, code lengths where these codes are more than 0.01 below the best method"
            values[name] = number_of([gap.exceeds(0.01) for gap in gaps])
            values[f"{setting}, the best method minus these codes"] = [gap.mean for gap in gaps]
    return Evidence.as_printed(values, substitute=substitute)


def counting_sort(results: Results, expected: Values) -> Values:
    """Divide the CPU time of counting and scoring 1,000 queries by that for a tenth of the items."""
    seconds = [
        results.statistic("random codes", f"CPU seconds to count and score, {n:,} items") for n in (10**4, 10**5, 10**6)
    ]
    pairs = zip(expected, itertools.pairwise(seconds), strict=True)
    return {name: later / former for name, (former, later) in pairs if former is not None and later is not None}


def _printed(number: str, part: str = "") -> dict[str, NDArray[np.float64]]:
    """Return a table that the paper prints, or a part of it: the values by code length of each method."""
    start = f"{part}, " * bool(part)
    rows = statements.expected("talr", number)
    return {name.removeprefix(start): np.array(row) for name, row in rows.items() if name.startswith(start)}


def _margins(
    table: Mapping[str, NDArray[np.float64]], method: str, *, without: Sequence[str] = ()
) -> NDArray[np.float64]:
    """Return the difference of a method from the best other method, except for some, by code length."""
    others = [row for name, row in table.items() if name not in (method, *without)]
    margins: NDArray[np.float64] = table[method] - np.max(others, axis=0)
    return margins


def short_codes() -> Values:
    """Subtract the rows of table 2, and compare 16 and 32 bits with the longer codes."""
    table, values = _printed("S3-16"), dict[str, Any]()
    for method in ("MIHash", "HashNet"):
        gains = (table["TALR-AP"] - table[method]).tolist()
        for n_bits, gain in zip((16, 32), gains[:2], strict=True):
            name = f"{method}, {n_bits} bits: largest improvement with 48 or 64 bits minus this one"
            values[name] = max(gains[2:]) - gain
        values[f"{method}: improvements"] = gains
    return values


def second_best() -> Values:
    """Count, in each part of table 1, the code lengths where a method other than TALR-AP exceeds MIHash."""
    margins = {half: _margins(_printed("S3-15", half), "MIHash", without=["TALR-AP"]) for half in _HALVES}
    return {f"{half}, code lengths where a third method is above MIHash": (m < 0).sum() for half, m in margins.items()}


def margins() -> Values:
    """Find the smallest margin over BRE, MACHash, FastHash, DPSH and DTSH that each part of table 1 prints."""
    list_wise = ["StructHash", "MIHash"]
    smallest = {half: _margins(_printed("S3-15", half), "TALR-AP", without=list_wise).min() for half in _HALVES}
    return {f"{half}: 0.01 minus the smallest margin": 0.01 - margin for half, margin in smallest.items()}


def consistently() -> Values:
    """Count the code lengths of table 3 at which TALR-NDCG is not above every other method."""
    values = {}
    for dataset, number in (("NUS-WIDE", "S3-17"), ("LabelMe", "S3-18")):
        gains = _margins(_printed(number), "TALR-NDCG")
        values[f"{dataset}, code lengths where another method is not below"] = (gains <= 0).sum()
        values[f"{dataset}, smallest margin"] = gains.min()
    return values


def order_on_labelme() -> Values:
    """Rank the eight methods of table 3 at each code length on both datasets."""
    nus_wide, labelme = (
        {name: np.sum([row > own for row in table.values()], axis=0) + 1 for name, own in table.items()}
        for table in (_printed("S3-17"), _printed("S3-18"))
    )
    loses_none = (labelme["DPSH"] <= nus_wide["DPSH"]) | (labelme["DTSH"] <= nus_wide["DTSH"])
    third = np.maximum(labelme["StructHash"], labelme["MIHash"]) > 3
    ranks = [labelme[method] for method in ("DPSH", "DTSH", "StructHash", "MIHash")]
    return {
        "code lengths where a third method is above StructHash or MIHash": third.sum(),
        "code lengths where DPSH or DTSH loses no ranks against NUS-WIDE": loses_none.sum(),
        "ranks of DPSH, DTSH, StructHash and MIHash on LabelMe": np.transpose(ranks).tolist(),
    }
