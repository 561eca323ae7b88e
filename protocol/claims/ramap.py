"""Claims of *On the Evaluation Metric for Hashing* (RAMAP)."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protocol import registry
from protocol.claims._claim import Evidence, Paper, Values
from protocol.claims._rankings import histograms, per_query, random_counts, value
from protocol.claims._results import Results, Row
from protocol.codes import EXTENSIONS
from protocol.ranking import HammingCounts

PAPER = Paper("On the Evaluation Metric for Hashing")

_ROUNDING = 5e-5  # half a unit of the last printed digit
_DIGITS = 2e-9  # tables are written with nine digits, so that two roundings can part equal values by 1e-9
_PRECISIONS = (1896, 1651, 1433, 1261)  # of LSH at radius 0 to 3, printed with four digits
_LAST = 1000  # at radius 8, where the ball is the whole database
_ALEXNET = "4096-d AlexNet features of CIFAR-10, hashed by 8-bit LSH under the split `cifar10_s1`"
_EMPTY_IS_ZERO = "an empty ball has precision 0, and its query counts"


@PAPER.claim(
    "S2-01",
    place="table 1",
    statement="Everything within radius R of a Q-bit code costs as many bucket lookups as there are codes in the ball.",
    expected={"lookups, Q = 8": [1, 9, 37, 93, 163, 219, 247, 255, 256]},
    note="The ball is defined with distances equal to r, which is a shell; table 1 sums distances up to r.",
    errata=("E2-02",),
)
def lookups() -> Values:
    """Score 8-bit codes by lookups@rR."""
    counts = histograms([1, 8, 28, 56, 70, 56, 28, 8, 1], [1, 0, 0, 0, 0, 0, 0, 0, 0])
    return {"lookups, Q = 8": [value(counts, f"lookups@r{r}") for r in range(9)]}


@PAPER.claim(
    "S2-02",
    place="table 2, MAP",
    statement="MAP of the top n is the same for LSH and for its same- and different-extension codes, and falls with n.",
    expected={
        "largest difference between the three": 0,
        "n": [5000, 10000, 15000, 20000, 25000, 45000, 50000],
        "MAP": [0.1792, 0.1644, 0.1624, 0.1521, 0.1501, 0.1375, 0.1365],
    },
    within={"MAP": 0.01},
    data=True,
    needs=f"for the level of the row, {_ALEXNET}, with the metrics mAP@n[retrieved]; the identity is decided",
    note="Section 2.3 prints MAP over all relevant items and without a cutoff; such a row could not fall with n, so "
    "the table is over the relevant items among the top n.",
    errata=("E2-04",),
)
def same_map(results: Results) -> Values:
    """Compare random codes of several lengths, with and without cutoff; and every pair of rows in the tables."""
    apart, falling = 0.0, {"retrieved": 0, "all": 0}
    for seed in range(20):
        n_bits, s = 2 + seed % 6, 1 + seed % 3
        plain, same, different = _extended(seed, n_bits, s)
        for denominator in falling:
            row = [value(plain, f"mAP@{n}[{denominator}]") for n in (5, 10, 20)]
            falling[denominator] += bool((np.diff(row) < -1e-12).any())
        for name in ("mAP", "mAP@7[retrieved]", "mAP@7[all]"):
            reference = per_query(plain, name)
            apart = max(apart, *(np.abs(per_query(counts, name) - reference).max() for counts in (same, different)))
    pairs = [pair for extension in EXTENSIONS[1:] for pair in _pairs(results, "mAP", "none", extension)]
    apart = max([apart if apart > 1e-12 else 0.0, *(_beyond_digits(abs(a.mean - b.mean)) for a, b in pairs)])
    cutoffs = [5000, 10000, 15000, 20000, 25000, 45000, 50000]
    level = _lsh(results, [f"mAP@{n}[retrieved]" for n in cutoffs])
    found: dict[str, Any] = {
        "largest difference between the three": apart,
        "pairs of rows compared": len(pairs),
        "of 20 random rows, those that fall with n, over the relevant items found": falling["retrieved"],
        "over all relevant items": falling["all"],
    }
    return found | ({"n": cutoffs, "MAP": level} if level else {})


def _lsh(
    results: Results, metrics: Sequence[str], *, feature: str = "alexnet", split: str = "cifar10_s1"
) -> list[float]:
    """Return the means of 8-bit LSH on CIFAR-10; nothing where one is missing."""
    cell = {"dataset": "cifar10", "feature": feature, "ground_truth": "class_label", "split": split, "hasher": "lsh"}
    found = {row.metric: row.mean for row in results.rows(**cell, n_bits=8, extension="none", metric=metrics)}
    return [found[metric] for metric in metrics] if set(metrics) <= set(found) else []


def _extended(seed: int, n_bits: int, s: int) -> list[HammingCounts]:
    return [
        random_counts(seed, n_bits, extension=name, extension_bits=0 if name == "none" else s) for name in EXTENSIONS
    ]


def _beyond_digits(difference: float) -> float:
    return difference if difference > _DIGITS else 0.0


def _pairs(results: Results, metric: str, left: str, right: str) -> list[tuple[Row, Row]]:
    """Return the rows of one cell and folder with two extensions, of equal length unless the left one is ``none``."""

    def cell(row: Row) -> tuple[Any, ...]:
        lengths = () if left == "none" else (row.extension_bits,)
        return (
            row.folder,
            row.dataset,
            row.feature,
            row.ground_truth,
            row.split,
            row.hasher,
            row.n_bits,
            row.metric,
            *lengths,
        )

    of_left = {cell(row): row for row in results.rows(extension=left) if row.metric.startswith(metric)}
    of_right = [row for row in results.rows(extension=right) if row.metric.startswith(metric)]
    return [(of_left[cell(row)], row) for row in of_right if cell(row) in of_left]


def _with_precisions(ten_thousandths: Sequence[int | None], n_bits: int) -> HammingCounts:
    """Return counts of one query with the given precisions at radius 0, 1, ...; the ball is empty where it is None."""
    balls = np.array([0 if p is None else 10_000 * 4**r for r, p in enumerate(ten_thousandths)])
    found = np.array([0 if p is None else p * 4**r for r, p in enumerate(ten_thousandths)])
    rest = np.zeros(n_bits + 1 - balls.size, dtype=int)
    return histograms(np.append(np.diff(balls, prepend=0), rest), np.append(np.diff(found, prepend=0), rest))


def _from_precisions(printed: Mapping[str, float], n_bits: int, *, shift: int = 0, empty: str = "zero") -> Values:
    """Return for each printed RAMAP@R the value in reach of the printed precisions that is nearest to it.

    The precisions at the radii 0 to 3 are known to half a unit of their last digit; those at 4 to 7 are not printed,
    and lie between those at 3 and 8.
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
    return found | {"from the digits as they are, R = 0 to 3": unrounded}


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
    "The precisions have four digits, so a value is known to an interval only: for same-extension codes of 9 and 16 "
    "bits the four digits give 0.103055 and 0.099656 at R = 1, printed 0.1030 and 0.0996, within it."
)


