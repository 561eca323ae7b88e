"""Evidence that would confirm, and that would refute, each claim about data: rows of tables that experiments write."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from protocol import papers
from protocol.papers.claim import leaves
from protocol.papers.statements import statements
from protocol.scores.summary import COMBINATION

SUMMARY = [*COMBINATION, "mean", "std", "n_runs"]
COUNTED = ["dataset", "statistic", "value"]
USUAL = dict(
    zip(
        SUMMARY,
        ["cifar10", "gist", "class_label", "standard", "lsh", 12, "none", 0, "mAP", 0.1, 0.01, 10],
        strict=True,
    )
)

Row = dict[str, Any]
"""The columns of a summary that differ from `USUAL`, or a dataset, a statistic and its value."""


@dataclass(frozen=True)
class Case:
    """Evidence under which every part of a claim holds, and evidence under which none does."""

    confirming: list[Row]
    refuting: list[Row]


def judged(number: str, *tables: Path) -> papers.Verdict:
    """Judge one claim on tables."""
    (claim,) = [claim for claim in papers.all_claims() if claim.id == number]
    return claim.judge(papers.Results(tables))


def rows_of(path: Path, rows: list[Row]) -> Path:
    """Write rows of a summary, and return its path."""
    _write_csv(path, SUMMARY, [USUAL | row for row in rows])
    return path


def write(folder: Path, rows: list[Row]) -> list[Path]:
    """Write rows as the tables that they belong into, and return the tables."""
    summary, counted = folder / "made" / "summary.csv", folder / "reference" / "claims" / "datasets.csv"
    rows_of(summary, [row for row in rows if "statistic" not in row])
    _write_csv(counted, COUNTED, [row for row in rows if "statistic" in row])
    return [summary, counted]


def _write_csv(path: Path, columns: list[str], rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def read_by(number: str, off: float = 0.0) -> list[Row]:
    """Return rows with the expected values, moved, of a claim that only reads statistics or means."""
    (entry,) = [one for paper in PAPERS for one in statements(paper)["claims"] if one["id"] == number]
    rows: list[Row] = []
    for name, (dataset, *statistics) in entry.get("statistics", {}).items():
        for statistic, value in zip(statistics, leaves(entry["expected"][name]), strict=True):
            rows.append({"dataset": dataset, "statistic": statistic, "value": value + off})
    for selection in entry.get("means", ()):
        columns = {name: value[0] if isinstance(value, list) else value for name, value in selection["where"].items()}
        for name, hasher in selection["hashers"].items():
            means = [mean + off for mean in entry["expected"][name]]
            rows += by_length(hasher, means, selection["n_bits"], **columns)
    return rows


def by_length(hasher: str, means: Sequence[float], lengths: Sequence[int], **columns: Any) -> Iterator[Row]:
    for n_bits, mean in zip(lengths, means, strict=True):
        yield {"hasher": hasher, "n_bits": n_bits, "mean": mean} | columns


PAPERS = ("metrics", "mlgap", "ramap", "talr", "thesis")
READ = ("S0-14", "S3-15", "S3-16", "S3-17", "S3-18", "S3-20", "S4-01", "S4-11")
"""Claims that only read."""


METHODS = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")
DATASETS = {"CIFAR-10": ("cifar10", "cifar10_s2"), "CIFAR-100": ("cifar100", "cifar100_mlgap")}
Levels = Mapping[tuple[str, int], Sequence[float]]
"""mLGAP and mAP by dataset and code length."""


def levels(number: str) -> Levels:
    """Return the values of table 1 of one objective."""
    printed = papers.printed()[number]
    cases = [(title, n_bits) for title in DATASETS for n_bits in (12, 24)]
    return {(t, n): [printed[f"{t}, {n} bits: {metric}"] for metric in ("mLGAP", "mAP")] for t, n in cases}


OLD, NEW = levels("S0-10"), levels("S0-11")


def network(hasher: str, title: str, n_bits: int, **means: float) -> list[Row]:
    """Return a row for each mean of a network on images; ``r1`` in a metric's name is written ``_r1``."""
    dataset, split = DATASETS[title]
    columns = {"dataset": dataset, "split": split, "feature": "pixels", "hasher": hasher, "n_bits": n_bits, "n_runs": 1}
    return [columns | {"metric": metric.replace("_r", "@r"), "mean": mean} for metric, mean in means.items()]


def table_1(hasher: str, values: Levels, radius: int = 2) -> list[Row]:
    """Return the rows of networks with given mLGAP, at one radius, and mAP."""
    return [
        row
        for (title, n_bits), (mlgap, mean) in values.items()
        for row in network(hasher, title, n_bits, **{f"mLGAP_r{radius}": mlgap, "mAP": mean})
    ]


def off(values: Levels) -> Levels:
    """Return values outside the tolerance."""
    return {case: (mlgap + 0.1, mean + 0.1) for case, (mlgap, mean) in values.items()}


def of_methods(metric: str, means: list[float]) -> list[Row]:
    """Return a row of each unsupervised method."""
    return [{"hasher": hasher, "metric": metric, "mean": mean} for hasher, mean in zip(METHODS, means, strict=True)]


FALLING = [0.9 - 0.01 * place for place in range(8)]
RISING = FALLING[::-1]


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
    ("talr_ap", "mAP", "relaxation integral"): (16, 32, 48, 64),
    ("talr_ndcg", "nDCG", "relaxation integral"): (16, 32, 48, 64),
}
GROWING = {("talr_ap", "mAP", f"alpha 1, growth {growth}, rate_over_alpha True"): (32,) for growth in (10, 40)}


def seconds(*values: float) -> list[Row]:
    names = [f"CPU seconds to count and score, {n:,} items" for n in (10_000, 100_000, 1_000_000)]
    return [
        {"dataset": "random codes", "statistic": name, "value": value}
        for name, value in zip(names, values, strict=True)
    ]


SHRINKING, GROWN = {12: 0.1, 24: 0.05}, {12: 0.05, 24: 0.1}


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


WHOLE = {"dataset": "nuswide", "feature": "bow", "mean": 0.2}
TOP = WHOLE | {"metric": "mAP@5000[retrieved]"}

CASES = {
    number: Case(read_by(number), read_by(number, 10 if number in ("S0-14", "S4-01", "S4-11") else -0.1))
    for number in READ
}
CASES |= {
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
    "S0-15": Case(confirming=within(0.3, 0.5), refuting=within(0.2, 0.5)),
    "X-04": Case(
        confirming=[WHOLE, TOP | {"mean": 0.3}, WHOLE | {"n_bits": 16}, TOP | {"mean": 0.21, "n_bits": 16}],
        refuting=[WHOLE, TOP | {"mean": 0.3}, WHOLE | {"n_bits": 16}, TOP | {"mean": 0.19, "n_bits": 16}],
    ),
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
    "S3-14": Case(
        confirming=[*ties(SHRINKING), *ties(SHRINKING, n_runs=1, split="cifar10_s1")],
        refuting=[
            *ties(GROWN, index=0.21, outside=0.15),
            *ties(GROWN, index=0.21, outside=0.15, n_runs=1, split="cifar10_s1"),
        ],
    ),
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
    "S4-12": Case(
        confirming=[*curves((0.6, 0.5, 0.4), (0.1, 0.2, 0.3))],
        refuting=[*curves((0.4, 0.5, 0.6), (0.1, 0.2, 0.3))],
    ),
    "X-25": Case(confirming=[*areas(-0.01)], refuting=[*areas(0.03)]),
    "X-17": Case(confirming=[*searches(1)], refuting=[*searches(-1)]),
}
