"""Claims of *On the Evaluation Metric for Hashing* (RAMAP)."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protocol import registry
from protocol.codes import EXTENSIONS
from protocol.counting import HammingCounts
from protocol.papers.claim import Evidence, Values
from protocol.papers.rankings import histograms, per_query, random_counts, value
from protocol.papers.results import Results, Row
from protocol.scores.summary import COMBINATION

_ROUNDING = 5e-5  # half a unit of the last printed digit
_DIGITS = 2e-9  # tables have nine digits, so rounding may separate equal values by 1e-9
_PRECISIONS = (1896, 1651, 1433, 1261)  # of LSH at radius 0 to 3, printed with four digits
_LAST = 1000  # at radius 8, where the ball is the complete database
_EMPTY = {"zero": "an empty ball has precision 0, and its query counts", "drop": "an empty ball is left out"}


def same_map(results: Results, expected: Values) -> Evidence:
    """Compare the rows of LSH with and without extension, and those at several n; with AlexNet, compare the values."""
    rows, substitute = _lsh_rows(results)
    values = _equal(rows, "MAP changes under an extension", [("mAP", "none", "same"), ("mAP", "none", "different")])
    plain = {row.metric: row.mean for row in rows if row.extension == "none"}
    cutoffs = sorted(int(found[1]) for name in plain if (found := re.fullmatch(r"mAP@(\d+)\[retrieved\]", name)))
    falling = [plain[name] for name in (*(f"mAP@{n}[retrieved]" for n in cutoffs), "mAP") if name in plain]
    if len(falling) > 1:
        values["steps to a larger n where MAP does not fall"] = sum(
            later >= former for former, later in itertools.pairwise(falling)
        )
        values["steps"] = len(falling) - 1
    if not substitute:
        levels = {f"MAP of the top {n}": plain[f"mAP@{n}[retrieved]"] for n in cutoffs}
        values |= {name: level for name, level in levels.items() if name in expected}
    return Evidence.as_printed(values, substitute=substitute)


def _equal(rows: Sequence[Row], what: str, pairs: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the number of pairs of rows with different means, and that of all pairs; nothing if there are none."""
    apart = [abs(a.mean - b.mean) for prefix, *both in pairs for a, b in _pairs(rows, prefix, *both)]
    different = {f"pairs of rows whose {what}": sum(by > _DIGITS for by in apart), "pairs of rows": len(apart)}
    return different if apart else {}


def _lsh_rows(results: Results) -> tuple[list[Row], str]:
    """Return rows of 8-bit LSH on CIFAR-10 with class labels, and the substitute for the paper's features and split.

    These are rows with AlexNet features if there are any, otherwise rows with GIST.
    """
    columns = {"dataset": "cifar10", "ground_truth": "class_label", "hasher": "lsh", "n_bits": 8}
    if rows := results.rows(**columns, feature="alexnet", split="cifar10_s1"):
        return rows, ""
    return results.rows(**columns, feature="gist", split="standard"), "GIST for AlexNet"


def _pairs(rows: Sequence[Row], prefix: str, left: str, right: str) -> list[tuple[Row, Row]]:
    """Return pairs of rows that differ only in the extension; of equal code length unless the left is ``none``."""

    def by_point(extension: str) -> list[tuple[tuple[Any, ...], Row]]:
        chosen = [row for row in rows if row.extension == extension and row.metric.startswith(prefix)]
        return [
            ((row.extension_bits if left != "none" else 0, *_point(row, without="extension")), row) for row in chosen
        ]

    lefts = dict(reversed(by_point(left)))
    return [(lefts[point], row) for point, row in by_point(right) if point in lefts]


def _point(row: Row, *, without: str) -> tuple[Any, ...]:
    """Return the values of the columns that identify a row, except those whose names start with a word."""
    return row.folder, *(getattr(row, name) for name in COMBINATION if not name.startswith(without))


def _with_precisions(ten_thousandths: Sequence[int | None], n_bits: int) -> HammingCounts:
    """Return counts of one query with the given precisions at radius 0, 1, ...; None means an empty ball."""
    balls = np.array([0 if p is None else 10_000 * 4**r for r, p in enumerate(ten_thousandths)])
    found = np.array([0 if p is None else p * 4**r for r, p in enumerate(ten_thousandths)])
    rest = np.zeros(n_bits + 1 - balls.size, dtype=int)
    return histograms(np.append(np.diff(balls, prepend=0), rest), np.append(np.diff(found, prepend=0), rest))


def ramap_from_precisions(expected: Mapping[str, float], n_bits: int) -> Values:
    """Score counts with the printed precisions; our value is the nearest one within their rounding."""
    return _from_precisions(expected, n_bits)


