"""The memory and time of jobs: for each rule, a base, and an amount for each item of the dataset."""

import functools
import math
from pathlib import Path
from typing import NamedTuple

from protocol import datasets, registry
from protocol.checks import one_of
from protocol.configuration.experiment import Experiment, FeaturePlan
from protocol.inputs.arrays import is_mapped
from protocol.splits import VALIDATION

_UNKNOWN = 512  # dimensions of a feature, if only its files record them


class Row(NamedTuple):
    """What the first attempt of a rule's job requests.

    `mb` and `minutes` are the base. `bytes` and `per_million` (minutes) are added for each item or million items, and
    `shard_bytes` and `shard_minutes` for those of one shard. `vectors` and `training` are the numbers of copies of the
    vectors of all items, and of the training and validation sets, that the job holds in memory; `codes` is that of the
    packed codes of one hasher. `growth/jobs.csv` in the reference results contains the measured jobs.
    """

    mb: int
    minutes: int
    bytes: int = 0
    per_million: float = 0
    shard_bytes: int = 0
    shard_minutes: float = 0
    vectors: float = 0
    training: float = 0
    codes: float = 0


ROWS = {
    "download": Row(300, 120),
    "dataset": Row(400, 60, bytes=100, per_million=0.5, vectors=2),
    "feature_part": Row(700, 30, bytes=30, per_million=0.5),
    "feature": Row(700, 30, bytes=30, per_million=0.5),
    "sample": Row(600, 10, bytes=90, per_million=0.3),
    "split": Row(600, 10, bytes=40, per_million=0.3),
    "preprocessing": Row(500, 30, bytes=60, per_million=0.5, training=4),
    "ground_truth": Row(500, 30, bytes=100, per_million=2, vectors=4),
    "supervision": Row(700, 60, bytes=60, per_million=1, training=4),
    "selection": Row(1500, 240, bytes=60, per_million=0.5, training=4),
    "selection_table": Row(500, 5),
    "model": Row(1500, 120, bytes=100, per_million=0.5, training=4, codes=3),
    "finished_codes": Row(1000, 10, bytes=30, per_million=1, codes=6),
    "count": Row(500, 10, bytes=30, shard_bytes=1000, shard_minutes=200),
    "count_shard": Row(500, 10, bytes=30, shard_bytes=1000, shard_minutes=200),
    "add_counts": Row(500, 30, bytes=40, per_million=0.1),
    "excluded": Row(1000, 10, bytes=350, per_million=3),
    "score": Row(500, 30, shard_bytes=1000, shard_minutes=5),
    "score_without": Row(500, 30, bytes=50, shard_bytes=1000, shard_minutes=5),
    "duplicates": Row(1000, 5),
    "examples": Row(3000, 30, bytes=90, per_million=2, codes=3),
    "metrics": Row(1000, 10),
    "audit": Row(1000, 20, bytes=125, per_million=1, vectors=4, training=4),
    "quantised": Row(1000, 60, bytes=100, per_million=600, vectors=4),
    "quantisers": Row(1000, 5),
    "claims": Row(1000, 10),
    "report": Row(800, 10, bytes=100, per_million=0.5),
    "paper": Row(800, 10, bytes=100, per_million=0.5),
    "leak_split": Row(600, 10, bytes=90, per_million=0.3),
    "leak_score": Row(1500, 60, bytes=100, per_million=60, vectors=6),
    "leak": Row(1000, 5),
}
ROWS |= {f"leak_{rule}": ROWS[rule] for rule in ("preprocessing", "ground_truth")}  # rules that inherit


def need(experiment: Experiment, rule: str, *, feature: str | None = None, attempt: int = 1) -> dict[str, int]:
    """Return the memory (``mem_mb``) and the time (``runtime``, in minutes) that a job should request.

    Both double with each attempt, so that a job that was killed for exceeding them may succeed when it is repeated.
    Without a feature, they are those of the feature with the largest vectors.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> need(load({}, from_file=False), "metrics", attempt=2)
    {'mem_mb': 2000, 'runtime': 20}
    """
    row, n = ROWS[one_of(rule, ROWS, "rule")], items(experiment)
    in_shard = n / experiment.config["count_shards"]
    features = [experiment.features[feature]] if feature else experiment.features.values()
    n_bytes = max(_feature_bytes(experiment, rule, one) for one in features)
    n_bytes += row.bytes * n + row.shard_bytes * in_shard
    minutes = row.minutes + (row.per_million * n + row.shard_minutes * in_shard) / 1e6
    scale = 2 ** (attempt - 1)
    return {"mem_mb": math.ceil(scale * (row.mb + n_bytes / 1e6)), "runtime": math.ceil(scale * minutes)}


