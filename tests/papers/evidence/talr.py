"""Evidence for and against the claims of *Hashing as Tie-Aware Learning to Rank*."""

from collections.abc import Iterator
from typing import Any

from evidence.case import Case, Row
from protocol import papers as claims

EXPECTED = {claim.id: claim.expected for claim in claims.all_claims()}
HALVES = {
    "CIFAR-10 S1": ({"dataset": "cifar10", "split": "cifar10_s1", "metric": "mAP"}, (12, 24, 32, 48)),
    "NUS-WIDE": ({"dataset": "nuswide", "split": "nuswide_21", "metric": "mAP"}, (12, 24, 32, 48)),
    "CIFAR-10 S2": ({"dataset": "cifar10", "split": "cifar10_s2", "metric": "mAP"}, (16, 24, 32, 48)),
    "NUS-WIDE AP@5K": (
        {"dataset": "nuswide", "split": "nuswide_21", "metric": "mAP@5000[retrieved]"},
        (12, 24, 32, 48),
    ),
}
LATER = (16, 32, 48, 64)
IMAGENET = {
    "dataset": "imagenet100",
    "split": "imagenet100",
    "feature": "alexnet",
    "metric": "mAP@1000[retrieved]",
}
NUSWIDE = {"dataset": "nuswide", "split": "nuswide_21", "feature": "vgg_f", "metric": "nDCG"}
LABELME = {
    "dataset": "labelme",
    "split": "labelme_2k",
    "ground_truth": "graded_distance",
    "feature": "precomputed",
    "metric": "nDCG",
}


def ties(widths: dict[int, float], *, index: float = 0.2, outside: float = 0.0, **columns: Any) -> Iterator[Row]:
    """Yield the four readings of ties at each code length, the worst and the best by a width from the mean."""
    for n_bits, width in widths.items():
        scores = {"mAP": 0.2, "mAP[best]": 0.2 + width, "mAP[worst]": 0.2 - width + outside, "mAP[index]": index}
        for metric, mean in scores.items():
            yield {"n_bits": n_bits, "metric": metric, "mean": mean} | columns


def ranges(centres: tuple[float, ...]) -> Iterator[Row]:
    """Yield ranges of ties, 0.02 wide, of a method for each centre, with the split S1."""
    for n_bits in (12, 24, 32, 48):
        for method, centre in enumerate(centres):
            columns = {"hasher": f"method_{method}", "n_bits": n_bits, "split": "cifar10_s1"}
            yield columns | {"metric": "mAP[best]", "mean": centre + 0.01}
            yield columns | {"metric": "mAP[worst]", "mean": centre - 0.01}


def by_length(hasher: str, means: list[float], lengths: tuple[int, ...], **columns: Any) -> Iterator[Row]:
    for n_bits, mean in zip(lengths, means, strict=True):
        yield {"hasher": hasher, "n_bits": n_bits, "mean": mean} | columns


def hasher_of(method: str) -> str:
    return method.lower().replace("-", "_")


def printed(number: str, lengths: tuple[int, ...], moved: float = 0.0, **columns: Any) -> Iterator[Row]:
    """Yield the rows of a printed table of methods by code lengths, every value moved."""
    for method, means in EXPECTED[number].items():
        linear = "_linear" if number == "S3-18" and method in ("DPSH", "DTSH", "MIHash") else ""
        yield from by_length(hasher_of(method) + linear, [mean + moved for mean in means], lengths, **columns)


def table_1(moved: float = 0.0) -> Iterator[Row]:
    for row, means in EXPECTED["S3-15"].items():
        half, _, method = row.rpartition(", ")
        columns, lengths = HALVES[half]
        yield from by_length(hasher_of(method), [mean + moved for mean in means], lengths, feature="vgg_f", **columns)


def appendix_d(moved: float = 0.0) -> Iterator[Row]:
    columns, lengths = HALVES["CIFAR-10 S1"]
    for name, hasher in (("alpha 40", "talr_ap_40"), ("alpha without bound", "talr_ap_growing")):
        means = [mean + moved for mean in EXPECTED["S3-20"][name]]
        yield from by_length(hasher, means, lengths, feature="vgg_f", **columns)