def ramap_of_different_extension(expected: Mapping[str, float]) -> Evidence:
    """Score the counts as for LSH, with 9 bits and an empty ball at radius 0, under both conventions for it."""
    return Evidence({name: _from_precisions(expected, 9, shift=1, empty=empty) for empty, name in _EMPTY.items()})


def _from_precisions(printed: Mapping[str, float], n_bits: int, *, shift: int = 0, empty: str = "zero") -> Values:
    """Return, for each printed RAMAP@R, the nearest value that is consistent with the printed precisions.

    The precisions at radius 0 to 3 are known to half a unit of their last digit. Those at 4 to 7 are not printed, and
    lie between those at 3 and 8.
    """

    def ramap(precisions: Sequence[int], radius: str | int) -> float:
        return value(_with_precisions([*[None] * shift, *precisions], n_bits), f"RAMAP@r{radius}", empty=empty)

    lowest, highest = (
        (*_PRECISIONS, *[unknown] * 4, *[_LAST] * (n_bits - 7 - shift)) for unknown in (_LAST, _PRECISIONS[-1])
    )
    values: dict[str, Any] = {}
    for name, number in printed.items():
        radius = name.removeprefix("R = ")
        reach = _ROUNDING * ramap([10_000] * (n_bits + 1 - shift), radius)
        values[name] = float(np.clip(number, ramap(lowest, radius) - reach, ramap(highest, radius) + reach))
    return values | {"from the printed digits, R = 0 to 3": [ramap(lowest, radius) for radius in range(4)]}


def precision_and_recall(results: Results, expected: Values) -> Evidence:
    """Compare the rows of LSH with and without same extension; with AlexNet, compare the values."""
    rows, substitute = _lsh_rows(results)
    pairs = [(name, "none", "same") for name in ("precision@", "recall@")]
    values = _equal(rows, "precision or recall changes under same extension", pairs)
    plain = {row.metric.replace("@r", " at R = "): row.mean for row in rows if row.extension == "none"}
    levels = {name: plain[name] for name in expected if name in plain}
    values |= {f"{name} with GIST": level for name, level in levels.items()} if substitute else levels
    return Evidence.as_printed(values, substitute=substitute)


def empty_ball() -> Evidence:
    """Score a query with an empty ball at radius 0 under both conventions."""
    counts = _with_precisions([None, *_PRECISIONS], 9)
    return Evidence({name: {"RAMAP@0": value(counts, "RAMAP@r0", empty=empty)} for empty, name in _EMPTY.items()})


def codes_1_and_2() -> Values:
    """Score both codes with 14 items within radius 1; RAMAP distinguishes them."""
    both = [histograms([4, 10, 6], [2, 5, 3]), histograms([4, 10, 6], [3, 4, 3])]
    return {
        "precision@1": [value(counts, "precision@r1") for counts in both],
        "recall@1": [value(counts, "recall@r1") for counts in both],
        "ball size": int(both[0].retrieved_within[0, 1]),
        "RAMAP@1": [value(counts, "RAMAP@r1") for counts in both],
    }


def extension_codes() -> Values:
    """Score 60 random rankings at every radius; RAMAP without its penalty is the mean precision over the radii."""
    moved = maps = unequal = without_penalty = order = 0
    for seed in range(60):
        n_bits, s = 2 + seed % 6, 1 + seed % 3
        plain, same, different = (
            random_counts(seed, n_bits, extension=name, extension_bits=s * (name != "none")) for name in EXTENSIONS
        )
        moved += int((different.retrieved[:, s:] != plain.retrieved).sum() + different.retrieved[:, :s].sum())
        maps += sum(not np.allclose(per_query(c, "mAP"), per_query(plain, "mAP")) for c in (same, different))
        means = [np.zeros(plain.n_queries), np.zeros(plain.n_queries)]
        for radius in range(n_bits + 1):
            for name in (f"precision@r{radius}", f"recall@r{radius}"):
                unequal += int((per_query(same, name) != per_query(plain, name)).sum())
            means = [mean + per_query(c, f"precision@r{radius}") for mean, c in zip(means, (plain, same), strict=True)]
            without_penalty += int((np.abs(means[0] - means[1]) > 1e-12).sum())
            first, second, third = (per_query(c, f"RAMAP@r{radius}") for c in (plain, same, different))
            order += int((first < second - 1e-15).sum() + (second < third - 1e-15).sum())
    return {
        "distances not moved by s": moved,
        "unequal MAP": maps,
        "unequal precision or recall": unequal,
        "unequal RAMAP without its penalty": without_penalty,
        "RAMAP in the wrong order": order,
    }