@PAPER.claim(
    "S2-03-LSH",
    place="tables 2 and 3, RAMAP of LSH (8 bits)",
    statement="RAMAP@R is the mean over r <= R of the precision at r over the codes in the ball, from the precision "
    "row.",
    expected=_LSH,
    within=_ROUNDING,
    note="Section 3.2 gives the name precision(y, R) to the precision over the cost too.",
    errata=("E2-03",),
)
def ramap_lsh() -> Values:
    """Score counts with the printed precisions; ours is the value within their rounding that is nearest."""
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
    """Score them as for LSH, with 9 bits."""
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
    """Score them as for LSH, with 16 bits."""
    return _from_precisions(_SE_8, 16)


@PAPER.claim(
    "S2-03-LSH_DEs1",
    place="table 2, RAMAP of different-extension codes, s = 1 (9 bits)",
    statement="RAMAP@R follows from the precision row shifted by one radius, with the balls of 9 bits.",
    expected=_DE_1,
    within=_ROUNDING,
    note="The ball of radius 0 is empty for every query, which the row counts as 0.",
    errata=("E2-06",),
)
def ramap_different_1() -> Evidence:
    """Score them as for LSH, with 9 bits and an empty ball at radius 0, under both conventions for it."""
    return Evidence(
        {
            _EMPTY_IS_ZERO: _from_precisions(_DE_1, 9, shift=1),
            "an empty ball is left out": _from_precisions(_DE_1, 9, shift=1, empty="drop"),
        }
    )