def supervised(means: dict[str, float]) -> Iterator[Row]:
    """Yield the same means in both settings of CIFAR-10."""
    for split in ("standard", "cifar10_s2"):
        for hasher, mean in means.items():
            yield from by_length(hasher, [mean] * 4, (12, 24, 32, 48), split=split, std=0.001)


def variants(default: float, other: float, names: dict[tuple[str, str, str], tuple[int, ...]]) -> Iterator[Row]:
    """Yield the differences of variants of a hasher on the digits from its default, over ten runs."""
    for (hasher, metric, variant), lengths in names.items():
        for n_bits in lengths:
            name = f"{metric} of {hasher}, {variant}, {n_bits} bits"
            for what, value in (
                ("difference from the default", other - default),
                ("standard error of this difference", 0.001),
                ("runs", 10),
            ):
                yield {"dataset": "digits", "statistic": f"{name}: {what}", "value": value}


SIMPLIFIED = {
    ("talr_ap", "mAP", "relaxation integral"): LATER,
    ("talr_ndcg", "nDCG", "relaxation integral"): LATER,
}
GROWING = {("talr_ap", "mAP", f"alpha 1, growth {growth}, rate_over_alpha True"): (32,) for growth in (10, 40)}


def seconds(*values: float) -> list[Row]:
    names = [f"CPU seconds to count and score, {n:,} items" for n in (10_000, 100_000, 1_000_000)]
    return [
        {"dataset": "random codes", "statistic": name, "value": value}
        for name, value in zip(names, values, strict=True)
    ]


SHRINKING, GROWN = {12: 0.1, 24: 0.05}, {12: 0.05, 24: 0.1}
CASES = {
    "S3-14": Case(
        confirming=[*ties(SHRINKING), *ties(SHRINKING, n_runs=1, split="cifar10_s1")],
        refuting=[
            *ties(GROWN, index=0.21, outside=0.15),
            *ties(GROWN, index=0.21, outside=0.15, n_runs=1, split="cifar10_s1"),
        ],
    ),
    "S3-15": Case(confirming=[*table_1()], refuting=[*table_1(-0.1)]),
    "S3-16": Case(
        confirming=[*printed("S3-16", LATER, **IMAGENET)], refuting=[*printed("S3-16", LATER, -0.1, **IMAGENET)]
    ),
    "S3-17": Case(
        confirming=[*printed("S3-17", LATER, **NUSWIDE)], refuting=[*printed("S3-17", LATER, -0.1, **NUSWIDE)]
    ),
    "S3-18": Case(
        confirming=[*printed("S3-18", LATER, **LABELME)], refuting=[*printed("S3-18", LATER, -0.1, **LABELME)]
    ),
    "S3-20": Case(confirming=[*appendix_d()], refuting=[*appendix_d(-0.1)]),
    "S3-21": Case(confirming=seconds(0.1, 0.5, 4.9), refuting=seconds(0.1, 1.2, 15.0)),
    "X-10": Case(confirming=[*ranges((0.2, 0.21, 0.225))], refuting=[*ranges((0.2, 0.3, 0.4))]),
    "X-12": Case(confirming=[*variants(0.9, 0.902, SIMPLIFIED)], refuting=[*variants(0.9, 0.8, SIMPLIFIED)]),
    "X-13": Case(
        confirming=[*supervised({"talr_ap": 0.4, "mihash": 0.38, "dtsh": 0.35, "dpsh": 0.3, "ksh": 0.2})],
        refuting=[*supervised({"talr_ap": 0.2, "mihash": 0.3, "dtsh": 0.35, "dpsh": 0.38})],
    ),
    "X-14": Case(confirming=[*variants(0.9, 0.95, GROWING)], refuting=[*variants(0.9, 0.85, GROWING)]),
    "X-15": Case(
        confirming=[*supervised({"classifier": 0.4, "talr_ap": 0.405})],
        refuting=[*supervised({"classifier": 0.35, "classifier_probabilities": 0.3, "talr_ap": 0.4})],
    ),
}
