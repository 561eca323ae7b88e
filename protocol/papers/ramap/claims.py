"""Claims of *On the Evaluation Metric for Hashing* (RAMAP)."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import counted
from protocol.codes import EXTENSIONS
from protocol.counting import HammingCounts
from protocol.papers.claim import Evidence, Values
from protocol.papers.rankings import histograms, per_query, random_counts, value
from protocol.papers.results import Results, having
from protocol.scores.summary import COMBINATION

if TYPE_CHECKING:
    import pandas as pd

_ROUNDING = 5e-5  # half a unit of the last printed digit
_PRECISIONS = (1896, 1651, 1433, 1261)  # of LSH at radius 0 to 3, printed with four digits
_LAST = 1000  # at radius 8, where the ball is the complete database
_EMPTY = {"zero": "an empty ball has precision 0, and its query counts", "drop": "an empty ball is left out"}


def lsh(results: Results) -> "tuple[pd.DataFrame, list[str]]":
    """Return rows of 8-bit LSH on CIFAR-10 with class labels, and the substitute for the paper's features and split.

    These are rows with AlexNet features if there are any, otherwise rows with GIST.
    """
    columns = {"dataset": "cifar10", "ground_truth": "class_label", "hasher": "lsh", "n_bits": 8}
    rows = results.frame(**columns, feature="alexnet", split="cifar10_s1")
    if len(rows):
        return rows, []
    return results.frame(**columns, feature="gist", split="standard"), ["GIST for AlexNet"]


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


def extended(results: Results) -> "tuple[pd.DataFrame, list[str]]":
    """Return the rows of extended codes, and the substitute; rows of 8-bit LSH on AlexNet are preferred."""
    rows, substitute = lsh(results)
    if not substitute:
        return rows, substitute
    rows = results.frame()
    extensions = rows[rows["extension"] != "none"]
    features, n_hashers = (extensions["dataset"] + " " + extensions["feature"]).unique(), extensions["hasher"].nunique()
    return rows, [f"{counted(n_hashers, 'hasher')} on {', '.join(sorted(features))} for LSH on AlexNet features"]


def without_penalty(results: Results) -> Evidence:
    """Multiply the contribution of each radius to RAMAP by the codes in its ball, and compare the means over radii."""
    rows, substitute = extended(results)
    radii = rows["metric"].astype(str).str.extract(r"^RAMAP@r(\d+)$")[0]
    rows = rows.assign(radius=radii)[radii.notna()].astype({"radius": int}).sort_values("radius", kind="stable")
    point = ["folder", *(name for name in COMBINATION if name != "metric")]
    rows = rows[rows.groupby(point).cumcount() == rows["radius"]]  # all smaller radii are there
    if rows.empty:
        return Evidence.as_printed({})
    lengths = zip(rows["n_bits"] + rows["extension_bits"], rows["radius"], strict=True)
    codes_in_ball = [sum(math.comb(n_bits, r) for r in range(radius + 1)) for n_bits, radius in lengths]
    sums = rows[point].assign(total=rows["mean"], error=rows["mean"].map(_half_a_digit))
    sums[["total", "error"]] = sums[["total", "error"]].mul(rows["radius"] + 1, axis=0)
    before = sums.groupby(point)[["total", "error"]].shift(fill_value=0.0)
    sums = sums.assign(total=sums["total"] - before["total"], error=sums["error"] + before["error"])
    sums[["total", "error"]] = sums[["total", "error"]].mul(codes_in_ball, axis=0)
    means = sums.groupby(point)[["total", "error"]].cumsum().div(rows["radius"] + 1, axis=0)
    rows = rows[[*point, "radius"]].join(means)
    shared = ["radius", *(name for name in point if not name.startswith("extension"))]
    both = having(rows, extension="none").merge(having(rows, extension="same"), on=shared, suffixes=("", "_same"))
    if both.empty:
        return Evidence.as_printed({})
    apart = (both["total"] - both["total_same"]).abs()
    summary = {
        "pairs of rows that differ by more than their rounding": int(
            (apart > both["error"] + both["error_same"]).sum()
        ),
        "pairs of rows": len(both),
        "largest difference": apart.max(),
    }
    return Evidence.as_printed(summary, substitute=", ".join(substitute))


def _half_a_digit(number: float) -> float:
    """Return half a unit of the sixth significant digit."""
    return 0.5 * 10.0 ** (math.floor(math.log10(number)) - 5) if number > 0 else 0.0


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
    rows = results.frame(dataset="cifar10", ground_truth="class_label")
    extensions = having(rows, hasher="lsh", feature=[*_DIMENSIONS])
    extensions = extensions[extensions["extension"] != "none"]
    margins = rows["hasher"].astype(str).str.extract(r"^m_dsh_(\d+)$")[0]
    trained = rows.assign(margin=margins)[margins.notna()].astype({"margin": int})
    values: dict[str, Any] = {}
    if len(extensions):
        values["feature"] = extensions["feature"].map(_DIMENSIONS).max()
        values["Q"] = extensions["n_bits"].min()
        values["s"] = sorted(extensions["extension_bits"].unique())
    if len(trained):
        # The table with most margins: another one may have a margin of its own.
        trained = having(trained, folder=trained.groupby("folder", sort=False)["margin"].nunique().idxmax())
        values["m"] = sorted(trained["margin"].unique())
        values["bits"] = sorted(trained["n_bits"].unique())
        values["seeds"] = trained["n_runs"].max()
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
        rows = results.frame(**columns, hasher=tuple(_OBJECTIVES), extension="none")
        parts = _of_margins(rows.set_index(["metric", "n_bits", "hasher"])["mean"].to_dict())
        values |= {f"{feature}: {part}": number for part, number in parts.items()}
        features += [substitute] if parts else []
    return Evidence.as_printed(values, substitute=f"{' and '.join(features)} for a fine-tuned AlexNet")


def _of_margins(means: Mapping[tuple[str, int, str], float]) -> dict[str, Any]:
    """Return the values of S2-09 from means by metric, code length and hasher, except those that lack a mean."""

    def of(name: str, radii: Sequence[int] = _LEARNED_RADII) -> NDArray[np.float64]:
        """Return the means by code length, radius and objective."""
        metrics = [f"{name}@r{radius}" for radius in radii]
        return np.array(
            [[[means.get((metric, n, hasher), np.nan) for hasher in _OBJECTIVES] for metric in metrics] for n in bits]
        )

    bits, margins, radii = _LEARNED_BITS, [*_OBJECTIVES.values()], sorted({3, *_LEARNED_RADII})
    maps = np.array([[means.get(("mAP", n, hasher), np.nan) for hasher in _OBJECTIVES] for n in bits])
    ramap, empty, precision = np.diff(of("RAMAP")), np.diff(of("empty")), of("precision", radii)
    if any(np.isnan(numbers).any() for numbers in (maps, ramap, empty, precision)):
        return {}
    above = precision[:, :, 1] > precision[:, :, 0]
    missing = {
        n: [r for r, is_above in zip(radii, row, strict=True) if r >= 3 and not is_above]
        for n, row in zip(bits, above, strict=True)
    }
    at_margins = precision[:, list(map(radii.index, margins)), range(len(margins))]
    start, end = "precision with margin 4", "that with margin 0"
    return {
        "largest difference of MAP over its mean": (np.ptp(maps, axis=1) / maps.mean(axis=1)).max(),
        "steps to a larger margin where RAMAP does not fall": int((ramap >= 0).sum()),
        "steps to a larger margin with fewer empty bins": int((empty < 0).sum()),
        f"code lengths at which {start} exceeds {end} at R = 0, 1 or 2": int(
            above[:, np.isin(radii, (0, 1, 2))].any(axis=1).sum()
        ),
        f"radii from 3 on at which {start} does not exceed {end}": sum(map(len, missing.values())),
        "margins m whose precision at R = m is below that of margin 0 at R = 0": int(
            (at_margins < at_margins[:, :1]).sum()
        ),
        "these radii, by code length": {f"{n} bits": missing[n] or "none" for n in bits},
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