@PAPER.claim(
    "S2-04",
    place="table 3, precision and recall",
    statement="Precision and recall of 8-bit LSH by radius; same-extension codes have the same.",
    expected={
        "precision at R = 8": 0.1,
        "recall at R = 8": 1.0,
        "precision at R = 9, same extension": 0.1,
        "precision at R = 0 to 3": [0.1896, 0.1651, 0.1433, 0.1261],
        "recall at R = 0 to 3": [0.009, 0.0637, 0.2147, 0.4609],
    },
    within={"precision at R = 0 to 3": 0.02, "recall at R = 0 to 3": 0.02},
    data=True,
    needs=f"{_ALEXNET}, with the metrics precision@r0 to recall@r3; the end points are decided, exactly",
    note="The last ball is the database: 5,900 of 59,000. With GIST, which the paper does not use, precision is lower.",
)
def precision_and_recall(results: Results) -> Values:
    """Score a database of 59,000 with 5,900 relevant items; read the other radii from rows with AlexNet features."""
    whole, extended = (
        histograms([59_000] + [0] * 8, [5_900] + [0] * 8),
        histograms([59_000] + [0] * 9, [5_900] + [0] * 9),
    )
    found: dict[str, Any] = {
        "precision at R = 8": value(whole, "precision@r8"),
        "recall at R = 8": value(whole, "recall@r8"),
        "precision at R = 9, same extension": value(extended, "precision@r9"),
    }
    for name in ("precision", "recall"):
        metrics = [f"{name}@r{radius}" for radius in range(4)]
        if row := _lsh(results, metrics):
            found[f"{name} at R = 0 to 3"] = row
        if row := _lsh(results, metrics[:3], feature="gist", split="standard"):
            found[f"{name} at R = 0 to 2 with GIST"] = row
    return found


@PAPER.claim(
    "S2-05",
    place="table 2, different extension, R = 0",
    statement="An empty ball has precision 0, and the query counts: RAMAP@0 is 0.0000.",
    expected={"RAMAP@0": 0.0},
    note="The only place where the paper fixes what 0/0 is.",
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
    statement="With 2 and 5 relevant items at distance 0 and 1, or 3 and 4, of 10 relevant ones, precision@1 is 0.5 "
    "and recall@1 is 0.7 either way, although the second code is better.",
    expected={"precision@1": [0.5, 0.5], "recall@1": [0.7, 0.7], "ball size": 14},
    within=1e-12,
    note="The text names figures 3, 5 and 7 where the captions have 2, 4 and 6.",
    errata=("E2-07",),
)
def codes_1_and_2() -> Values:
    """Score both codes with 14 items within radius 1; RAMAP tells them apart."""
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
    statement="Different extension by s bits adds s to every distance. Precision and recall are the same with and "
    "without same extension, MAP for all three; RAMAP of the codes is at least that of same, and that at least that of "
    "different extension.",
    expected={
        "distances not moved by s": 0,
        "unequal MAP, precision or recall": 0,
        "RAMAP in the wrong order": 0,
        "rows of the tables against it": 0,
    },
    data=True,
    note="At radius 0 the codes and their same extension have equal RAMAP.",
)
def extension_codes(results: Results) -> Values:
    """Score 60 random rankings at every radius; compare every pair of rows with and without extension in the tables."""
    moved = unequal = order = 0
    for seed in range(60):
        n_bits, s = 2 + seed % 6, 1 + seed % 3
        plain, same, different = _extended(seed, n_bits, s)
        moved += int((different.retrieved[:, s:] != plain.retrieved).sum() + different.retrieved[:, :s].sum())
        unequal += sum(not np.allclose(per_query(c, "mAP"), per_query(plain, "mAP")) for c in (same, different))
        for radius in range(n_bits + 1):
            for name in (f"precision@r{radius}", f"recall@r{radius}"):
                unequal += int((per_query(same, name) != per_query(plain, name)).sum())
            first, second, third = (per_query(c, f"RAMAP@r{radius}") for c in (plain, same, different))
            order += int((first < second - 1e-15).sum() + (second < third - 1e-15).sum())
    against, compared = _against_the_extensions(results)
    return {
        "distances not moved by s": moved,
        "unequal MAP, precision or recall": unequal,
        "RAMAP in the wrong order": order,
        "rows of the tables against it": against,
        "rows compared": compared,
    }