def _extension_rows(results: Results) -> tuple[list[Row], str]:
    """Return the rows of extended codes, and the substitute; rows of 8-bit LSH on AlexNet are preferred."""
    rows, substitute = _lsh_rows(results)
    if not substitute:
        return rows, ""
    rows = results.rows()
    extended = [row for row in rows if row.extension != "none"]
    features = sorted({f"{row.dataset} {row.feature}" for row in extended})
    n_hashers = len({row.hasher for row in extended})
    return rows, f"{n_hashers} hasher{'s' * (n_hashers != 1)} on {', '.join(features)} for LSH on AlexNet features"


def without_penalty(results: Results) -> Evidence:
    """Multiply the contribution of each radius to RAMAP by the codes in its ball, and compare the means over radii."""
    rows, substitute = _extension_rows(results)
    values = {(row.metric, *_point(row, without="metric")): row.mean for row in rows}

    def at(row: Row, radius: int) -> tuple[float, float] | None:
        """Return RAMAP without its penalty up to a radius, and the possible effect of rounding."""
        total = error = before = before_error = 0.0
        for r in range(radius + 1):
            ramap = values.get((f"RAMAP@r{r}", *_point(row, without="metric")))
            if ramap is None:
                return None
            codes_in_ball = sum(math.comb(row.n_bits + row.extension_bits, i) for i in range(r + 1))
            summed, summed_error = (r + 1) * ramap, (r + 1) * _half_a_digit(ramap)
            total += codes_in_ball * (summed - before)
            error += codes_in_ball * (summed_error + before_error)
            before, before_error = summed, summed_error
        return total / (radius + 1), error / (radius + 1)

    differences = []
    for plain, same in _pairs(rows, "RAMAP@r", "none", "same"):
        radius = int(plain.metric.removeprefix("RAMAP@r"))
        both = at(plain, radius), at(same, radius)
        if both[0] and both[1]:
            differences.append((abs(both[0][0] - both[1][0]), both[0][1] + both[1][1]))
    if not differences:
        return Evidence.as_printed({})
    summary = {
        "pairs of rows that differ by more than their rounding": sum(apart > error for apart, error in differences),
        "pairs of rows": len(differences),
        "largest difference": max(apart for apart, _ in differences),
    }
    return Evidence.as_printed(summary, substitute=substitute)


def _half_a_digit(number: float) -> float:
    """Return half a unit of the sixth significant digit."""
    return 0.5 * 10.0 ** (math.floor(math.log10(number)) - 5) if number > 0 else 0.0


def extensions_in_runs(results: Results) -> Evidence:
    """Compare all pairs of rows that differ only in the extension."""
    rows, substitute = _extension_rows(results)

    def rises(prefix: str, left: str, right: str) -> list[float]:
        return [b.mean - a.mean for a, b in _pairs(rows, prefix, left, right)]

    of_map = [*rises("mAP", "none", "same"), *rises("mAP", "none", "different")]
    in_balls = [*rises("precision@", "none", "same"), *rises("recall@", "none", "same")]
    differences = {
        "different MAP": [abs(rise) for rise in of_map],
        "different precision or recall": [abs(rise) for rise in in_balls],
        "RAMAP in the wrong order": [*rises("RAMAP@", "none", "same"), *rises("RAMAP@", "same", "different")],
    }
    values: dict[str, Any] = {
        f"pairs of rows with {what}": sum(by > _DIGITS for by in apart) for what, apart in differences.items() if apart
    }
    if values:
        values["pairs of rows"] = sum(map(len, differences.values()))
    return Evidence.as_printed(values, substitute=substitute)


def training_and_split() -> Values:
    """Read the sizes of the split protocol `cifar10_s1`, and the constants and defaults of `deep_squared`."""
    sizes = registry.get("split", "cifar10_s1").sizes({}, n_items=60_000, n_classes=10)
    hasher = registry.get("hasher", "deep_squared")
    factor, periods = hasher.decay
    by_default = hasher()
    return {
        "queries": sizes["query"],
        "per class": sizes["query"] / 10,
        "database": sizes["database"],
        "train": sizes["train"],
        "rates": [by_default.learning_rate, factor * by_default.learning_rate],
        "epochs before the rate falls, of 400": 400 / periods,
        "epochs": by_default.epochs,
        "weight decay": by_default.weight_decay,
        "batch": by_default.batch_size,
        "growth of beta": hasher.beta_growth,
    }


_DIMENSIONS = {"alexnet": 4096, "gist": 512}


