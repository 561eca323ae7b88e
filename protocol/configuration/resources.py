"""The memory and time of jobs: a table by rule, scaled by the sizes of the dataset, the feature and the hasher."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, Use
from protocol.configuration.yaml_files import read
from protocol.selection import points

_MB = 2**20
_UNKNOWN = 512  # dimensions of a feature, if only its files record them
_RELATED = 5  # % of the pairs of training rows that have a level, unless the ground truth has an option for it
_JOINING = 20  # minutes per million items, to join features that were extracted in parts
_PAIR = 8  # bytes of a related pair: its row number and its level
_TORCH_MB = 600  # PyTorch and a training step of a small network: 300 MB measured
_CONVOLUTION_MB = 300  # activations of a batch of images: 100 MB measured
# Milliseconds per training row and epoch: three times the values measured on one core (0.7 and 0.03).
_ROW_MS = {"conv": 2.1}
_DENSE_ROW_MS = 0.1
_EPOCHS = 30  # if a network has no option `epochs`
_HEADROOM = 3  # factor for the time of the iterations of other hashers


@dataclass(frozen=True)
class Need:
    """The memory and time of a job of one rule.

    The memory is the sum of `mb` megabytes; `content` times the size of the dataset's images and vectors; `matrix` and
    `train` times the sizes of the float32 feature matrices of all items and of the training rows; `affinities` times
    the size of the affinities among training rows; `item_kb` kilobytes per item that the job counts, which in a shard
    are not all items; and `row_kb` kilobytes per item of the dataset. The time is `minutes`, plus
    `minutes_per_million` per million items and `minutes_of_affinities` per thousand megabytes of affinities. If
    `trains` is true, the training of the hasher is added to both.
    """

    mb: int
    minutes: int
    minutes_per_million: int = 0
    content: float = 0
    matrix: float = 0
    train: float = 0
    item_kb: float = 0
    affinities: float = 0
    row_kb: float = 0
    minutes_of_affinities: int = 0
    trains: bool = False


NEEDS = {rule: Need(**values) for rule, values in read(Path(__file__).with_name("needs.yaml")).items()}
"""By rule of the workflow."""


def need(
    experiment: Experiment, rule: str, *, feature: str | None = None, hasher: str | None = None, attempt: int = 1
) -> dict[str, int]:
    """Return the memory (``mem_mb``) and the time (``runtime``, in minutes) that a job should request.

    Parameters
    ----------
    experiment : Experiment
    rule : str
        A rule of `NEEDS`.
    feature, hasher : str or None
        Feature and hasher of the job; by default those of the experiment with the largest needs.
    attempt : int, default=1
        Both grow with it, so that a job that was killed for exceeding them may succeed when it is repeated.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> need(load({}, from_file=False), "metrics", attempt=2)
    {'mem_mb': 4000, 'runtime': 20}
    """
    one_of(rule, NEEDS, "rule")
    features = [feature] if feature else list(experiment.features)
    if rule == "feature_part":  # other features are extracted in one job
        features = [name for name in features if _is_divided(experiment, name)] or features
    needs = [_of_feature(experiment, rule, experiment.features[name], hasher) for name in features]
    memory, minutes = (max(values) for values in zip(*needs, strict=True))
    return {"mem_mb": math.ceil(attempt * memory), "runtime": math.ceil(attempt * minutes)}


def _of_feature(experiment: Experiment, rule: str, feature: FeaturePlan, hasher: str | None) -> tuple[float, float]:
    need = NEEDS[rule]
    n_items, n_train = items(experiment), training_rows(experiment, feature)
    row_mb = row_bytes(experiment, feature) / _MB
    affinities = _affinities_mb(experiment, feature, n_train)
    memory = (
        need.mb
        + need.content * content_mb(experiment)
        + need.matrix * max(n_items * row_mb, _user_mb(experiment))
        + need.train * n_train * row_mb
        + need.item_kb * _items_of_job(experiment, rule, n_items) / 2**10
        + need.row_kb * n_items / 2**10
        + need.affinities * affinities
    )
    minutes = need.minutes + _minutes_of_items(experiment, rule, need, feature, n_items)
    minutes += need.minutes_of_affinities * affinities / 1e3
    if need.trains:
        names = [hasher] if hasher else feature.hashers
        learned = [_of_training(experiment.hashers[name], n_train, len(feature.n_bits)) for name in names]
        memory += max(mb for mb, _ in learned)
        minutes += max(more for _, more in learned)
    return memory, minutes


def _is_divided(experiment: Experiment, feature: str) -> bool:
    return n_parts(experiment, experiment.features[feature].extraction) > 1


def _minutes_of_items(experiment: Experiment, rule: str, need: Need, feature: FeaturePlan, n_items: int) -> float:
    """Return the minutes that grow with the number of items; a job that only joins extracted parts needs fewer."""
    n = n_parts(experiment, feature.extraction)
    if rule == "feature_part":
        n_items = math.ceil(n_items / n)
    n_items = _items_of_job(experiment, rule, n_items)
    per_million = _JOINING if rule == "feature" and n > 1 else need.minutes_per_million
    return per_million * n_items / 1e6


def _items_of_job(experiment: Experiment, rule: str, n_items: int) -> int:
    """Return the number of items that a job counts, which in a shard are not all items."""
    return math.ceil(n_items / experiment.config["count_shards"]) if rule == "count_shard" else n_items


def _of_training(use: Use, n_train: int, n_lengths: int) -> tuple[float, float]:
    """Return the memory and the minutes that training a hasher adds, for all code lengths and points of its grid."""
    learn = _of_network if registry.HASHERS.entry(use.plugin).extra == "learned" else _of_iterations
    of_points = [learn(use, use.options | point, n_train) for point in points(use.grid)]
    return max(mb for mb, _ in of_points), n_lengths * sum(minutes for _, minutes in of_points)


def _of_network(use: Use, options: Mapping[str, Any], n_train: int) -> tuple[float, float]:
    network, epochs = str(options.get("network")), int(options.get("epochs", _EPOCHS))
    memory = _TORCH_MB + (_CONVOLUTION_MB if network in _ROW_MS else 0)
    return memory, epochs * n_train * _ROW_MS.get(network, _DENSE_ROW_MS) / 60_000


def _of_iterations(use: Use, options: Mapping[str, Any], n_train: int) -> tuple[float, float]:
    iterations = registry.HASHERS.entry(use.plugin).iterations
    if iterations is None:
        return 0, 0
    scale = n_train / 1000 if iterations.grows else 1
    return 0, _HEADROOM * int(options[iterations.option]) * iterations.ms * scale / 60_000


def items(experiment: Experiment) -> int:
    """Return the number of items of the dataset, estimated from the sizes of the user's files if it is not known."""
    if "n" in experiment.facts:
        return int(experiment.facts["n"])
    _, folders = _user_paths(experiment)
    if folders:
        return sum(_count(str(path)) for path in folders)
    smallest = min(row_bytes(experiment, feature) for feature in experiment.features.values())
    return int(_user_mb(experiment) * _MB // smallest)


@functools.cache
def _count(folder: str) -> int:
    return datasets.count_files(folder)


def _user_paths(experiment: Experiment) -> tuple[list[Path], list[Path]]:
    return datasets.user_paths(experiment.config["dataset"], experiment.config["dataset_options"])


def _user_mb(experiment: Experiment) -> float:
    """Return the size of the user's own files, an upper bound for the memory even of numbers in text files."""
    return sum(file.stat().st_size for file in _user_paths(experiment)[0]) / _MB


def training_rows(experiment: Experiment, feature: FeaturePlan) -> int:
    """Return the number of rows of a feature's largest training set."""
    return max(experiment.sizes(split).get("train", items(experiment)) for split in feature.splits)


def row_bytes(experiment: Experiment, feature: FeaturePlan) -> int:
    """Return the bytes of an item's float32 vectors of all modalities: the larger of before and after extraction."""
    lengths = experiment.dimensions(feature.name)
    read = [_read_dimensions(experiment, modality) for modality in feature.modalities.values()]
    return 4 * sum(max(length or before or _UNKNOWN, before) for length, before in zip(lengths, read, strict=True))


def _read_dimensions(experiment: Experiment, modality: object) -> int:
    """Return the number of dimensions of the vectors that a modality reads; 0 if it reads images."""
    name = experiment.array_of(modality) or ""
    return int(experiment.facts.get("dimensions", {}).get(name.removeprefix("vectors/"), 0))


def matrix_mb(experiment: Experiment, feature: str) -> float:
    """Return the size in megabytes of a feature's matrix of all items in float32."""
    return items(experiment) * row_bytes(experiment, experiment.features[feature]) / _MB


def n_parts(experiment: Experiment, extraction: str) -> int:
    """Return the number of jobs that share an extraction; each extracts a part of the images."""
    feature = experiment.extractions[extraction]
    per_job = registry.get("feature", feature.plugin).images_per_job
    return 1 if per_job is None else max(1, math.ceil(items(experiment) / per_job))


def content_mb(experiment: Experiment) -> float:
    """Return the size in megabytes of the dataset's images (1 byte per value) and longest vectors (2 bytes)."""
    facts = experiment.facts
    image = math.prod(facts["image_shape"]) if "image_shape" in facts else 0
    vectors = 2 * max(facts.get("dimensions", {}).values(), default=0)
    return max(items(experiment) * (image + vectors) / _MB, _user_mb(experiment))


def _affinities_mb(experiment: Experiment, feature: FeaturePlan, n_train: int) -> float:
    """Return the size in megabytes of the affinities, which grows with the square of the number of training rows."""
    learned = any(experiment.supervision(name) == "affinities" for name in feature.hashers)
    if not learned:
        return 0
    use = experiment.ground_truths[experiment.config["affinities"]]
    if registry.GROUND_TRUTHS.entry(use.plugin).needs_labels:  # not stored, since labels determine every pair
        return 0
    return n_train**2 * max(use.options.get("percentiles", [_RELATED])) / 100 * _PAIR / _MB
