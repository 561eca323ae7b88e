"""The experiment that a config file describes: plug-ins, their options, and their combinations."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from protocol import datasets, registry
from protocol.configuration.options import with_defaults
from protocol.scores.metadata import supervision_of
from protocol.splits import SplitProtocol, sample_of

FIELDS = ("feature", "extraction", "split", "sample", "run", "hasher")
"""The columns of `Experiment.combinations`."""


@dataclass(frozen=True)
class Variant:
    """A plug-in under a name of the experiment, with the values of its options and the grid of those to select."""

    name: str
    plugin: str
    options: dict[str, Any]
    grid: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class PrecomputedCodes:
    """A method whose codes were computed elsewhere. The attributes are named after the keys of the config file.

    `query` and `database` are file names with placeholders.
    """

    name: str
    query: str
    database: str
    feature: str
    splits: list[str]
    n_bits: list[int]
    bit_order: str | None = None
    binarize: str | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The entry of the config file."""
        return {key: value for key, value in vars(self).items() if key != "name" and value is not None}

    @property
    def patterns(self) -> dict[str, str]:
        """The file names with placeholders by ``query`` and ``database``."""
        return {"query": self.query, "database": self.database}

    def files(self, split: str, run: int) -> dict[int, dict[str, str]]:
        """Return the files of the codes by code length, and then by ``query`` and ``database``."""
        return {
            n_bits: {role: name.format(split=split, run=run, n_bits=n_bits) for role, name in self.patterns.items()}
            for n_bits in self.n_bits
        }


@dataclass(frozen=True)
class FeaturePlan:
    """The part of an experiment for one feature. The attributes are named after the keys of the config file.

    `steps` are the preprocessing steps of each modality, by the keys of `Feature.modalities`.
    """

    name: str
    plugin: str
    options: dict[str, Any]
    steps: dict[str, list[str]]
    runs: int
    splits: list[str]
    ground_truths: list[str]
    hashers: list[str]
    n_bits: list[int]
    extensions: list[str]

    @property
    def extraction(self) -> str:
        """The folder of the extracted features: the plug-in's name, and a digest of options that are not defaults."""
        return _folder("feature", self.plugin, self.options)

    @cached_property
    def modalities(self) -> dict[str, Any]:
        """The feature extractor of each modality, built with these options."""
        return registry.get("feature", self.plugin)(**self.options).modalities

    @property
    def has_several_items(self) -> bool:
        """Whether an image may have several items, as local descriptors are."""
        return any(getattr(modality, "items", "image") != "image" for modality in self.modalities.values())


