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
from protocol.papers._claim import Evidence, Paper, Values
from protocol.papers._rankings import histograms, per_query, random_counts, value
from protocol.papers._results import COMBINATION, Results, Row

PAPER = Paper("On the Evaluation Metric for Hashing")

_ROUNDING = 5e-5  # half a unit of the last printed digit
_DIGITS = 2e-9  # tables have nine digits, so rounding may separate equal values by 1e-9
_PRECISIONS = (1896, 1651, 1433, 1261)  # of LSH at radius 0 to 3, printed with four digits
_LAST = 1000  # at radius 8, where the ball is the complete database
_ALEXNET = (
    "8-bit LSH on 4096-d AlexNet features of CIFAR-10, a feature with the name `alexnet`, under the split `cifar10_s1`"
)
_CUTOFFS = (5000, 10000, 15000, 20000, 25000, 45000, 50000)
_PRINTED_MAP = (0.1792, 0.1644, 0.1624, 0.1521, 0.1501, 0.1375, 0.1365)
_EMPTY_IS_ZERO = "an empty ball has precision 0, and its query counts"


@PAPER.claim(
    "S2-01",
    place="table 1",
    statement="Finding all items within radius R of a Q-bit code takes as many bucket lookups as the ball has codes.",
    expected={"lookups, Q = 8": [1, 9, 37, 93, 163, 219, 247, 255, 256]},
    note="The paper defines the ball by distances equal to r, which is a shell; table 1 sums over distances up to r.",
    errata=("E2-02",),
)
def lookups() -> Values:
    """Score 8-bit codes by lookups@rR."""
    counts = histograms([1, 8, 28, 56, 70, 56, 28, 8, 1], [1, 0, 0, 0, 0, 0, 0, 0, 0])
    return {"lookups, Q = 8": [value(counts, f"lookups@r{r}") for r in range(9)]}


@PAPER.claim(
    "S2-02",
    place="table 2, MAP",
    statement="MAP of the top n is equal for 8-bit LSH and for its same-extension and different-extension codes, and "
    "falls with n.",
    expected={
        "pairs of rows whose MAP changes under an extension": 0,
        "steps to a larger n where MAP does not fall": 0,
        **{f"MAP of the top {n}": printed for n, printed in zip(_CUTOFFS, _PRINTED_MAP, strict=True)},
    },
    within={f"MAP of the top {n}": 0.01 for n in _CUTOFFS},
    data=True,
    needs=f"{_ALEXNET}, with the metrics mAP@n[retrieved] and extensions; with GIST, the levels are not compared",
    note="Section 2.3 prints MAP divided by all relevant items and without a cutoff. Such a value could not fall with "
    "n, so the table must divide by the relevant items among the top n. S2-07 proves that the three are equal.",
    errata=("E2-04",),
)
def same_map(results: Results) -> Evidence:
    """Compare the rows of LSH with and without extension, and those at several n; with AlexNet, compare the values."""
    rows, substitute = _lsh_rows(results)
    apart = _apart(rows, [("mAP", "none", "same"), ("mAP", "none", "different")])
    by_cutoff = {
        int(found[1]): row.mean
        for row in rows
        if row.extension == "none" and (found := re.fullmatch(r"mAP@(\d+)\[retrieved\]", row.metric))
    }
    of_all = [row.mean for row in rows if row.extension == "none" and row.metric == "mAP"][:1]
    falling = [by_cutoff[n] for n in sorted(by_cutoff)] + of_all
    values: dict[str, Any] = {}
    if apart:
        values["pairs of rows whose MAP changes under an extension"] = sum(by > _DIGITS for by in apart)
        values["pairs of rows"] = len(apart)
    if len(falling) > 1:
        values["steps to a larger n where MAP does not fall"] = sum(
            later >= former for former, later in itertools.pairwise(falling)
        )
        values["steps"] = len(falling) - 1
    if not substitute:
        values |= {f"MAP of the top {n}": by_cutoff[n] for n in _CUTOFFS if n in by_cutoff}
    return Evidence.as_printed(values, substitute=substitute)