def _against_the_extensions(results: Results) -> tuple[int, int]:
    equal = [("mAP", "none", "same"), ("mAP", "none", "different")]
    equal += [(name, "none", "same") for name in ("precision@", "recall@")]
    differences = [abs(a.mean - b.mean) for name in equal for a, b in _pairs(results, *name)]
    falling = [("none", "same"), ("same", "different")]
    differences += [b.mean - a.mean for pair in falling for a, b in _pairs(results, "RAMAP@", *pair)]
    return sum(difference > _DIGITS for difference in differences), len(differences)


@PAPER.claim(
    "S2-08",
    place="section 5.1",
    statement="The setting: 1,000 queries, 100 of each class, 59,000 in the database, 5,000 to train on; 8-bit LSH on "
    "4096-d AlexNet features, extended by 1 and 8 bits; deep squared hashing with margins 4, 8, 12 and 48 or 64 bits.",
    expected={
        "queries": 1000,
        "per class": 100,
        "database": 59000,
        "train": 5000,
        "feature": 4096,
        "Q": 8,
        "s": [1, 8],
        "rates": [0.05, 0.025],
        "lower after": 200,
        "epochs": 400,
        "weight decay": 5e-5,
        "batch": 128,
        "growth of beta": 1.005,
        "m": [4, 8, 12],
        "bits": [48, 64],
        "seeds": 5,
    },
    needs="the AlexNet features, and `deep_squared` trained on them as there; the split is decided",
    errata=("E2-01",),
    note="The two lines of the objective, eq. 4, are not equal: the first divides by all pairs, the second by those of "
    "each kind.",
)
def setting() -> Values:
    """Ask the split protocol `cifar10_s1` for the sizes it draws from CIFAR-10."""
    sizes = registry.get("split", "cifar10_s1").sizes({}, n_items=60_000, n_classes=10)
    return {
        "queries": sizes["query"],
        "per class": sizes["query"] / 10,
        "database": sizes["database"],
        "train": sizes["train"],
    }


@PAPER.claim(
    "S2-09",
    place="figures 4 to 7",
    statement="Deep squared hashing with margin 0, 4, 8, 12, at 48 and 64 bits: MAP is close, RAMAP falls in this "
    "order, more queries have empty bins with a larger margin, precision with margin 4 is above that with 0 from R = 3 "
    "on, precision at R = m with margin m reaches that at R = 0 without, and lookups grow exponentially with R.",
    expected={
        "largest difference of MAP over its mean": 0,
        "steps to a larger margin where RAMAP does not fall": 0,
        "steps to a larger margin with fewer empty bins": 0,
        "lengths where margin 4 is above 0 in precision at R = 0, 1 or 2": 0,
        "radii by length, from 3 on, where it is not": [0, 0],
        "margins m with less precision at R = m than margin 0 at R = 0": 0,
        "steps to R = 1, 2, 3 where lookups grow less than tenfold": 0,
    },
    within={"largest difference of MAP over its mean": 0.1},
    data=True,
    needs="codes of `deep_squared` and of `m_dsh` with margins 4, 8 and 12, 48 and 64 bits: `snakemake --configfile "
    "workflow/config/cifar10_learned.yaml -- metrics`, or of cifar10_learned_images.yaml",
    note="Departures of the kept tables: in place of a pre-trained AlexNet heads of two linear layers over GIST, means "
    "of five runs, and a convolutional network trained from nothing on `pixels`, one run; 30 epochs of Adam in place "
    "of 400 of gradient descent; R = 0, 1, 2, 4, 8, 12, precision at 3 too, empty balls with precision 0. Close is "
    "within a tenth. Times stand in results/reference/learned/README.md. Different-extension codes, whose distances "
    "grow by s, show the same order without training: S2-07.",
)
def squared_with_margins(results: Results) -> Evidence:
    """Compare the means of the four objectives at every radius that the tables have, feature by feature."""
    tables: dict[str, dict[tuple[str, int, str], float]] = {}
    for row in results.rows(
        dataset="cifar10", ground_truth="class_label", split="cifar10_s1", hasher=tuple(_MARGINS), extension="none"
    ):
        name = f"{row.feature} in place of AlexNet"
        tables.setdefault(name, {}).setdefault((row.metric, row.n_bits, row.hasher), row.mean)
    readings = {name: _of_margins(means) for name, means in tables.items()}
    return Evidence({name: values for name, values in readings.items() if values})


