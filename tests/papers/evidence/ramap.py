"""Evidence for and against the claims of *On the Evaluation Metric for Hashing*."""

from collections.abc import Mapping, Sequence
from math import comb

from evidence.case import Case, Row

CUTOFFS = {5000: 0.1792, 10000: 0.1644, 15000: 0.1624, 20000: 0.1521, 25000: 0.1501, 45000: 0.1375, 50000: 0.1365}
PRECISION, RECALL = (0.1896, 0.1651, 0.1433, 0.1261), (0.009, 0.0637, 0.2147, 0.4609)
ALEXNET: Row = {"feature": "alexnet", "split": "cifar10_s1", "n_bits": 8}
EXTENDED = {
    "same": {"extension": "same", "extension_bits": 1},
    "different": {"extension": "different", "extension_bits": 1},
}


def rows_of_map(means: Sequence[float], *, of_extended: float) -> list[Row]:
    """Return the MAP of the top n, and that of all items for codes and extension codes."""
    top = [ALEXNET | {"metric": f"mAP@{n}[retrieved]", "mean": m} for n, m in zip(CUTOFFS, means, strict=True)]
    extended = [ALEXNET | extension | {"mean": of_extended} for extension in EXTENDED.values()]
    return [*top, ALEXNET | {"mean": means[-1] + 0.001 * (means[0] < means[-1]) - 1e-4}, *extended]


def at_radii(name: str, values: Sequence[float], **columns: object) -> list[Row]:
    """Return a row for each radius from 0 on."""
    return [ALEXNET | columns | {"metric": f"{name}@r{r}", "mean": mean} for r, mean in enumerate(values)]


def of_table_3(more: float, *, of_same: float) -> list[Row]:
    """Return precision and recall with something added, and those of same-extension codes with something more."""
    return [
        row
        for name, values in (("precision", PRECISION), ("recall", RECALL))
        for added, extension in ((more, {}), (more + of_same, EXTENDED["same"]))
        for row in at_radii(name, [value + added for value in values], **extension)
    ]


def ramap(n_bits: int) -> list[float]:
    """Return RAMAP at the radii 0 to 3 of codes with the precisions of table 3."""
    balls = [sum(comb(n_bits, i) for i in range(r + 1)) for r in range(4)]
    terms = [precision / ball for precision, ball in zip(PRECISION, balls, strict=True)]
    return [sum(terms[: r + 1]) / (r + 1) for r in range(4)]


def of_ramap(n_bits_of_same: int) -> list[Row]:
    """Return RAMAP of codes of 8 bits, and of same-extension codes with the balls of another length."""
    return at_radii("RAMAP", ramap(8)) + at_radii("RAMAP", ramap(n_bits_of_same), **EXTENDED["same"])


def of_extensions(same: float, different: float) -> list[Row]:
    """Return mAP, recall and RAMAP of codes and extension codes."""
    means = {"none": 0.3, "same": same, "different": different}
    return [
        ALEXNET | EXTENDED.get(extension, {}) | {"metric": metric, "mean": 0.3 if equal else mean}
        for extension, mean in means.items()
        for metric, equal in (("mAP", same < 0.3), ("recall@r1", same < 0.3), ("RAMAP@r1", False))
    ]


MARGINS = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
Changes = Mapping[str, Mapping[str, float]]


def of_margins(feature: str, changed: Changes | None = None) -> list[Row]:
    """Return rows that agree with all statements about margins, except for the changed means, by metric."""
    rows = []
    for place, (hasher, margin) in enumerate(MARGINS.items()):
        means = {"mAP": 0.5}
        for r in (0, 1, 2, 3, 4, 8, 12):
            means |= {f"RAMAP@r{r}": 0.4 - 0.1 * place, f"empty@r{r}": 0.1 * place}
            means[f"precision@r{r}"] = 0.3 + 0.05 * (r >= 3) if margin else 0.32
        rows += [
            {"hasher": hasher, "metric": metric, "mean": (changed or {}).get(metric, {}).get(hasher, mean)}
            | {"n_bits": n_bits, "feature": feature, "split": "cifar10_s1"}
            for metric, mean in means.items()
            for n_bits in (48, 64)
        ]
    return rows


AGAINST: dict[str, dict[str, float]] = {"mAP": {"m_dsh_12": 0.3}} | {
    name: means
    for r in (0, 1, 2, 3, 4, 8, 12)
    for name, means in {
        f"RAMAP@r{r}": dict.fromkeys(MARGINS, 0.3),
        f"empty@r{r}": {hasher: 0.5 - 0.01 * margin for hasher, margin in MARGINS.items()},
        f"precision@r{r}": {hasher: 0.3 - 0.01 * margin for hasher, margin in MARGINS.items()} | {"m_dsh_4": 0.29},
    }.items()
}
"""Means under which nothing of it holds."""
AGAINST["precision@r1"] = {"deep_squared": 0.3, "m_dsh_4": 0.31}


def experiments(
    n_bits: int, s: Sequence[int], feature: str, margins: Sequence[int], bits: int, seeds: int
) -> list[Row]:
    """Return rows of extended codes, and of networks with margins."""
    extended = [ALEXNET | {"feature": feature, "n_bits": n_bits, "extension": "same", "extension_bits": by} for by in s]
    return extended + [
        {"hasher": f"m_dsh_{margin}", "n_bits": length, "n_runs": seeds} for margin in margins for length in (48, bits)
    ]


CASES = {
    "S2-02": Case(
        confirming=rows_of_map([*CUTOFFS.values()], of_extended=0.1364),
        refuting=rows_of_map([0.25 + 0.01 * place for place in range(len(CUTOFFS))], of_extended=0.2),
    ),
    "S2-04": Case(confirming=of_table_3(0.01, of_same=0), refuting=of_table_3(0.03, of_same=0.01)),
    "X-05": Case(confirming=of_ramap(9), refuting=of_ramap(10)),
    "X-06": Case(confirming=of_extensions(0.2, 0.1), refuting=of_extensions(0.35, 0.4)),
    "S2-08-runs": Case(
        confirming=experiments(8, (1, 8), "alexnet", (4, 8, 12), 64, 5),
        refuting=experiments(16, (2,), "gist", (4, 8), 32, 3),
    ),
    "S2-09": Case(
        confirming=of_margins("pixels") + of_margins("gist"),
        refuting=of_margins("pixels", AGAINST) + of_margins("gist", AGAINST),
    ),
}