def _lsh_rows(results: Results) -> tuple[list[Row], str]:
    """Return rows of 8-bit LSH on CIFAR-10 with class labels, and the substitute for the paper's features and split.

    These are rows with AlexNet features if there are any, otherwise rows with GIST.
    """
    columns = {"dataset": "cifar10", "ground_truth": "class_label", "hasher": "lsh", "n_bits": 8}
    if rows := results.rows(**columns, feature="alexnet", split="cifar10_s1"):
        return rows, ""
    return results.rows(**columns, feature="gist", split="standard"), "GIST for AlexNet"


def _extended(seed: int, n_bits: int, s: int) -> list[HammingCounts]:
    return [
        random_counts(seed, n_bits, extension=name, extension_bits=0 if name == "none" else s) for name in EXTENSIONS
    ]


def _apart(rows: Sequence[Row], pairs: Sequence[tuple[str, str, str]]) -> list[float]:
    """Return the differences between rows under two extensions, for every given prefix of metrics and extensions."""
    return [abs(a.mean - b.mean) for prefix, *both in pairs for a, b in _pairs(rows, prefix, *both)]


def _pairs(rows: Sequence[Row], prefix: str, left: str, right: str) -> list[tuple[Row, Row]]:
    """Return pairs of rows that differ only in the extension; of equal code length unless the left is ``none``."""

    def point(row: Row) -> tuple[Any, ...]:
        return row.folder, *(getattr(row, name) for name in COMBINATION if not name.startswith("extension"))

    def among(extension: str) -> list[Row]:
        return [row for row in rows if row.extension == extension and row.metric.startswith(prefix)]

    of_left: dict[tuple[Any, ...], Row] = {}
    for row in among(left):
        of_left.setdefault((*point(row), 0 if left == "none" else row.extension_bits), row)
    keys = [(*point(row), 0 if left == "none" else row.extension_bits) for row in among(right)]
    return [(of_left[key], row) for key, row in zip(keys, among(right), strict=True) if key in of_left]


def _with_precisions(ten_thousandths: Sequence[int | None], n_bits: int) -> HammingCounts:
    """Return counts of one query with the given precisions at radius 0, 1, ...; None means an empty ball."""
    balls = np.array([0 if p is None else 10_000 * 4**r for r, p in enumerate(ten_thousandths)])
    found = np.array([0 if p is None else p * 4**r for r, p in enumerate(ten_thousandths)])
    rest = np.zeros(n_bits + 1 - balls.size, dtype=int)
    return histograms(np.append(np.diff(balls, prepend=0), rest), np.append(np.diff(found, prepend=0), rest))


def _from_precisions(printed: Mapping[str, float], n_bits: int, *, shift: int = 0, empty: str = "zero") -> Values:
    """Return, for each printed RAMAP@R, the nearest value that is consistent with the printed precisions.

    The precisions at radius 0 to 3 are known to half a unit of their last digit. Those at 4 to 7 are not printed, and
    lie between those at 3 and 8.
    """

    def counts(unknown: int) -> HammingCounts:
        precisions = [None] * shift + [*_PRECISIONS] + [unknown] * 4 + [_LAST] * (n_bits - 7 - shift)
        return _with_precisions(precisions, n_bits)

    lowest, highest = counts(_LAST), counts(_PRECISIONS[-1])
    ones = _with_precisions([None] * shift + [10_000] * (n_bits + 1 - shift), n_bits)
    found: dict[str, Any] = {}
    for name, number in printed.items():
        metric = f"RAMAP@r{name.removeprefix('R = ')}"
        reach = _ROUNDING * value(ones, metric, empty=empty)
        low, high = (value(bound, metric, empty=empty) for bound in (lowest, highest))
        found[name] = float(np.clip(number, low - reach, high + reach))
    unrounded = [value(lowest, f"RAMAP@r{radius}", empty=empty) for radius in range(4)]
    return found | {"from the printed digits, R = 0 to 3": unrounded}


_LSH = {"R = 0": 0.1896, "R = 1": 0.104, "R = 2": 0.0706, "R = 3": 0.0533, "R = 4": 0.0428, "R = 8": 0.0239}
_SE_1 = {
    "R = 0": 0.1896,
    "R = 1": 0.103,
    "R = 2": 0.0697,
    "R = 3": 0.0525,
    "R = 4": 0.0421,
    "R = 8": 0.0235,
    "R = 9": 0.0212,
}
_SE_8 = {"R = 0": 0.1896, "R = 1": 0.0996, "R = 2": 0.0668, "R = 3": 0.0501, "R = 8": 0.0223, "R = 9": 0.0201}
_DE_1 = {
    "R = 0": 0.0,
    "R = 1": 0.0095,
    "R = 2": 0.0075,
    "R = 3": 0.0059,
    "R = 4": 0.0048,
    "R = 8": 0.0028,
    "R = 9": 0.0025,
}
_INTERVALS = (
    "The precisions have four digits, so a value is only known to be in an interval. For same-extension codes of 9 and "
    "16 bits, the four digits give 0.103055 and 0.099656 at R = 1; the printed 0.1030 and 0.0996 are in the intervals."
)


