"""The memory and time of jobs: for each rule, factors of the sizes of the dataset, the feature and the hasher."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, Variant
from protocol.configuration.yaml_files import read
from protocol.inputs.arrays import is_mapped, path_of
from protocol.selection import points

_MB, _GB, _MILLION, _BILLION = 2**20, 1e9, 1e6, 1e9
_UNKNOWN = 512  # dimensions of a feature, if only its files record them
_QUERIES = 10_000  # the most queries of a split whose number of queries is not known
_RELATED = 5  # % of the pairs of training rows that have a level, unless the ground truth has an option for it
INDEXED = 10  # millions of items at most, in the index with which the time of a lookup is measured
_PAIR = 8  # bytes of a related pair: its row number and its level
_TORCH_GB = 0.6  # PyTorch and a training step of a small network: 300 MB measured
_CONVOLUTION_GB = 0.3  # activations of a batch of images: 100 MB measured
# Milliseconds per training row and epoch: three times the values measured on one core (0.7 and 0.03).
_ROW_MS = {"conv": 2.1}
_DENSE_ROW_MS = 0.1
_EPOCHS = 30  # if a network has no option `epochs`
_HEADROOM = 3  # factor for the time of the iterations of other hashers
_ALL_RUNS = ("count", "add_counts", "score", "score_without")  # rules whose jobs read every run of a feature
_PLACE = 64 * 128  # bits x dimensions: the unit of `JobSize.encoded`

NEEDS: dict[str, dict[str, dict[str, float]]] = read(Path(__file__).with_name("needs.yaml"))
"""By rule of the workflow, ``memory`` (GB) and ``minutes``: a factor for each attribute of `JobSize`."""


def need(
    experiment: Experiment, rule: str, *, feature: str | None = None, hasher: str | None = None, attempt: int = 1
) -> dict[str, int]:
    """Return the memory (``mem_mb``) and the time (``runtime``, in minutes) that a job should request.

    Parameters
    ----------
    experiment : Experiment
    rule : str
        A rule of `NEEDS`.
    feature : str or None
        Feature of the job; by default that of the experiment with the largest needs.
    hasher : str or None
        Hasher of the job; by default likewise.
    attempt : int, default=1
        Both double with each, so that a job that was killed for exceeding them may succeed when it is repeated.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> need(load({}, from_file=False), "metrics", attempt=2)
    {'mem_mb': 2000, 'runtime': 4}
    """
    one_of(rule, NEEDS, "rule")
    features = [feature] if feature else list(experiment.features)
    if rule == "feature_part":  # other features are extracted in one job
        features = [name for name in features if _is_divided(experiment, name)] or features
    sizes = [JobSize(experiment, rule, experiment.features[name], hasher) for name in features]

    def largest(what: str) -> float:
        factors = NEEDS[rule][what].items()
        return max(sum(factor * getattr(size, quantity) for quantity, factor in factors) for size in sizes)

    scale = 2 ** (attempt - 1)
    return {"mem_mb": math.ceil(scale * 1000 * largest("memory")), "runtime": math.ceil(scale * largest("minutes"))}


def _is_divided(experiment: Experiment, feature: str) -> bool:
    return n_parts(experiment, experiment.features[feature].extraction) > 1


@dataclass(frozen=True)
class JobSize:
    """The quantities on which the memory and the time of a job depend.

    Parameters
    ----------
    experiment : Experiment
    rule : str
    feature : FeaturePlan
    hasher : str or None
        A hasher or a method with finished codes; if None, the largest of them counts.
    """

    experiment: Experiment
    rule: str
    feature: FeaturePlan
    hasher: str | None
    base: float = 1.0

    @property
    def items(self) -> float:
        """Millions of items of the dataset."""
        return items(self.experiment) / _MILLION

    @property
    def shard_items(self) -> float:
        """Millions of items that the job counts, which in a shard are not all items."""
        return self.items / (self.experiment.config["count_shards"] if self.rule == "count_shard" else 1)

    @property
    def split_items(self) -> float:
        """Millions of items in all splits and runs of a feature."""
        return self.items * len(self.feature.splits) * self.feature.runs

    @property
    def bucket_items(self) -> float:
        """Millions of items whose buckets are counted; none if the counts are those of shards."""
        return self.items if self.experiment.config["count_shards"] == 1 else 0

    @property
    def listed_items(self) -> float:
        """Millions of items whose ids are read because a split consists of the user's lists."""
        return self.items if any(registry.get("split", split).listed for split in self.feature.splits) else 0

    @property
    def indexed_items(self) -> float:
        """Millions of items in the index with which the time of a lookup is measured."""
        return min(self.items, INDEXED)

    @property
    def shards(self) -> float:
        """The number of files with counts of shards that the job reads."""
        return self._n_runs * len(self.feature.splits) * self.experiment.config["count_shards"]

    @property
    def stored_images(self) -> float:
        """Millions of images that are loaded."""
        facts = self.experiment.facts
        return 0 if facts.get("dimensions") or "vectors/features" in facts.get("arrays", ()) else self.items

    @property
    def described(self) -> float:
        """Millions of images that the job describes; none if it copies vectors, or joins extracted parts."""
        n, rows = n_parts(self.experiment, self.feature.extraction), items(self.experiment)
        if registry.get("feature", self.feature.plugin).images_per_job is None or (self.rule == "feature" and n > 1):
            return 0
        return math.ceil(rows / n) / _MILLION

    @property
    def loaded(self) -> float:
        """GB of images and vectors that the loader of the dataset holds in memory."""
        return loaded_mb(self.experiment) * _MB / _GB

    @property
    def vectors(self) -> float:
        """GB of the vectors that the job reads: of all items, or of the part that it extracts."""
        n = n_parts(self.experiment, self.feature.extraction) if self.rule == "feature_part" else 1
        return items(self.experiment) * row_bytes(self.experiment, self.feature) / n / _GB

    @property
    def compared_vectors(self) -> float:
        """GB of the vectors of all items if a ground truth compares them; none if all of them need only labels."""
        variants = [self.experiment.ground_truths[name] for name in self.feature.ground_truths]
        by_labels = all(registry.GROUND_TRUTHS.entry(variant.plugin).needs_labels for variant in variants)
        return 0 if by_labels else self.vectors

    @property
    def tested_vectors(self) -> float:
        """GB of the vectors of all items if a hasher could have learned from those of the test set in another way."""
        names = self.feature.hashers
        other = any(self.experiment.hashers[name].grid or self.experiment.supervision(name) for name in names)
        return self.vectors if other else 0

    @property
    def compared_pairs(self) -> float:
        """Billions of pairs of a query and an item that ground truths compare, in units of 128 dimensions."""
        pairs = sum(self._queries(split) for split in self.feature.splits) * self.items / 1e3
        return pairs * row_bytes(self.experiment, self.feature) / 512 if self.compared_vectors else 0

    @property
    def training(self) -> float:
        """GB of the vectors of the training set."""
        return self._rows("train") * row_bytes(self.experiment, self.feature) / _GB

    @property
    def validation(self) -> float:
        """GB of the vectors of the validation partitions."""
        n_rows = self._rows("validation_query") + self._rows("validation_database")
        return n_rows * row_bytes(self.experiment, self.feature) / _GB

    @property
    def training_pairs(self) -> float:
        """Billions of pairs of training rows, in units of 128 dimensions."""
        return self._rows("train") * self.training / 512

    @property
    def affinities(self) -> float:
        """GB of the affinities, which grow with the square of the number of training rows."""
        return _affinities_mb(self.experiment, self.feature, self._rows("train")) * _MB / _GB

    @property
    def codes(self) -> float:
        """GB of the packed codes of all items."""
        return self.items / 1e3 * max(sum(-(-n_bits // 8) for n_bits in lengths) for lengths in self._lengths())

    @property
    def all_codes(self) -> float:
        """GB of the packed codes of all items by all methods of a feature."""
        of_all = [*(self.feature.n_bits for _ in self.feature.hashers), *self._lengths()[1:]]
        return self.items / 1e3 * sum(-(-n_bits // 8) for lengths in of_all for n_bits in lengths)

    @property
    def curves(self) -> float:
        """The number of methods, runs, code lengths and ground truths of a feature."""
        n_lengths = len(self.feature.n_bits) * len(self.feature.hashers) + sum(map(len, self._lengths()[1:]))
        return n_lengths * self.feature.runs * len(self.feature.ground_truths)

    @property
    def unmapped_codes(self) -> float:
        """GB of the files of finished codes, at one code length, that are read completely."""
        return max((_unmapped_gb(self.experiment, name) for name in self._methods()), default=0)

    @property
    def encoded(self) -> float:
        """Millions of items that are encoded, in units of 64 bits and 128 dimensions, at all code lengths."""
        bits = max(sum(lengths) for lengths in self._lengths())
        return self.items * bits * row_bytes(self.experiment, self.feature) / 4 / _PLACE

    @property
    def pairs(self) -> float:
        """Billions of pairs of a query and an item that are counted, times 64-bit words, for all ground truths."""
        words = max(sum(-(-n_bits // 64) for n_bits in lengths) for lengths in self._lengths())
        pairs = sum(self._queries(split) for split in self.feature.splits) * self.shard_items / 1e3
        return pairs * words * self._n_runs * len(self.feature.ground_truths)

    @property
    def shown_pairs(self) -> float:
        """Billions of pairs that are counted for figures: at one code length of every method, under one split."""
        n_methods = len(self.feature.hashers) + len(self._methods())
        words = -(-sorted(self.feature.n_bits)[len(self.feature.n_bits) // 2] // 64)
        pairs = max(map(self._queries, self.feature.splits)) * self.items / 1e3
        return pairs * words * n_methods * len(self.feature.ground_truths)

    @property
    def scored(self) -> float:
        """Billions of counts that metrics read: queries x distances x metrics x ground truths x extensions."""
        config, distances = self.experiment.config, max(sum(lengths) + len(lengths) for lengths in self._lengths())
        extensions = sum(1 if name == "none" else len(config["extension_bits"]) for name in self.feature.extensions)
        kinds = len(config["metrics"]) * len(self.feature.ground_truths) * extensions * self._n_runs
        return sum(self._queries(split) for split in self.feature.splits) * distances * kinds / _BILLION

    @property
    def fitting_memory(self) -> float:
        """GB that the training of the hasher takes in addition to its vectors."""
        return max((memory for memory, _ in self._fits()), default=0)

    @property
    def fitting_minutes(self) -> float:
        """Minutes of the training of the hasher at all code lengths and points of its grid."""
        return max((minutes for _, minutes in self._fits()), default=0)

    def _fits(self) -> list[tuple[float, float]]:
        n_train, hashers = self._rows("train"), self.experiment.hashers
        names = [self.hasher] if self.hasher else self.feature.hashers
        return [_of_training(hashers[name], n_train, len(self.feature.n_bits)) for name in names if name in hashers]

    def _methods(self) -> list[str]:
        """Return the methods with finished codes that the job may be for."""
        names = [self.hasher] if self.hasher else self.experiment.finished(self.feature.name)
        return [name for name in names if name in self.experiment.codes]

    def _lengths(self) -> list[list[int]]:
        """Return the code lengths of each method that the job may be for."""
        of_codes = [self.experiment.codes[name].n_bits for name in self._methods()]
        return of_codes if self.hasher in self.experiment.codes else [self.feature.n_bits, *of_codes]

    @property
    def _n_runs(self) -> int:
        return self.feature.runs if self.rule in _ALL_RUNS else 1

    def _queries(self, split: str) -> int:
        return self.experiment.sizes(split).get("query", min(items(self.experiment), _QUERIES))

    def _rows(self, part: str) -> int:
        """Return the number of rows of the largest partition of this name."""
        unknown = items(self.experiment) if part == "train" else 0
        return max(self.experiment.sizes(split).get(part, unknown) for split in self.feature.splits)


def _of_training(variant: Variant, n_train: int, n_lengths: int) -> tuple[float, float]:
    """Return the memory (GB) and the minutes that training takes, for all code lengths and points of its grid."""
    learn = _of_network if registry.HASHERS.entry(variant.plugin).extra == "learned" else _of_iterations
    of_points = [learn(variant, variant.options | point, n_train) for point in points(variant.grid)]
    return max(memory for memory, _ in of_points), n_lengths * sum(minutes for _, minutes in of_points)


def _of_network(variant: Variant, options: Mapping[str, Any], n_train: int) -> tuple[float, float]:
    network, epochs = str(options.get("network")), int(options.get("epochs", _EPOCHS))
    memory = _TORCH_GB + (_CONVOLUTION_GB if network in _ROW_MS else 0)
    return memory, epochs * n_train * _ROW_MS.get(network, _DENSE_ROW_MS) / 60_000


def _of_iterations(variant: Variant, options: Mapping[str, Any], n_train: int) -> tuple[float, float]:
    iterations = registry.HASHERS.entry(variant.plugin).iterations
    if iterations is None:
        return 0, 0
    scale = n_train / 1000 if iterations.grows else 1
    return 0, _HEADROOM * int(options[iterations.option]) * iterations.ms * scale / 60_000


def items(experiment: Experiment) -> int:
    """Return the number of items of the dataset, estimated from the sizes of the user's files if it is not known."""
    if "n" in experiment.facts:
        return int(experiment.facts["n"])
    files, folders = _user_paths(experiment)
    if folders:
        return sum(_count(str(path)) for path in folders)
    # The size of the files is an upper bound for the memory even of numbers in text files.
    smallest = min(row_bytes(experiment, feature) for feature in experiment.features.values())
    return sum(file.stat().st_size for file in files) // smallest


@functools.cache
def _count(folder: str) -> int:
    return datasets.count_files(folder)


def _user_paths(experiment: Experiment) -> tuple[list[Path], list[Path]]:
    return datasets.user_paths(experiment.config["dataset"], experiment.config["dataset_options"])


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


def loaded_mb(experiment: Experiment) -> float:
    """Return the size in megabytes of the images (1 byte per value) and longest vectors that are loaded into memory.

    Vectors count 2 bytes per value: they are float32 in half of the datasets, and bytes in the others. A file of the
    user that can't be mapped counts its size, an upper bound even for numbers in text files.
    """
    facts, files = experiment.facts, _user_paths(experiment)[0]
    read_completely = sum(file.stat().st_size for file in files if not is_mapped(file)) / _MB
    if registry.DATASETS.entry(experiment.config["dataset"]).streamed:
        return read_completely
    image = math.prod(facts["image_shape"]) if "image_shape" in facts else 0
    vectors = 2 * max(facts.get("dimensions", {}).values(), default=0)
    return items(experiment) * (image + vectors) / _MB + read_completely


def _unmapped_gb(experiment: Experiment, method: str) -> float:
    """Return the size in GB of the largest file of finished codes that is read completely; 0 if there is none yet."""
    codes, whole = experiment.codes[method], experiment.codes[method].binarize == "median"
    named = {file for split in codes.splits for of_role in codes.files(split, 0).values() for file in of_role.values()}
    paths = [path_of(file) for file in named]
    return (
        max((path.stat().st_size for path in paths if path.is_file() and (whole or not is_mapped(path))), default=0)
        / _GB
    )


def _affinities_mb(experiment: Experiment, feature: FeaturePlan, n_train: int) -> float:
    """Return the size in megabytes of the affinities, which grows with the square of the number of training rows."""
    learned = any(experiment.supervision(name) == "affinities" for name in feature.hashers)
    if not learned:
        return 0
    truth = experiment.ground_truths[experiment.config["affinities"]]
    if registry.GROUND_TRUTHS.entry(truth.plugin).needs_labels:  # not stored, since labels determine every pair
        return 0
    return n_train**2 * max(truth.options.get("percentiles", [_RELATED])) / 100 * _PAIR / _MB