_MARGINS = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}


def _of_margins(means: Mapping[tuple[str, int, str], float]) -> dict[str, Any]:
    """Return what S2-09 compares, of means by metric, length and hasher; nothing where a needed one is missing."""

    def four(metric: str, n_bits: int) -> list[float]:
        return [means.get((metric, n_bits, hasher), np.nan) for hasher in _MARGINS]

    def steps(name: str, n_bits: int) -> Sequence[float]:
        return [step for r in radii for step in np.diff(four(f"{name}@r{r}", n_bits))]

    lengths, radii = (48, 64), (0, 1, 2, 4, 8, 12)
    needed = ["mAP", "precision@r3", *(f"{name}@r{r}" for name in ("RAMAP", "empty", "precision") for r in radii)]
    if np.isnan([four(metric, n_bits) for metric in needed for n_bits in lengths]).any():
        return {}
    maps = np.array([four("mAP", n_bits) for n_bits in lengths])
    precision = {n: {r: four(f"precision@r{r}", n) for r in sorted({3, *radii})} for n in lengths}
    above = {n: [r for r, (zero, margin_4, *_) in precision[n].items() if margin_4 > zero] for n in lengths}
    reached = {n: {m: precision[n][m][place] for place, m in enumerate(_MARGINS.values()) if m} for n in lengths}
    ball = {n: _ball_sizes(n) for n in lengths}
    return {
        "largest difference of MAP over its mean": (np.ptp(maps, axis=1) / maps.mean(axis=1)).max(),
        "steps to a larger margin where RAMAP does not fall": sum(
            step >= 0 for n in lengths for step in steps("RAMAP", n)
        ),
        "steps to a larger margin with fewer empty bins": sum(step < 0 for n in lengths for step in steps("empty", n)),
        "lengths where margin 4 is above 0 in precision at R = 0, 1 or 2": sum(
            not {0, 1, 2}.isdisjoint(above[n]) for n in lengths
        ),
        "radii by length, from 3 on, where it is not": [
            sum(r >= 3 and r not in above[n] for r in precision[n]) for n in lengths
        ],
        "margins m with less precision at R = m than margin 0 at R = 0": sum(
            found < precision[n][0][0] for n in lengths for found in reached[n].values()
        ),
        "steps to R = 1, 2, 3 where lookups grow less than tenfold": sum(
            later < 10 * former for n in lengths for former, later in itertools.pairwise(ball[n])
        ),
        "smallest of the radii from which on margin 4 is above, by length": [
            min((r for r in precision[n] if all(s in above[n] for s in precision[n] if s >= r)), default="none")
            for n in lengths
        ],
    }


def _ball_sizes(n_bits: int) -> list[float]:
    """Return the lookups at R = 0, 1, 2, 3."""
    counts = histograms([1] + [0] * n_bits, [1] + [0] * n_bits)
    return [value(counts, f"lookups@r{r}") for r in range(4)]