@PAPER.claim(
    "S2-03-LSH",
    place="tables 2 and 3, RAMAP of LSH (8 bits)",
    statement="RAMAP@R is the mean over r <= R of the precision at r, from the precision row, divided by the number of "
    "codes in the ball.",
    expected=_LSH,
    within=_ROUNDING,
    note="Section 3.2 also uses the name precision(y, R) for precision divided by cost.",
    errata=("E2-03",),
)
def ramap_lsh() -> Values:
    """Score counts with the printed precisions; our value is the nearest one within their rounding."""
    return _from_precisions(_LSH, 8)


@PAPER.claim(
    "S2-03-LSH_SEs1",
    place="tables 2 and 3, RAMAP of same-extension codes, s = 1 (9 bits)",
    statement="RAMAP@R follows from the precision row, with the balls of 9 bits.",
    expected=_SE_1,
    within=_ROUNDING,
    note=_INTERVALS,
)
def ramap_same_1() -> Values:
    """Score the counts as for LSH, with 9 bits."""
    return _from_precisions(_SE_1, 9)


@PAPER.claim(
    "S2-03-LSH_SEs8",
    place="table 3, RAMAP of same-extension codes, s = 8 (16 bits)",
    statement="RAMAP@R follows from the precision row, with the balls of 16 bits.",
    expected=_SE_8,
    within=_ROUNDING,
    note=_INTERVALS,
)
def ramap_same_8() -> Values:
    """Score the counts as for LSH, with 16 bits."""
    return _from_precisions(_SE_8, 16)


@PAPER.claim(
    "S2-03-LSH_DEs1",
    place="table 2, RAMAP of different-extension codes, s = 1 (9 bits)",
    statement="RAMAP@R follows from the precision row shifted by one radius, with the balls of 9 bits.",
    expected=_DE_1,
    within=_ROUNDING,
    note="The ball of radius 0 is empty for every query; the row counts it as 0.",
    errata=("E2-06",),
)
def ramap_different_1() -> Evidence:
    """Score the counts as for LSH, with 9 bits and an empty ball at radius 0, under both conventions for it."""
    return Evidence(
        {
            _EMPTY_IS_ZERO: _from_precisions(_DE_1, 9, shift=1),
            "an empty ball is left out": _from_precisions(_DE_1, 9, shift=1, empty="drop"),
        }
    )


_RADII = (0, 1, 2, 3)
_TABLE_3 = {"precision": (0.1896, 0.1651, 0.1433, 0.1261), "recall": (0.009, 0.0637, 0.2147, 0.4609)}
_LEVELS = {f"{name} at R = {r}": row[r] for name, row in _TABLE_3.items() for r in _RADII}


@PAPER.claim(
    "S2-04",
    place="table 3, precision and recall",
    statement="8-bit LSH has the printed precision and recall at radius 0 to 3, and so do its same-extension codes.",
    expected={"pairs of rows whose precision or recall changes under same extension": 0, **_LEVELS},
    within=dict.fromkeys(_LEVELS, 0.02),
    data=True,
    needs=f"{_ALEXNET}, with the metrics precision@r0 to recall@r3 and extensions; with GIST the levels are only shown",
    note="S2-07 proves that same-extension codes have equal values.",
)
def precision_and_recall(results: Results) -> Evidence:
    """Compare the rows of LSH with and without same extension; with AlexNet, compare the values."""
    rows, substitute = _lsh_rows(results)
    apart = _apart(rows, [("precision@", "none", "same"), ("recall@", "none", "same")])
    values: dict[str, Any] = {}
    if apart:
        values["pairs of rows whose precision or recall changes under same extension"] = sum(
            by > _DIGITS for by in apart
        )
        values["pairs of rows"] = len(apart)
    found = {row.metric: row.mean for row in rows if row.extension == "none"}
    for name in _TABLE_3:
        for r in _RADII:
            if f"{name}@r{r}" in found:
                values[f"{name} at R = {r}" + (" with GIST" if substitute else "")] = found[f"{name}@r{r}"]
    return Evidence.as_printed(values, substitute=substitute)


