"""The memory and time that rules ask for: one table, scaled by the size of the dataset."""

import math
from dataclasses import dataclass

import settings

from protocol import datasets

_UNKNOWN = 512  # dimensions of a feature whose length only its files tell


@dataclass(frozen=True)
class Size:
    """How much a setting's jobs go through.

    Parameters
    ----------
    n_items : int
        Items of the dataset; of a user's folder, its files; of a user's arrays, as many as their bytes can hold.
    matrix_mb : float
        Megabytes of its largest feature matrix, or of its images where they are larger.
    """

    n_items: int
    matrix_mb: float


@dataclass(frozen=True)
class Need:
    """What a job takes: to start, for each copy of the feature matrix in memory, for each million items."""

    mb: int
    copies: float
    minutes: int
    minutes_per_million: int


# Twice what was measured, about: digits (2 MB of features), CIFAR-10 (120 MB), a million vectors (500 MB).
NEEDS = {
    "fetch": Need(300, 0, 120, 0),
    "dataset": Need(500, 2, 10, 60),
    "extract": Need(500, 0.5, 10, 250),
    "split": Need(400, 1, 5, 10),
    "preprocess": Need(500, 2, 10, 30),
    "relevance": Need(500, 4, 10, 120),
    "supervise": Need(2000, 4, 10, 120),  # levels of 5 % of the pairs of some thousand training rows
    "search": Need(500, 4, 60, 600),
    "hash": Need(500, 4, 30, 120),
    "count": Need(500, 2, 10, 120),
    "score": Need(1000, 2, 10, 60),
    "choices": Need(500, 0, 5, 0),
    "collect": Need(2000, 0, 10, 0),
    "findings": Need(500, 4, 10, 120),
    "ledger": Need(1000, 0, 10, 0),
    "display": Need(1000, 2, 15, 120),
    "page": Need(1000, 2, 10, 30),
    "draw": Need(1000, 2, 15, 30),
    "leak_halves": Need(400, 1, 5, 10),
    "leak_scores": Need(500, 6, 60, 600),
    "leak_tables": Need(1000, 0, 10, 0),
}


def size(setting: settings.Setting) -> Size:
    """Return the size of a setting's dataset, from what is known before any job runs."""
    name, options = setting.config["dataset"], setting.config["dataset_options"]
    facts = datasets.statistics(name, options)
    longest = max(settings.dimension(grid, setting.config) or _UNKNOWN for grid in setting.grids.values())
    item_bytes = max(4 * longest, math.prod(facts.get("image_shape", (0,))))
    files, folders = datasets.user_paths(name, options)
    items_in_folders = sum(1 for folder in folders for path in folder.rglob("*") if path.is_file())
    user_bytes = sum(file.stat().st_size for file in files)
    n_items = facts.get("n") or items_in_folders or user_bytes // item_bytes
    return Size(n_items, max(n_items * item_bytes, user_bytes) / 2**20)


def declared(size: Size) -> dict[str, dict[str, int]]:
    """Return `mem_mb` (megabytes) and `runtime` (minutes) of every rule, for a dataset of this size.

    Examples
    --------
    >>> declared(Size(1_000_000, 488.0))["hash"]
    {'mem_mb': 2452, 'runtime': 150}
    """
    return {
        rule: {
            "mem_mb": round(need.mb + need.copies * size.matrix_mb),
            "runtime": round(need.minutes + need.minutes_per_million * size.n_items / 1e6),
        }
        for rule, need in NEEDS.items()
    }