def _feature_bytes(experiment: Experiment, rule: str, feature: FeaturePlan) -> float:
    """Return the bytes of the vectors and codes of a feature that a job holds in memory."""
    row, n = ROWS[rule], items(experiment)
    of_item = row_bytes(experiment, feature)
    of_code = sum(-(-n_bits // 8) for n_bits in feature.n_bits)
    sizes = map(experiment.sizes, feature.splits)
    n_training = max(sum(of.get(part, 0) for part in VALIDATION) + of.get("train", n) for of in sizes)
    of_all = _loaded_bytes(experiment) if rule == "dataset" else n * of_item * _compares(experiment, rule, feature)
    return row.vectors * of_all + row.training * n_training * of_item + row.codes * n * of_code


def _loaded_bytes(experiment: Experiment) -> float:
    """Return the bytes of images and longest vectors that the loader of the dataset holds in memory."""
    name, facts = experiment.config["dataset"], experiment.facts
    if registry.DATASETS.entry(name).streamed:
        files, _ = datasets.user_paths(name, experiment.config["dataset_options"])
        return sum(file.stat().st_size for file in files if not is_mapped(file))
    image, vectors = math.prod(facts.get("image_shape", [0])), facts.get("dimensions", {})
    return items(experiment) * (image + 4 * max(vectors.values(), default=0))


def _compares(experiment: Experiment, rule: str, feature: FeaturePlan) -> bool:
    """Return whether a job compares the vectors of all items, rather than their labels alone."""
    if rule == "audit":  # whether a hasher could have learned from the test set in another way
        hashers = experiment.hashers
        return any(hashers[name].grid or experiment.supervision(name) for name in feature.hashers)
    plugins = [experiment.ground_truths[name].plugin for name in feature.ground_truths]
    return rule == "leak_score" or not all(registry.GROUND_TRUTHS.entry(plugin).needs_labels for plugin in plugins)


def items(experiment: Experiment) -> int:
    """Return the number of items of the dataset, estimated from the sizes of the user's files if it is not known."""
    if "n" in experiment.facts:
        return int(experiment.facts["n"])
    files, folders = datasets.user_paths(experiment.config["dataset"], experiment.config["dataset_options"])
    if folders:
        return sum(map(_count, folders))
    # The size of the files is an upper bound for the memory even of numbers in text files.
    smallest = min(row_bytes(experiment, feature) for feature in experiment.features.values())
    return sum(file.stat().st_size for file in files) // smallest


@functools.cache
def _count(folder: Path) -> int:
    return datasets.count_files(folder)


def row_bytes(experiment: Experiment, feature: FeaturePlan) -> int:
    """Return the bytes of an item's float32 vectors of all modalities: the larger of before and after extraction."""
    before = [_read_dimensions(experiment, modality) for modality in feature.modalities.values()]
    after = experiment.dimensions(feature.name)
    pairs = zip(after, before, strict=True)
    return 4 * sum(max(length or read or _UNKNOWN, read) for length, read in pairs)


def _read_dimensions(experiment: Experiment, modality: object) -> int:
    """Return the number of dimensions of the vectors that a modality reads; 0 if it reads images."""
    name = experiment.array_of(modality) or ""
    return int(experiment.facts.get("dimensions", {}).get(name.removeprefix("vectors/"), 0))


def n_parts(experiment: Experiment, extraction: str) -> int:
    """Return the number of jobs that share an extraction; each extracts a part of the images."""
    per_job = registry.get("feature", experiment.extractions[extraction].plugin).images_per_job
    return 1 if per_job is None else max(1, math.ceil(items(experiment) / per_job))