@PAPER.claim(
    "S2-04-ends",
    place="table 3, precision and recall at the largest radii",
    statement="Precision is 0.1 and recall is 1 at radius 8, and at radius 9 for codes extended by one bit.",
    expected={
        "precision at R = 8": 0.1,
        "recall at R = 8": 1.0,
        "precision at R = 9, same extension": 0.1,
        "recall at R = 9, same extension": 1.0,
    },
    note="The last ball is the complete database: 59,000 items, 5,900 of them in the class of the query.",
)
def last_ball() -> Values:
    """Score a database of 59,000 items, 5,900 of them relevant, with 8 and 9 bits."""
    complete, extended = (histograms([59_000] + [0] * n_bits, [5_900] + [0] * n_bits) for n_bits in (8, 9))
    return {
        "precision at R = 8": value(complete, "precision@r8"),
        "recall at R = 8": value(complete, "recall@r8"),
        "precision at R = 9, same extension": value(extended, "precision@r9"),
        "recall at R = 9, same extension": value(extended, "recall@r9"),
    }


@PAPER.claim(
    "S2-05",
    place="table 2, different extension, R = 0",
    statement="An empty ball has precision 0, and the query counts: RAMAP@0 is 0.0000.",
    expected={"RAMAP@0": 0.0},
    note="This is the only place where the paper defines 0/0.",
    errata=("E2-06",),
)
def empty_ball() -> Evidence:
    """Score a query with an empty ball at radius 0 under both conventions."""
    counts = _with_precisions([None, *_PRECISIONS], 9)
    return Evidence(
        {
            _EMPTY_IS_ZERO: {"RAMAP@0": value(counts, "RAMAP@r0", empty="zero")},
            "an empty ball is left out": {"RAMAP@0": value(counts, "RAMAP@r0", empty="drop")},
        }
    )


@PAPER.claim(
    "S2-06",
    place="section 3.1, figure 3",
    statement="Of 10 relevant items, one code has 2 at distance 0 and 5 at distance 1, another has 3 and 4: "
    "precision@1 is 0.5 and recall@1 is 0.7 for both, although the second code is better.",
    expected={"precision@1": [0.5, 0.5], "recall@1": [0.7, 0.7], "ball size": 14},
    within=1e-12,
    note="The text refers to figures 3, 5 and 7, but the captions have the numbers 2, 4 and 6.",
    errata=("E2-07",),
)
def codes_1_and_2() -> Values:
    """Score both codes with 14 items within radius 1; RAMAP distinguishes them."""
    both = [histograms([4, 10, 6], [2, 5, 3]), histograms([4, 10, 6], [3, 4, 3])]
    return {
        "precision@1": [value(counts, "precision@r1") for counts in both],
        "recall@1": [value(counts, "recall@r1") for counts in both],
        "ball size": int(both[0].retrieved_within[0, 1]),
        "RAMAP@1": [value(counts, "RAMAP@r1") for counts in both],
    }


@PAPER.claim(
    "S2-07",
    place="section 4.1, a to f",
    statement="Different extension by s bits adds s to every distance. MAP is equal for the codes and both extensions; "
    "precision, recall and RAMAP without its penalty are equal with and without same extension. RAMAP of the codes is "
    "at least that with same extension, which is at least that with different extension.",
    expected={
        "distances not moved by s": 0,
        "unequal MAP": 0,
        "unequal precision or recall": 0,
        "unequal RAMAP without its penalty": 0,
        "RAMAP in the wrong order": 0,
    },
    note="At radius 0, the codes and their same extension have equal RAMAP. X-05 and X-06 check the same in tables of "
    "runs.",
)
def extension_codes() -> Values:
    """Score 60 random rankings at every radius; RAMAP without its penalty is the mean precision over the radii."""
    moved = maps = unequal = without_penalty = order = 0
    for seed in range(60):
        n_bits, s = 2 + seed % 6, 1 + seed % 3
        plain, same, different = _extended(seed, n_bits, s)
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