def runs(results: Results) -> Values:
    """Read from the rows of CIFAR-10 which codes were extended, and which margins were trained."""
    rows = results.rows(dataset="cifar10", ground_truth="class_label")
    extended = [row for row in rows if row.hasher == "lsh" and row.extension != "none" and row.feature in _DIMENSIONS]
    # The table with most margins: another one may have a margin of its own.
    tables: dict[str, list[Row]] = {}
    for row in rows:
        if re.fullmatch(r"m_dsh_\d+", row.hasher):
            tables.setdefault(row.folder, []).append(row)
    trained = max(tables.values(), key=lambda table: len({row.hasher for row in table}), default=[])
    values: dict[str, Any] = {}
    if extended:
        values["feature"] = max(_DIMENSIONS[row.feature] for row in extended)
        values["Q"] = min(row.n_bits for row in extended)
        values["s"] = sorted({row.extension_bits for row in extended})
    if trained:
        values["m"] = sorted({int(row.hasher.removeprefix("m_dsh_")) for row in trained})
        values["bits"] = sorted({row.n_bits for row in trained})
        values["seeds"] = max(row.n_runs for row in trained)
    return values


_SUBSTITUTES = {"pixels": "a network trained from random weights on images", "gist": "heads over GIST"}
"""The substitute for the paper's network, by the feature of the rows; a fine-tuned AlexNet is not included."""

_OBJECTIVES = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
_LEARNED_BITS = (48, 64)
_LEARNED_RADII = (0, 1, 2, 4, 8, 12)


def squared_with_margins(results: Results) -> Evidence:
    """Compare the means of the four objectives at every radius that the tables have, by feature."""
    values: dict[str, Any] = {}
    features = []
    for feature, substitute in _SUBSTITUTES.items():
        columns = {"dataset": "cifar10", "feature": feature, "ground_truth": "class_label", "split": "cifar10_s1"}
        rows = results.rows(**columns, hasher=tuple(_OBJECTIVES), extension="none")
        parts = _of_margins({(row.metric, row.n_bits, row.hasher): row.mean for row in rows})
        values |= {f"{feature}: {part}": number for part, number in parts.items()}
        features += [substitute] if parts else []
    return Evidence.as_printed(values, substitute=f"{' and '.join(features)} for a fine-tuned AlexNet")


def _of_margins(means: Mapping[tuple[str, int, str], float]) -> dict[str, Any]:
    """Return the values of S2-09 from means by metric, code length and hasher, except those that lack a mean."""

    def four(metric: str, n_bits: int) -> list[float]:
        return [means.get((metric, n_bits, hasher), np.nan) for hasher in _OBJECTIVES]

    def steps(name: str) -> list[float]:
        return [step for n in _LEARNED_BITS for r in _LEARNED_RADII for step in np.diff(four(f"{name}@r{r}", n))]

    maps = np.array([four("mAP", n) for n in _LEARNED_BITS])
    precision = {n: {r: four(f"precision@r{r}", n) for r in sorted({3, *_LEARNED_RADII})} for n in _LEARNED_BITS}
    everything = [*maps.ravel(), *steps("RAMAP"), *steps("empty"), *(p for n in precision.values() for p in n.values())]
    if np.isnan(np.hstack(everything)).any():
        return {}
    above = {n: {r for r, (zero, of_4, *_) in precision[n].items() if of_4 > zero} for n in _LEARNED_BITS}
    missing = {n: [r for r in precision[n] if r >= 3 and r not in above[n]] for n in _LEARNED_BITS}
    less = [
        precision[n][margin][position] < precision[n][0][0]
        for n in _LEARNED_BITS
        for position, margin in enumerate(_OBJECTIVES.values())
        if margin
    ]
    start, end = "precision with margin 4", "that with margin 0"
    return {
        "largest difference of MAP over its mean": (np.ptp(maps, axis=1) / maps.mean(axis=1)).max(),
        "steps to a larger margin where RAMAP does not fall": sum(step >= 0 for step in steps("RAMAP")),
        "steps to a larger margin with fewer empty bins": sum(step < 0 for step in steps("empty")),
        f"code lengths at which {start} exceeds {end} at R = 0, 1 or 2": sum(
            bool({0, 1, 2} & r) for r in above.values()
        ),
        f"radii from 3 on at which {start} does not exceed {end}": sum(map(len, missing.values())),
        "margins m whose precision at R = m is below that of margin 0 at R = 0": sum(less),
        "these radii, by code length": {f"{n} bits": missing[n] or "none" for n in _LEARNED_BITS},
    }


def growth_of_lookups() -> Values:
    """Count the codes in the balls of radius 0 to 3."""
    balls = {}
    for n_bits in _LEARNED_BITS:
        counts = histograms([1] + [0] * n_bits, [1] + [0] * n_bits)
        balls[n_bits] = [value(counts, f"lookups@r{r}") for r in range(4)]
    return {
        "steps to R = 1, 2, 3 where lookups grow less than tenfold": sum(
            later < 10 * former for lookups in balls.values() for former, later in itertools.pairwise(lookups)
        ),
        "lookups": {f"{n_bits} bits": lookups for n_bits, lookups in balls.items()},
    }
