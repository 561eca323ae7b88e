"""Evidence for and against the claims of *Mean Local Group Average Precision*."""

from collections.abc import Mapping

from evidence.case import Case, Row

METHODS = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")
DATASETS = {"CIFAR-10": ("cifar10", "cifar10_s2"), "CIFAR-100": ("cifar100", "cifar100_mlgap")}
# mLGAP and mAP by dataset and code length, as table 1 prints them.
OLD = {
    ("CIFAR-10", 12): (0.2633, 0.6012),
    ("CIFAR-10", 24): (0.2889, 0.6407),
    ("CIFAR-100", 12): (0.0637, 0.1514),
    ("CIFAR-100", 24): (0.066, 0.1556),
}
NEW = {
    ("CIFAR-10", 12): (0.2796, 0.3008),
    ("CIFAR-10", 24): (0.3461, 0.3124),
    ("CIFAR-100", 12): (0.1703, 0.1156),
    ("CIFAR-100", 24): (0.331, 0.1187),
}


def network(hasher: str, title: str, n_bits: int, **means: float) -> list[Row]:
    """Return a row for each mean of a network on images; ``r1`` in a metric's name is written ``_r1``."""
    dataset, split = DATASETS[title]
    columns = {"dataset": dataset, "split": split, "feature": "pixels", "hasher": hasher, "n_bits": n_bits, "n_runs": 1}
    return [columns | {"metric": metric.replace("_r", "@r"), "mean": mean} for metric, mean in means.items()]


def table_1(hasher: str, values: Mapping[tuple[str, int], tuple[float, float]], radius: int = 2) -> list[Row]:
    """Return the rows of networks with given mLGAP, at one radius, and mAP."""
    return [
        row
        for (title, n_bits), (mlgap, mean) in values.items()
        for row in network(hasher, title, n_bits, **{f"mLGAP_r{radius}": mlgap, "mAP": mean})
    ]


def off(values: Mapping[tuple[str, int], tuple[float, float]]) -> dict[tuple[str, int], tuple[float, float]]:
    """Return values outside the tolerance."""
    return {case: (mlgap + 0.1, mean + 0.1) for case, (mlgap, mean) in values.items()}


def of_methods(metric: str, means: list[float]) -> list[Row]:
    """Return a row of each unsupervised method."""
    return [{"hasher": hasher, "metric": metric, "mean": mean} for hasher, mean in zip(METHODS, means, strict=True)]


FALLING = [0.9 - 0.01 * place for place in range(8)]
RISING = FALLING[::-1]
COUNTS = {
    "cifar10": {"classes": 10, "per class": 6000, "train per class": 5000, "test per class": 1000},
    "cifar100": {"fine": 100, "coarse": 20, "fine per coarse": 5, "per fine": 600},
}


def counted(more: int) -> list[Row]:
    """Return the counts of both datasets, each increased by `more`."""
    return [
        {"dataset": dataset, "statistic": name, "value": value + more}
        for dataset, values in COUNTS.items()
        for name, value in values.items()
    ]


def of_both(metric: str, old: float, new: float) -> list[Row]:
    """Return rows of both objectives on CIFAR-10."""
    return [
        row
        for n_bits in (12, 24)
        for hasher, mean in (("deep_supervised", old), ("buffer_zone", new))
        for row in network(hasher, "CIFAR-10", n_bits, **{metric: mean})
    ]


def within(r1: float, r2: float) -> list[Row]:
    """Return rows of recall by the new objective."""
    return [
        row for n_bits in (12, 24) for row in network("buffer_zone", "CIFAR-10", n_bits, recall_r1=r1, recall_r2=r2)
    ]


CASES = {
    "S0-08": Case(
        confirming=of_methods("mAP", [0.15] * 5 + [0.21] * 3),
        refuting=of_methods("mAP", [0.15] * 3 + [0.21] * 5),
    ),
    "S0-09": Case(
        confirming=of_methods("utilisation", [0.6] * 8),
        refuting=of_methods("utilisation", [0.4] * 8),
    ),
    "X-03": Case(
        confirming=of_methods("mAP", RISING) + of_methods("utilisation", FALLING),
        refuting=of_methods("mAP", RISING) + of_methods("utilisation", RISING),
    ),
    "S0-10": Case(
        confirming=table_1("deep_supervised_750", OLD),
        refuting=table_1("deep_supervised_750", off(OLD)),
    ),
    "S0-11": Case(
        confirming=table_1("buffer_zone_750", NEW, radius=1),
        refuting=table_1("buffer_zone_750", off(NEW), radius=1),
    ),
    "S0-12": Case(
        confirming=table_1("deep_supervised", OLD) + table_1("buffer_zone", NEW),
        refuting=table_1("deep_supervised", NEW) + table_1("buffer_zone", OLD),
    ),
    "X-02": Case(
        confirming=of_both("utilisation", 0.3, 0.4),
        refuting=of_both("utilisation", 0.4, 0.3),
    ),
    "S0-14": Case(confirming=counted(0), refuting=counted(1)),
    "S0-15": Case(confirming=within(0.3, 0.5), refuting=within(0.2, 0.5)),
}