@PAPER.claim(
    "X-05",
    place="section 4.1, e",
    statement="Without its penalty, RAMAP of runs is equal with and without same extension.",
    expected={"pairs of rows that differ by more than their rounding": 0},
    data=True,
    needs="RAMAP at the radii from 0 on, with the extensions `none` and `same`: `snakemake --configfile "
    "workflow/config/cifar10_full.yaml -- metrics`",
    note="Tables have at least six significant digits, and we assume six. Values are multiplied by the sizes of balls "
    "with thousands of codes, so the possible effect of rounding grows with the radius. S2-07 is the proof.",
)
def without_penalty(results: Results) -> Evidence:
    """Multiply the contribution of each radius to RAMAP by the codes in its ball, and compare the means over radii."""
    rows, substitute = _extension_rows(results)
    values = {(row.folder, *(getattr(row, name) for name in COMBINATION)): row.mean for row in rows}

    def at(row: Row, radius: int) -> tuple[float, float] | None:
        """Return RAMAP without its penalty up to a radius, and the possible effect of rounding."""
        total = error = before = before_error = 0.0
        for r in range(radius + 1):
            found = values.get(
                (row.folder, *(f"RAMAP@r{r}" if name == "metric" else getattr(row, name) for name in COMBINATION))
            )
            if found is None:
                return None
            codes_in_ball = sum(math.comb(row.n_bits + row.extension_bits, i) for i in range(r + 1))
            summed, summed_error = (r + 1) * found, (r + 1) * _half_a_digit(found)
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
    found = {
        "pairs of rows that differ by more than their rounding": sum(apart > error for apart, error in differences),
        "pairs of rows": len(differences),
        "largest difference": max(apart for apart, _ in differences),
    }
    return Evidence.as_printed(found, substitute=substitute)


def _half_a_digit(number: float) -> float:
    """Return half a unit of the sixth significant digit."""
    return 0.5 * 10.0 ** (math.floor(math.log10(number)) - 5) if number > 0 else 0.0


@PAPER.claim(
    "X-06",
    place="section 4.1, c, d and f; tables 2 and 3",
    statement="In runs, MAP is equal with both extensions, and precision and recall are equal with same extension. "
    "RAMAP of the codes is at least that with same extension, which is at least that with different extension.",
    expected={
        "pairs of rows with different MAP": 0,
        "pairs of rows with different precision or recall": 0,
        "pairs of rows with RAMAP in the wrong order": 0,
    },
    data=True,
    needs="mAP, precision or recall, and RAMAP with the extensions `none`, `same` and `different`: `snakemake "
    "--configfile workflow/config/cifar10_full.yaml -- metrics`",
    note="S2-07 proves the same for any codes.",
)
def extensions_in_runs(results: Results) -> Evidence:
    """Compare all pairs of rows that differ only in the extension."""
    rows, substitute = _extension_rows(results)
    differences = {
        "different MAP": _apart(rows, [("mAP", "none", "same"), ("mAP", "none", "different")]),
        "different precision or recall": _apart(rows, [(name, "none", "same") for name in ("precision@", "recall@")]),
        "RAMAP in the wrong order": [
            b.mean - a.mean
            for both in (("none", "same"), ("same", "different"))
            for a, b in _pairs(rows, "RAMAP@", *both)
        ],
    }
    values: dict[str, Any] = {
        f"pairs of rows with {what}": sum(by > _DIGITS for by in found) for what, found in differences.items() if found
    }
    if values:
        values["pairs of rows"] = sum(map(len, differences.values()))
    return Evidence.as_printed(values, substitute=substitute)


@PAPER.claim(
    "S2-08",
    place="section 5.1",
    statement="The split has 1,000 queries, 100 of each class, a database of 59,000 items, and a training set of "
    "5,000. Networks are trained with a learning rate of 0.05, and of 0.025 after 200 of 400 epochs, in batches of "
    "128, with a weight decay of 5e-5; beta grows by a factor of 1.005 in each epoch.",
    expected={
        "queries": 1000,
        "per class": 100,
        "database": 59000,
        "train": 5000,
        "rates": [0.05, 0.025],
        "epochs before the rate falls, of 400": 200,
        "epochs": 400,
        "weight decay": 5e-5,
        "batch": 128,
        "growth of beta": 1.005,
    },
    within=1e-12,
    errata=("E2-01",),
    note="This is compared with the registered plug-ins, which requires no data. Our optimiser is Adam, which needs "
    "smaller learning rates than gradient descent; an experiment sets epochs and rate in `hasher_options`. The two "
    "lines of the objective, eq. 4, are not equal: the first divides by all pairs, the second by the pairs of each "
    "kind.",
)
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


