"""The tables that claims about data are judged on: makes ``results/reference/claims/``.

Run by hand: `python tests/reference/claims_tables.py MIRROR`, which takes some minutes on one core. Names of tables
after MIRROR, such as `growth variants`, restrict it to these. MIRROR is a mirror of datasets, each in a folder of its
name; the datasets that it contains are loaded and counted. Its folder ``nuswide_lists`` has public lists of NUS-WIDE,
whose labels give the level of constant codes. Bucket searches use scikit-learn's digits. Timings and variants of TALR
are taken from ``results/reference/growth/`` and ``results/reference/talr/``, the rows about ties from the results of
`workflow/config/cifar10_s1.yaml` and `cifar10_s2.yaml`, where these experiments have been run.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import digits_table  # isort: skip - before NumPy
import numpy as np
import pages
import pandas as pd
import runs
from numpy.typing import NDArray

from protocol import codes, datasets, registry
from protocol.counting import HammingCounts, bucket_search
from protocol.metrics import evaluate, mean
from protocol.splits import read_list

FOLDER = pages.REFERENCE / "claims"
SETTINGS = ("cifar10_s1", "cifar10_s2")
METRICS = ("mAP", "mAP[best]", "mAP[worst]", "mAP[index]")
COUNTED = ("cifar10", "wiki", "labelme", "nuswide", "sift1m")
N_DRAWS = 10
TOP_21 = 195_834
"""The images of NUS-WIDE that show one of its 21 most frequent concepts."""
SEARCHED = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")
SEARCH_RUNS, SEARCH_BITS = 3, (16, 32)
AREAS = ("AUPRC[area]", "AUPRC_macro[area]", "mAP")

Statistics = Iterable[tuple[str, str, float]]


def main(mirror: Path, *names: str) -> None:
    tables: dict[str, Callable[[], Statistics]] = {
        "datasets": lambda: counted(mirror),
        "nuswide": lambda: (row for draw in range(N_DRAWS) for row in constant_codes(top_21(mirror), draw)),
        "buckets": lambda: (row for n_bits in SEARCH_BITS for row in searched(n_bits)),
        "growth": timed,
        "variants": varied,
    }
    for name in names or tables:
        pages.write(
            pd.DataFrame(tables[name](), columns=["dataset", "statistic", "value"], dtype=object),
            FOLDER / f"{name}.csv",
            None,
        )
    for setting in () if names else SETTINGS:
        path = pages.RESULTS / setting / "summary.csv"
        if path.exists():
            table = pd.read_csv(path)
            pages.write(table[table["metric"].isin(METRICS)], FOLDER / f"{setting}.csv")


def top_21(mirror: Path) -> NDArray[np.bool_]:
    """Return the labels, by the 21 most frequent concepts, of the images in HashNet's lists that show one of them.

    The lists draw 15,000 images at random from all of NUS-WIDE, so the labels are a sample of those of the database.
    """
    lists = mirror / "nuswide_lists" / "hashnet_81"
    flags = np.concatenate([read_list(lists / f"{part}.txt.gz")[1] for part in ("test", "train")])
    chosen = np.sort(np.argsort(-flags.sum(axis=0), kind="stable")[:21])
    return flags[flags[:, chosen].any(axis=1)][:, chosen].astype(bool)


def constant_codes(labels: NDArray[np.bool_], draw: int) -> Statistics:
    """Yield mAP and nDCG of a ranking in which all items are tied, for one sample of the split protocol `nuswide_21`.

    The images are those of the sample, each repeated until there are as many as in NUS-WIDE.
    """
    y = labels[np.arange(TOP_21) % len(labels)]
    parts = registry.get("split", "nuswide_21").split(TOP_21, y, seed=draw)
    kinds, number = np.unique(y[parts["database"]], axis=0, return_counts=True)
    shared = y[parts["query"]].astype(np.int64) @ kinds.T.astype(np.int64)
    at_level = np.stack([(shared == level) @ number for level in range(22)])
    retrieved = np.stack([at_level.sum(axis=0), np.zeros(len(shared), dtype=np.int64)], axis=1)
    relevant = {
        v: np.stack([at_level[v], np.zeros_like(at_level[v])], axis=1) for v in range(1, 22) if at_level[v].any()
    }
    counts = HammingCounts.from_histograms(retrieved, relevant)
    for metric, values in evaluate(counts, ["mAP", "nDCG"]).items():
        yield "nuswide_21", f"{metric} of constant codes, draw {draw}", round(mean(values), 6)


def searched(n_bits: int) -> Statistics:
    """Yield each hasher's areas, mAP and best micro F1 of a bucket search, means over runs, on the digits.

    The best is over 1, 2, 4, ... tables, each with any number of bits for which the code is long enough.
    """
    for hasher in SEARCHED:
        values = np.mean([_search(hasher, n_bits, run) for run in range(SEARCH_RUNS)], axis=0)
        for name, value in zip((*AREAS, "best F1 of a bucket search"), values, strict=True):
            yield "digits", f"{name}, {hasher}, {n_bits} bits", round(float(value), 6)


def _search(hasher: str, n_bits: int, number: int) -> tuple[float, ...]:
    run = digits_table.run(number)
    model, relevance = run.fit(hasher, n_bits)[0], run.relevance("class_label", "query", "database")
    query, database = (codes.pack(model.transform(run.items[part].X)) for part in ("query", "database"))

    def f1(bits_per_table: int, n_tables: int) -> float:
        search = bucket_search(query, database, n_bits, relevance, bits_per_table=bits_per_table, n_tables=n_tables)
        return float(2 * search.true_positives.sum() / (search.retrieved.sum() + search.relevant.sum()))

    tables = [2**power for power in range(n_bits.bit_length())]
    shapes = [(width, number) for number in tables for width in range(1, n_bits // number + 1)]
    areas = [mean(values) for values in run.scores(model, AREAS).values()]
    return *areas, max(f1(*shape) for shape in shapes)


def timed() -> Statistics:
    """Yield the CPU seconds in which 1,000 queries were counted and scored, by the size of the database."""
    (table,) = pages.read("growth", "growth")
    for row in table[table["stage"] == "evaluate"].itertuples():
        yield "random codes", f"CPU seconds to count and score, {row.n:,} items", row.cpu_s


def varied() -> Statistics:
    """Yield the mean of each variant of TALR on the digits and its difference from the default."""
    sizes, (table,) = runs.experiment("digits_talr").sizes("standard"), pages.read("talr", "variants")
    yield "digits", "queries of TALR's runs", sizes["query"]
    yield "digits", "database items of TALR's runs", sizes["database"]
    for row in table.itertuples():
        name = f"{row.metric} of {row.hasher}, {row.variant}, {row.n_bits} bits"
        yield "digits", name, row.mean
        if row.variant != "default":
            yield "digits", f"{name}: difference from the default", row.difference
            yield "digits", f"{name}: standard error of this difference", row.standard_error
            yield "digits", f"{name}: runs", row.n_runs


def counted(mirror: Path) -> Statistics:
    """Yield the statistics of each dataset in the mirror."""
    for dataset in COUNTED:
        yield from ((dataset, *statistic) for statistic in _counted(mirror, dataset))
    yield from (("cifar100", *statistic) for statistic in _cifar100(mirror))


def _loaded(mirror: Path, dataset: str, **options: str) -> datasets.Data | None:
    paths = {file.name: mirror / dataset / file.name for file in registry.entry("dataset", dataset).files}
    return datasets.load(dataset, paths, options) if all(path.exists() for path in paths.values()) else None


def _counted(mirror: Path, dataset: str) -> Iterator[tuple[str, float]]:
    data = _loaded(mirror, dataset)
    if data is None:
        return
    yield "n", len(data.ids) - len(data.partitions.get("learn", ())) - len(data.partitions.get("query", ()))
    for name, vectors in data.vectors.items():
        yield (name if len(data.vectors) > 1 else "dimension"), vectors.shape[1]
    if data.labels is None:
        return
    member = data.labels if data.labels.ndim == 2 else np.eye(data.labels.max() + 1, dtype=bool)[data.labels]
    yield "classes", len(data.class_names)
    yield "labels", member.sum() / len(member)
    yield "per class", _of_each(member)
    for part, rows in data.partitions.items():
        yield f"{part} per class", _of_each(member[rows])


def _of_each(member: np.ndarray) -> float:
    """Return the number of items of a class, as a mean if the numbers differ."""
    return round(float(member.sum(axis=0).mean()), 2)


def _cifar100(mirror: Path) -> Iterator[tuple[str, float]]:
    fine, coarse = (_loaded(mirror, "cifar100", labels=labels) for labels in ("fine", "coarse"))
    if fine is None or coarse is None:
        return
    pairs = np.unique(np.stack([coarse.labels, fine.labels]), axis=1)
    yield "fine", len(fine.class_names)
    yield "coarse", len(coarse.class_names)
    yield "fine per coarse", float(np.bincount(pairs[0]).mean())
    yield "per fine", float(np.bincount(fine.labels).mean())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