@dataclass(frozen=True)
class Experiment:
    """A checked experiment.

    Parameters
    ----------
    name : str
    config : dict
        The config file with every default and every option of every plug-in filled in, in a fixed order. It can be
        written as JSON, and is itself a valid configuration of the same experiment.
    features : dict of str to FeaturePlan
    hashers : dict of str to Variant
        The hashers, by the names that `features` and `config` use.
    ground_truths : dict of str to Variant
        The ground truths, by such names.
    codes : dict of str to PrecomputedCodes
        The methods whose codes were computed elsewhere, by name.
    known : dict
        What was found in the user's own data, if they were read; default {}.
    """

    name: str
    config: dict[str, Any]
    features: dict[str, FeaturePlan]
    hashers: dict[str, Variant]
    ground_truths: dict[str, Variant]
    codes: dict[str, PrecomputedCodes] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is known of the dataset, as `protocol.datasets.statistics` returns it before it is loaded."""
        return datasets.statistics(self.config["dataset"], self.config["dataset_options"]) | self.known

    @cached_property
    def n_items(self) -> int | None:
        """The number of items of the dataset, or of the images in the user's folders; None if unknown."""
        if "n" in self.facts:
            return int(self.facts["n"])
        folders = datasets.user_paths(self.config["dataset"], self.config["dataset_options"])[1]
        return sum(map(datasets.count_images, folders)) or None

    @property
    def labelled(self) -> bool | None:
        """Whether the dataset has class labels; None if only its files record it."""
        return self.facts.get("labelled", True if "classes" in self.facts else None)

    @property
    def data(self) -> str:
        """The folder of the loaded dataset: its name, and a digest of options and files that are not the defaults."""
        name, options, mirror = (self.config[key] for key in ("dataset", "dataset_options", "mirror_sha256"))
        return _folder("dataset", name, options, **({"mirror_sha256": mirror} if mirror else {}))

    @property
    def extractions(self) -> dict[str, FeaturePlan]:
        """A feature for each folder of `FeaturePlan.extraction`; features with the same options share a folder."""
        return {feature.extraction: feature for feature in self.features.values()}

    @property
    def splits(self) -> tuple[str, ...]:
        """All split protocols, each once."""
        return tuple(dict.fromkeys(split for feature in self.features.values() for split in feature.splits))

    def options(self, feature: str, ground_truth: str, split: str) -> dict[str, str]:
        """Return a digest of the options of ``dataset``, ``ground_truth`` and ``split``, unless they are the defaults.

        A ground truth that needs no labels also depends on the feature and on its preprocessing. ``mirror`` is a digest
        of the files of the dataset that are not the official ones, if there are any.
        """
        truth, plan = self.ground_truths[ground_truth], self.features[feature]
        plugin, described = truth.plugin, dict[str, Any]()
        if not registry.GROUND_TRUTHS.entry(plugin).needs_labels:
            described = {"feature": plan.extraction} if plan.extraction != plan.name else {}
            described |= {"steps": plan.steps} if set(map(tuple, plan.steps.values())) != {("centre",)} else {}
        dataset, mirror = self.config["dataset"], self.config["mirror_sha256"]
        folders = {
            "dataset": _folder("dataset", dataset, self.config["dataset_options"]).removeprefix(dataset),
            "mirror": f"-{_digest(mirror)}" if mirror else "",
            "ground_truth": _folder("ground_truth", plugin, truth.options, **described).removeprefix(plugin),
            "split": _folder("split", split, self.config["split_options"].get(split, {})).removeprefix(split),
        }
        return {field: digest.removeprefix("-") for field, digest in folders.items() if digest}

    def precomputed(self, feature: str, split: str) -> list[str]:
        """Return the names of the methods with precomputed codes for a feature and a split."""
        return [name for name, method in self.codes.items() if method.feature == feature and split in method.splits]

    @cached_property
    def combinations(self) -> list[dict[str, Any]]:
        """Every combination that is scored, as a row of a table. A method with precomputed codes counts as a hasher."""
        return [
            dict(zip(FIELDS, (feature.name, feature.extraction, split, sample_of(split), run, hasher), strict=True))
            for feature in self.features.values()
            for split in feature.splits
            for run in range(feature.runs)
            for hasher in (*feature.hashers, *self.precomputed(feature.name, split))
        ]

    @property
    def display_names(self) -> dict[str, Any]:
        """The names that the report shows: that of the dataset; by kind, those of all that is used, by their own names.

        If two things have the same printed name, as two variants of mAP@100 do, each is shown by its own name instead.
        A method with precomputed codes is shown by its name, and a user's own dataset without a printed name by that of
        the experiment.
        """
        plans, record = self.features.values(), registry.DATASETS.entry(self.config["dataset"])
        truths = dict.fromkeys(name for plan in plans for name in plan.ground_truths)
        hashers = dict.fromkeys(name for plan in plans for name in plan.hashers)
        is_own = record.required and not record.printed
        return {
            "dataset": self.name if is_own else registry.printed_name("dataset", record.name),
            "features": _printed_names("feature", self.features, self.features),
            "ground_truths": _printed_names("ground_truth", truths, self.ground_truths),
            "splits": _printed_names("split", self.splits, {}),
            "hashers": _printed_names("hasher", hashers, self.hashers) | {name: name for name in self.codes},
            "metrics": _printed_names("metric", self.config["metrics"], {}),
        }

    def supervision(self, hasher: str) -> str | None:
        """Return the kind of supervision that a hasher learns from, or None."""
        return registry.get("hasher", self.hashers[hasher].plugin).supervision

    def learned_from(self, hasher: str, feature: str) -> str:
        """Return `supervision_of`, with a digest of the distances' options that are not defaults."""
        supervision = supervision_of(self.config, hasher, feature)
        if supervision.startswith("distances"):
            truth = self.ground_truths[self.config["affinities"]]
            digest = _folder("ground_truth", truth.plugin, truth.options).removeprefix(truth.plugin)
            return supervision.removesuffix(")") + f"{digest})"
        return supervision

    def sizes(self, split: str) -> dict[str, int]:
        """Return the numbers of items in those partitions of a split whose sizes are known."""
        protocol: SplitProtocol = registry.get("split", split).with_options(self.config["split_options"].get(split, {}))
        return protocol.sizes(self.config["split_sizes"], n_items=self.n_items, n_classes=self.facts.get("classes"))

    def array_of(self, modality: Any) -> str | None:
        """Return the array of the dataset that a modality reads, or None if it is unknown or ambiguous."""
        matches = [name for name in self.arrays if name == modality.reads or name.startswith(f"{modality.reads}/")]
        return matches[0] if len(matches) == 1 else None

    @property
    def arrays(self) -> list[str]:
        """The names of the dataset's arrays of images and vectors, as far as they are known."""
        known = self.facts
        vectors = [f"vectors/{name}" for name in sorted(known.get("dimensions", {}))]
        return list(known.get("arrays", [*(["images"] if "image_shape" in known else []), *vectors]))

    def dimensions(self, feature: str) -> list[int | None]:
        """Return the number of dimensions of each modality of a feature, or None if only the files record it."""
        return [self._dimension(modality) for modality in self.features[feature].modalities.values()]

    def _dimension(self, modality: Any) -> int | None:
        """Return the length of a modality's vectors; of pixels, after their conversion to another size and colours."""
        if modality.dimension is not None:
            return int(modality.dimension)
        name, shape = self.array_of(modality), self.facts.get("image_shape")
        if name != "images":
            return self.facts.get("dimensions", {}).get(name.removeprefix("vectors/")) if name else None
        if shape is None:
            return None
        size, colour = getattr(modality, "image_size", None), getattr(modality, "colour", None)
        height, width = (size, size) if size else shape[:2]
        return int(height * width * {"rgb": 3, None: 3 if len(shape) == 3 else 1}.get(colour, 1))


def supervising(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of the ground truth that provides each kind of supervision; affinities may not be needed."""
    return {"labels": "class_label"} | ({"affinities": config["affinities"]} if config["affinities"] else {})


def _folder(kind: str, plugin: str, options: dict[str, Any], **more: Any) -> str:
    """Return a plug-in's name, followed by a digest of its options and `more` unless these are all defaults."""
    if options == with_defaults(kind, plugin, {}) and not more:
        return plugin
    return f"{plugin}-{_digest({'options': options} | more)}"


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _printed_names(kind: str, names: Iterable[str], uses: Mapping[str, FeaturePlan | Variant]) -> dict[str, str]:
    """Return the printed name of the plug-in behind each name; the name itself where another one is printed alike."""
    plugins = {name: uses[name].plugin if name in uses else name for name in names}
    printed = {name: registry.printed_name(kind, plugin, name) for name, plugin in plugins.items()}
    numbers = Counter(printed.values())
    return {name: text if numbers[text] == 1 else name for name, text in printed.items()}