@PAPER.claim(
    "S2-08-runs",
    place="section 5.1",
    statement="The experiments have codes of 8-bit LSH on 4096-d AlexNet features, extended by 1 and 8 bits, and of "
    "deep squared hashing with margins 4, 8 and 12, with 48 and 64 bits and five seeds.",
    expected={"feature": 4096, "Q": 8, "s": [1, 8], "m": [4, 8, 12], "bits": [48, 64], "seeds": 5},
    data=True,
    needs="rows of extended codes of `lsh` and of `m_dsh_4`, `m_dsh_8` and `m_dsh_12` on CIFAR-10: "
    "workflow/config/cifar10_full.yaml and cifar10_learned.yaml",
    note="This compares our experiments with those of the paper; other claims compare the results. Q is the shortest "
    "extended code length. The dimension follows from the name of the feature. Seeds are the largest number of runs of "
    "a margin.",
)
def runs(results: Results) -> Values:
    """Read from the rows of CIFAR-10 which codes were extended, and which margins were trained."""
    rows = results.rows(dataset="cifar10", ground_truth="class_label")
    extended = [row for row in rows if row.hasher == "lsh" and row.extension != "none" and row.feature in _DIMENSIONS]
    trained = [row for row in rows if re.fullmatch(r"m_dsh_\d+", row.hasher)]
    found: dict[str, Any] = {}
    if extended:
        found["feature"] = max(_DIMENSIONS[row.feature] for row in extended)
        found["Q"] = min(row.n_bits for row in extended)
        found["s"] = sorted({row.extension_bits for row in extended})
    if trained:
        found["m"] = sorted({int(row.hasher.removeprefix("m_dsh_")) for row in trained})
        found["bits"] = sorted({row.n_bits for row in trained})
        found["seeds"] = max(row.n_runs for row in trained)
    return found


_SUBSTITUTES = {"pixels": "a network trained from random weights on images", "gist": "heads over GIST"}
"""The substitute for the paper's network, by the feature of the rows; a fine-tuned AlexNet is not included."""

_OBJECTIVES = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
_LEARNED_BITS = (48, 64)
_LEARNED_RADII = (0, 1, 2, 4, 8, 12)
_MAP_APART = "largest difference of MAP over its mean"
_COUNTED = (
    "steps to a larger margin where RAMAP does not fall",
    "steps to a larger margin with fewer empty bins",
    "code lengths at which precision with margin 4 exceeds that with margin 0 at R = 0, 1 or 2",
    "radii from 3 on at which precision with margin 4 does not exceed that with margin 0",
    "margins m whose precision at R = m is below that of margin 0 at R = 0",
)


@PAPER.claim(
    "S2-09",
    place="figures 4 to 6",
    statement="Deep squared hashing with margin 0, 4, 8 and 12 at 48 and 64 bits has similar MAP, while RAMAP falls in "
    "this order, and more queries have empty bins with a larger margin. Precision with margin 4 is below that with 0 "
    "at R = 0, 1 and 2, and above it from R = 3; precision with margin m at R = m reaches that with margin 0 at R = 0.",
    expected={f"{feature}: {part}": 0 for feature in _SUBSTITUTES for part in (_MAP_APART, *_COUNTED)},
    within={f"{feature}: {_MAP_APART}": 0.1 for feature in _SUBSTITUTES},
    data=True,
    needs="codes of `deep_squared` and of `m_dsh` with margins 4, 8 and 12, 48 and 64 bits: `snakemake --configfile "
    "workflow/config/cifar10_learned.yaml -- metrics` (GIST) and the same with cifar10_learned_images.yaml (pixels)",
    note="We read similar as within a tenth. R is 0, 1, 2, 4, 8 and 12, for precision also 3; an empty ball has "
    "precision 0. "
    "The paper fine-tunes a pre-trained AlexNet for 400 epochs; results/reference/learned/README.md describes our "
    "training, the number of runs, and the precision over the queries with non-empty balls. Different-extension codes, "
    "whose distances grow by s, show the same order without training, see S2-07.",
)
def squared_with_margins(results: Results) -> Evidence:
    """Compare the means of the four objectives at every radius that the tables have, by feature."""
    tables: dict[str, dict[tuple[str, int, str], float]] = {}
    for row in results.rows(
        dataset="cifar10",
        feature=tuple(_SUBSTITUTES),
        ground_truth="class_label",
        split="cifar10_s1",
        hasher=tuple(_OBJECTIVES),
        extension="none",
    ):
        tables.setdefault(row.feature, {}).setdefault((row.metric, row.n_bits, row.hasher), row.mean)
    by_feature = {feature: found for feature in _SUBSTITUTES if (found := _of_margins(tables.get(feature, {})))}
    substitute = f"{' and '.join(_SUBSTITUTES[feature] for feature in by_feature)} for a fine-tuned AlexNet"
    values = {f"{feature}: {part}": number for feature, found in by_feature.items() for part, number in found.items()}
    return Evidence.as_printed(values, substitute=substitute)


