"""The memory and time that rules ask for: one table, scaled by the size of the dataset."""

import math
from dataclasses import dataclass

import settings

from protocol import datasets, registry

_UNKNOWN = 512  # dimensions of a feature whose length only its files tell
_RELATED = 5  # % of the pairs of training rows that have a level, where the ground truth's options do not say
_PAIR = 8  # bytes: of a related pair its row and its level


@dataclass(frozen=True)
class Size:
    """How much a setting's jobs go through.

    Parameters
    ----------
    n_items : int
        Items of the dataset; of a user's folder, its files; of a user's arrays, as many as their bytes can hold.
    matrix_mb : float
        Megabytes of its largest feature matrix, or of its images where they are larger.
    affinities_mb : float, default 0
        Megabytes of the levels of related training rows, which grow with the square of their number; 0 where no hasher
        learns from them.
    """

    n_items: int
    matrix_mb: float
    affinities_mb: float = 0


@dataclass(frozen=True)
class Need:
    """What a job takes: to start, for each copy in memory of the feature matrix and of the affinities, and in minutes.

    The minutes are those to start, for each million items, and for each thousand megabytes of affinities.
    """

    mb: int
    copies: float
    minutes: int
    minutes_per_million: int
    affinities: float = 0
    minutes_of_affinities: int = 0


# Twice what was measured, about: digits (2 MB of features), CIFAR-10 (120 MB), a million vectors (500 MB); and the
# affinities of 50,000 rows (950 MB).
NEEDS = {
    "fetch": Need(300, 0, 120, 0),
    "dataset": Need(500, 2, 10, 60),
    "extract": Need(500, 0.5, 10, 250),
    "split": Need(400, 1, 5, 10),
    "preprocess": Need(500, 2, 10, 30),
    "relevance": Need(500, 4, 10, 120),
    "supervise": Need(700, 4, 10, 120, minutes_of_affinities=10),  # which are written block by block
    "search": Need(500, 4, 60, 600, affinities=1.5),
    "hash": Need(500, 4, 30, 120, affinities=1.5),
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
    lengths = [settings.dimensions(grid, setting.config) for grid in setting.grids.values()]
    longest = max(sum(length or _UNKNOWN for length in modalities) for modalities in lengths)
    item_bytes = max(4 * longest, math.prod(facts.get("image_shape", (0,))))
    files, folders = datasets.user_paths(name, options)
    items_in_folders = sum(1 for folder in folders for path in folder.rglob("*") if path.is_file())
    user_bytes = sum(file.stat().st_size for file in files)
    n_items = facts.get("n") or items_in_folders or user_bytes // item_bytes
    matrix_mb = max(n_items * item_bytes, user_bytes) / 2**20
    return Size(n_items, matrix_mb, _affinities_mb(setting, n_items, facts.get("classes")))


def _affinities_mb(setting: settings.Setting, n_items: int, n_classes: int | None) -> float:
    config, grids = setting.config, setting.grids.values()
    learned = any(registry.get("hasher", name).supervision == "affinities" for grid in grids for name in grid.hashers)
    if not learned or config["affinities"] == "class_label":  # labels say it all, pair by pair
        return 0
    protocols = [registry.get("split", split) for grid in grids for split in grid.splits]
    sizes = [own.sizes(config["split_sizes"], n_items=n_items, n_classes=n_classes) for own in protocols]
    n_train = max(own.get("train", n_items) for own in sizes)
    percentiles = config["ground_truth_options"][config["affinities"]].get("percentiles", [_RELATED])
    return n_train**2 * max(percentiles) / 100 * _PAIR / 2**20


def declared(size: Size) -> dict[str, dict[str, int]]:
    """Return `mem_mb` (megabytes) and `runtime` (minutes) of every rule, for a dataset of this size.

    Examples
    --------
    >>> declared(Size(1_000_000, 488.0))["hash"]
    {'mem_mb': 2452, 'runtime': 150}
    """
    return {
        rule: {
            "mem_mb": round(need.mb + need.copies * size.matrix_mb + need.affinities * size.affinities_mb),
            "runtime": round(
                need.minutes
                + need.minutes_per_million * size.n_items / 1e6
                + need.minutes_of_affinities * size.affinities_mb / 1e3
            ),
        }
        for rule, need in NEEDS.items()
    }
