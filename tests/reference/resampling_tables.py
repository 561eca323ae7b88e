"""False alarms of tests over runs: `python tests/reference/resampling_tables.py`, seven minutes on one core.

It writes `resampling.csv` and `README.md` to results/reference/resampling/.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pages
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from protocol import codes
from protocol.counting import count
from protocol.metrics import evaluate, mean
from protocol.scores import tables
from protocol.scores.statistics import shared_variance
from protocol.truth.relevance import LabelRelevance

DATASETS, LEVEL = 500, 0.05
N_BITS, N_CLASSES, SPREAD = 12, 10, 1.2


class Design(NamedTuple):
    """An experiment: the numbers of items, queries, training items and runs, and how the runs are made.

    ``hasher`` is "fixed" (signs of the features, nothing is learned), "sign" (of the features less their mean over the
    training items), "pca" (signs of principal components of the training items) or "leak" (the leak study with random
    hyperplanes, whose leak is zero). With ``separate``, the database has no training items.
    """

    hasher: str
    n_items: int
    n_queries: int
    n_train: int = 0
    n_runs: int = 10
    separate: bool = False

    @property
    def n_database(self) -> int:
        rest = self.n_items - self.n_queries - self.n_train * self.separate
        return rest // 2 if self.hasher == "leak" else rest


DESIGNS = (
    Design("sign", 1000, 50, 300),
    Design("sign", 1000, 100, 300),
    Design("sign", 1000, 100, 300, n_runs=3),
    Design("pca", 1000, 100, 300),
    Design("pca", 1000, 100, 900),
    Design("pca", 1797, 100, 500),
    Design("pca", 1797, 100, 500, separate=True),
    Design("leak", 1000, 100, 300),
    Design("fixed", 200, 10),
    Design("fixed", 200, 40),
    Design("fixed", 200, 55),
    Design("fixed", 200, 55, n_runs=3),
    Design("fixed", 200, 60),
    Design("fixed", 200, 80),
    Design("fixed", 170, 70),
)


def differences(design: Design, seed: int) -> NDArray[np.float64]:
    """Return the differences of all runs on one dataset."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).normal(size=(N_CLASSES, N_BITS)) * SPREAD
    y = rng.integers(0, N_CLASSES, design.n_items)
    halves = [means[y] + rng.normal(size=(design.n_items, N_BITS)) for _ in range(2)]
    run = _leak if design.hasher == "leak" else _difference
    return np.array([run(design, halves, y, rng) for _ in range(design.n_runs)])


def _difference(design: Design, halves: Sequence[NDArray], y: NDArray, rng: np.random.Generator) -> float:
    query, rest = np.split(rng.permutation(y.size), [design.n_queries])
    train, database = rest[: design.n_train], rest[design.n_train * design.separate :]
    scores = []
    for X in halves:
        centred = X if design.hasher == "fixed" else X - X[train].mean(axis=0)
        if design.hasher == "pca":
            centred = centred @ np.linalg.svd(centred[train], full_matrices=False)[2].T
        scores.append(_score(centred > 0, y, query, database))
    return scores[0] - scores[1]


def _leak(design: Design, halves: Sequence[NDArray], y: NDArray, rng: np.random.Generator) -> float:
    """Return the leak of random hyperplanes, as `protocol.studies.leak` defines it."""
    query, rest = np.split(rng.permutation(y.size), [design.n_queries])
    sides = np.split(rest[: 2 * design.n_database], 2)
    models = [halves[0] @ rng.normal(size=(N_BITS, N_BITS)) > 0 for _ in sides]
    scores = [[_score(bits, y, query, database) for database in sides] for bits in models]
    return (scores[0][0] - scores[0][1] + scores[1][1] - scores[1][0]) / 2


def _score(bits: NDArray[np.bool_], y: NDArray, query: NDArray, database: NDArray) -> float:
    packed, truth = codes.pack(bits), LabelRelevance(y[query], y[database])
    counts = count(packed[query], packed[database], N_BITS, {"labels": truth}, largest_bucket=False)["labels"]
    return mean(evaluate(counts, ["mAP"])["mAP"])


def alarms(design: Design, n_datasets: int) -> dict[str, float]:
    """Return the share of datasets in which each test finds a difference."""
    x = np.array([differences(design, seed) for seed in range(n_datasets)])
    added = {
        "student": 0.0,
        "queries / database": design.n_queries / design.n_database,
        "queries / training set": design.n_queries / (design.n_train or np.nan),
        "4 queries / database": 4 * design.n_queries / design.n_database,
        "corrected": shared_variance(design.n_queries, design.n_database),
    }
    found = {}
    for name, shared in added.items():
        t = np.abs(x.mean(axis=1)) / (x.std(axis=1, ddof=1) * (1 / design.n_runs + shared) ** 0.5)
        is_alarm = 2 * stats.t.sf(t, design.n_runs - 1) < LEVEL
        found[name] = np.nan if np.isnan(shared) else float(is_alarm.mean())
    return found


def page() -> str:
    """Return the page that the stored table makes."""
    (table,) = pages.read("resampling", "resampling")
    rows = [["" if pd.isna(value) else str(value) for value in row] for row in table.itertuples(index=False)]
    shown = tables.markdown(list(table), rows, numbers=list(table)[1:])
    return pages.render("resampling", n_datasets=DATASETS, n_classes=N_CLASSES, n_bits=N_BITS, level=LEVEL, table=shown)


def main() -> None:
    rows = [
        {"hasher": one.hasher, "items": one.n_items, "queries": one.n_queries, "training set": one.n_train}
        | {"database": one.n_database, "runs": one.n_runs}
        | alarms(one, DATASETS)
        for one in DESIGNS
    ]
    pages.write(pd.DataFrame(rows), pages.REFERENCE / "resampling" / "resampling.csv", None)
    pages.store("resampling", page())


if __name__ == "__main__":
    main()