def _of_margins(means: Mapping[tuple[str, int, str], float]) -> dict[str, Any]:
    """Return the values of S2-09 from means by metric, code length and hasher, except those that lack a mean."""

    def four(metric: str, n_bits: int) -> list[float]:
        return [means.get((metric, n_bits, hasher), np.nan) for hasher in _OBJECTIVES]

    def steps(name: str) -> list[float]:
        return [step for n in _LEARNED_BITS for r in _LEARNED_RADII for step in np.diff(four(f"{name}@r{r}", n))]

    names = [f"{name}@r{r}" for name in ("RAMAP", "empty", "precision") for r in _LEARNED_RADII]
    if np.isnan([four(metric, n) for metric in ("mAP", "precision@r3", *names) for n in _LEARNED_BITS]).any():
        return {}
    maps = np.array([four("mAP", n) for n in _LEARNED_BITS])
    precision = {n: {r: four(f"precision@r{r}", n) for r in sorted({3, *_LEARNED_RADII})} for n in _LEARNED_BITS}
    above = {n: [r for r, (zero, of_4, *_) in precision[n].items() if of_4 > zero] for n in _LEARNED_BITS}
    below_3 = sum(not {0, 1, 2}.isdisjoint(above[n]) for n in _LEARNED_BITS)
    missing = {n: [r for r in precision[n] if r >= 3 and r not in above[n]] for n in _LEARNED_BITS}
    less = sum(
        precision[n][m][place] < precision[n][0][0]
        for n in _LEARNED_BITS
        for place, m in enumerate(_OBJECTIVES.values())
        if m
    )
    counted = (
        sum(step >= 0 for step in steps("RAMAP")),
        sum(step < 0 for step in steps("empty")),
        below_3,
        sum(map(len, missing.values())),
        less,
    )
    return {
        _MAP_APART: (np.ptp(maps, axis=1) / maps.mean(axis=1)).max(),
        **dict(zip(_COUNTED, counted, strict=True)),
        "these radii, by code length": {f"{n} bits": missing[n] or "none" for n in _LEARNED_BITS},
    }


@PAPER.claim(
    "S2-09-lookups",
    place="figure 7",
    statement="With 48 and 64 bits, the cost of a bucket search grows exponentially with the radius.",
    expected={"steps to R = 1, 2, 3 where lookups grow less than tenfold": 0},
    note="The figure has milliseconds, whereas lookups do not depend on the machine. "
    "results/reference/learned/README.md contains our times.",
)
def growth_of_lookups() -> Values:
    """Count the codes in the balls of radius 0 to 3."""
    balls = {n: _ball_sizes(n) for n in _LEARNED_BITS}
    return {
        "steps to R = 1, 2, 3 where lookups grow less than tenfold": sum(
            later < 10 * former for found in balls.values() for former, later in itertools.pairwise(found)
        ),
        "lookups": {f"{n} bits": found for n, found in balls.items()},
    }


def _ball_sizes(n_bits: int) -> list[float]:
    """Return the lookups at R = 0, 1, 2, 3."""
    counts = histograms([1] + [0] * n_bits, [1] + [0] * n_bits)
    return [value(counts, f"lookups@r{r}") for r in range(4)]
