"""Evidence for and against the claims of *Learning to Hash for Large Scale Image Retrieval*."""

from collections.abc import Iterator

from evidence.case import Case, Row


def counted(dataset: str, **values: float) -> Iterator[Row]:
    for statistic, value in values.items():
        yield {"dataset": dataset, "statistic": statistic.replace("_", " "), "value": value}


def datasets(off: float = 0) -> Iterator[Row]:
    """Yield the columns of table 3.1, moved; the means of NUS-WIDE as its files may have them."""
    yield from counted("cifar10", n=60_000 + off, classes=10, labels=1, per_class=6_000)
    yield from counted("labelme", n=22_019 + off, dimension=512)
    yield from counted("sift1m", n=1_000_000 + off, dimension=128)
    yield from counted(
        "nuswide", n=269_648 + off, classes=81, labels=1.8684 + off, per_class=6219.87 + 9 * off, bow=500
    )


def cross_modal(off: float = 0) -> Iterator[Row]:
    yield from counted("wiki", n=2866 + off, classes=10 + off, image=128 + off, text=10)
    yield from counted("nuswide", tags=5018 + off)


def curves(precisions: tuple[float, ...], recalls: tuple[float, ...]) -> Iterator[Row]:
    """Yield the same micro precision and recall at the radii 0, 1 ... for the three methods of figure 3.8."""
    for hasher in ("grh", "sh", "itq"):
        for name, values in (("precision", precisions), ("recall", recalls)):
            for radius, mean in enumerate(values):
                yield {"hasher": hasher, "n_bits": 32, "metric": f"{name}_micro@r{radius}", "mean": mean}


def searches(sign: int) -> Iterator[Row]:
    """Yield scores of eight hashers, by which a bucket search orders them alike (1) or the other way round (-1)."""
    for place, hasher in enumerate(("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")):
        for n_bits in (16, 32):
            for name, value in (("AUPRC[area]", place), ("mAP", place), ("best F1 of a bucket search", sign * place)):
                yield {"dataset": "digits", "statistic": f"{name}, {hasher}, {n_bits} bits", "value": value}


def areas(off: float) -> Iterator[Row]:
    """Yield mAP and mean areas per query of eight hashers, which differ by `off`."""
    for hasher in ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"):
        for n_bits in (16, 32):
            for name, value in (("AUPRC_macro[area]", 0.5 + off), ("mAP", 0.5)):
                yield {"dataset": "digits", "statistic": f"{name}, {hasher}, {n_bits} bits", "value": value}


CASES = {
    "S4-01": Case(confirming=[*datasets()], refuting=[*datasets(1)]),
    "S4-11": Case(confirming=[*cross_modal()], refuting=[*cross_modal(1)]),
    "S4-12": Case(
        confirming=[*curves((0.6, 0.5, 0.4), (0.1, 0.2, 0.3))],
        refuting=[*curves((0.4, 0.5, 0.6), (0.1, 0.2, 0.3))],
    ),
    "X-25": Case(confirming=[*areas(-0.01)], refuting=[*areas(0.03)]),
    "X-17": Case(confirming=[*searches(1)], refuting=[*searches(-1)]),
}
