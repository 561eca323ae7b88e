"""False alarms of tests over runs: `python tests/reference/resampling_tables.py`, twenty minutes on one core.

It writes `resampling.csv` and `README.md` to results/reference/resampling/.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from protocol import codes
from protocol.counting import count
from protocol.metrics import evaluate, mean
from protocol.scores import tables
from protocol.scores.statistics import shared_variance
from protocol.truth.relevance import LabelRelevance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "resampling"
DATASETS, LEVEL = 500, 0.05
N_BITS, N_CLASSES, SPREAD = 12, 10, 1.2


class Design(NamedTuple):
    """An experiment: the numbers of items, queries, training items and runs, and how the runs are made.

    ``hasher`` is "sign" (of each feature, nothing is learned), "pca" (signs of principal components of the training
    items) or "leak" (the leak study with random hyperplanes, whose leak is zero). With ``separate``, the database has
    no training items.
    """

    hasher: str
    n_items: int
    n_queries: int
    n_train: int
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
)
PAGE = """\
# False alarms of tests over runs

Made by `python tests/reference/resampling_tables.py`.

All runs of an experiment are resamples of one dataset. This simulation counts how often a test finds a difference
between two methods that are equally good on average over datasets. Each of {n_datasets} datasets per row has
{n_classes} Gaussian classes with the same means in two halves of its features; one method hashes the first half and the
other the second, so that every difference is due to the sampled dataset. A run draws the queries and the training set,
and scores codes of {n_bits} bits by mAP. `sign` learns nothing, and `pca` learns principal components from the training
items. A false alarm is p < {level}, so {level} is the nominal rate, and its standard error here is 0.01.

{table}

Student's t-test treats the runs as independent. Nadeau and Bengio (2003) add n_test / n_train to the variance factor
1/n. The next columns have n_queries / n_database and n_queries / n_train for it, and the last column the correction of
`protocol.scores.statistics.shared_variance`, 4 n_queries / n_database: an item of the dataset is a query in some runs
and a database item in the others, and influences the scores in both roles. The last is the only one of them that stays
near or below the nominal rate for hashers that learn nothing or little. If the training set is nearly the whole
dataset, its influence is added to the two roles, and the test still gives twice as many false alarms as its level. For
other learned hashers, it gives fewer than its level.

In the leak study (`leak`), the difference is between databases that are drawn at random from the same items, so its
expected value is zero in every dataset if a model gains nothing, and Student's t-test needs no correction.
"""


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
        centred = X - X[train].mean(axis=0)
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
        "queries / training set": design.n_queries / design.n_train,
        "corrected": shared_variance(design.n_queries, design.n_database),
    }
    found = {}
    for name, shared in added.items():
        t = np.abs(x.mean(axis=1)) / (x.std(axis=1, ddof=1) * (1 / design.n_runs + shared) ** 0.5)
        found[name] = float((2 * stats.t.sf(t, design.n_runs - 1) < LEVEL).mean())
    return found


def page(table: pd.DataFrame) -> str:
    rows = [[str(value) for value in row] for row in table.itertuples(index=False)]
    made = tables.markdown(list(table), rows, numbers=list(table)[1:])
    return PAGE.format(n_datasets=DATASETS, n_classes=N_CLASSES, n_bits=N_BITS, level=LEVEL, table=made)


def main() -> None:
    rows = [
        {"hasher": one.hasher, "items": one.n_items, "queries": one.n_queries, "training set": one.n_train}
        | {"database": one.n_database, "runs": one.n_runs}
        | alarms(one, DATASETS)
        for one in DESIGNS
    ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(FOLDER / "resampling.csv", index=False, lineterminator="\n")
    (FOLDER / "README.md").write_text(page(pd.read_csv(FOLDER / "resampling.csv")))


if __name__ == "__main__":
    main()
