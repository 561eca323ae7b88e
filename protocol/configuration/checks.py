"""Checks across the keys of a configuration, which find errors before any job starts."""

import importlib.util
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.auditing import read_excluded
from protocol.checks import ProtocolError, abridged, counted, listed, not_installed, one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, Variant, supervising
from protocol.configuration.schema import at
from protocol.datasets import Data, check_vectors, load, redacted
from protocol.evaluation.conventions import is_defined
from protocol.hashers.selection import points
from protocol.inputs.arrays import shape_with_ids, user_path
from protocol.inputs.text import INPUTS
from protocol.inputs.validation import n_classes
from protocol.metrics import keywords, needs
from protocol.quantisers import plugin_of
from protocol.scores.metadata import UNHASHED, supervision_of
from protocol.splits import VALIDATION, Items, read_lists


def check(experiment: Experiment) -> None:
    """Raise ProtocolError, in one line, for every error in an experiment that can be found before its jobs run."""
    for key, check_key in _OF_EXPERIMENT.items():
        with at(key):
            check_key(experiment)
    for feature in experiment.features.values():
        for key, check_feature in _OF_FEATURE.items():
            is_own = key in experiment.config["features"][feature.name]
            with at(*(("features", feature.name, key) if is_own else (key,))):
                check_feature(feature, experiment)


def check_installed(experiment: Experiment) -> None:
    """Raise ProtocolError if the experiment trains a network and PyTorch is not installed.

    This is not part of `check`, so that a config file can be checked where its experiment will not be run.
    """
    for name in dict.fromkeys(name for feature in experiment.features.values() for name in feature.hashers):
        learned = registry.HASHERS.entry(experiment.hashers[name].plugin).extra == "learned"
        if learned and importlib.util.find_spec("torch") is None:
            raise ProtocolError(f"hasher {name!r}: {not_installed('torch', 'learned')}")


def check_data(experiment: Experiment) -> dict[str, Any]:
    """Return what is found in the user's own data; raise ProtocolError if they, or the lists of a split, can't be used.

    They are read as the jobs read them. Classes that suit no experiment are logged. If the dataset has to be
    downloaded, its ids are unknown, and items of a list that it lacks are not found.
    """
    config, record = experiment.config, registry.DATASETS.entry(experiment.config["dataset"])
    lists = {one: registry.get("split", one).files(config["split_options"][one]) for one in experiment.splits}
    is_own = record.streamed and (record.user_files or record.user_folders)
    if record.files or not (any(lists.values()) or is_own):
        for split, files in lists.items():
            with at("split_options", split, about=f"split {split!r}"):
                read_lists(files, None, experiment.facts.get("classes"))
        return {}
    with at("dataset_options"):
        data = load(record.name, {}, config["dataset_options"])
        steps = list(itertools.chain(*(feature.steps.values() for feature in experiment.features.values())))
        check_vectors(data, scaled=any(own[:1] == ["l2"] for own in steps), cosine=config["unhashed"] == "cosine")
    for split, files in lists.items():
        with at("split_options", split, about=f"split {split!r}"):
            lists_of_split = read_lists(files, data.ids, n_classes(data.labels))
            _log_leaks(split, lists_of_split)
            _log_classes(split, data, lists_of_split, config)
    partitions = dict(zip(data.partitions, map(len, data.partitions.values()), strict=True))
    classes = {"labelled": False} if data.labels is None else {"classes": len(data.class_names)}
    return {"n": len(data.ids), "partitions": partitions, **classes}


def _log_leaks(split: str, lists: Mapping[str, NDArray]) -> None:
    """Log how many queries of the user's lists are also in another list, if any."""
    for part, rows in lists.items():
        if part != "query" and (shared := np.intersect1d(lists.get("query", []), rows).size):
            there = f"also in the list of `{part}`, so scores are too high"
            INPUTS.warning(f"split {split!r}: {counted(shared, 'query')} of {lists['query'].size:,} are {there}.")


def _log_classes(split: str, data: Data, lists: Mapping[str, NDArray], config: Mapping[str, Any]) -> None:
    """Log that every item has a class of its own, or else the classes of queries that no database item has."""
    y, names = data.labels, data.class_names
    if y is None:
        return
    items = Items(len(data.ids), y, data.partitions, lists)
    if len(names) == items.n:
        INPUTS.warning("labels: every item has a class of its own, so no item is relevant. Are they ids?")
        return
    protocol, seed = registry.get("split", split).with_options(config["split_options"][split]), config["seed"]
    parts = protocol.completed(protocol.drawn(items, seed=seed, sizes=config["split_sizes"]), items, seed=seed)
    query, database = (Items(items.n, y[parts[part]]).classes for part in ("query", "database"))
    absent = [names[label] for label in np.setdiff1d(query, database)]
    if absent:
        classes = f"{counted(len(absent), 'class')} of the queries ({abridged(absent)})"
        advice = "Reduce split_sizes, or remove or merge them."
        INPUTS.warning(f"split {split!r}: the database has no items of {classes}. {advice}")


def _check_mirror(experiment: Experiment) -> None:
    config, mirror = experiment.config, experiment.config["mirror"]
    if mirror is not None and "://" not in mirror and not Path(mirror).is_dir():
        raise ProtocolError(f"mirror: {redacted(mirror)!r} is neither a URL nor a folder (looked in {Path.cwd()}).")
    files = [file.name for file in registry.DATASETS.entry(config["dataset"]).files]
    for file in config["mirror_sha256"]:
        one_of(file, files, f"file of dataset {config['dataset']!r} in mirror_sha256")


def _check_quantisers(experiment: Experiment) -> None:
    """Refuse unknown quantisers, and a feature without nearest neighbours that they could find."""
    if "quantisers" not in experiment.config:
        return
    for name in experiment.config["quantisers"]:
        plugin_of(name)
    for feature in experiment.features.values():
        if all(experiment.ground_truths[name].plugin != "nearest_neighbours" for name in feature.ground_truths):
            raise ProtocolError(f"quantisers: feature {feature.name!r} needs the ground truth nearest_neighbours.")


def _check_unhashed(experiment: Experiment) -> None:
    """Refuse a reference that no metric can score, whose vectors can't be compared, or whose name is taken."""
    distance, metrics = experiment.config["unhashed"], experiment.config["metrics"]
    if distance is None:
        return
    if not any(is_defined(metric, distance) for metric in metrics):
        raise ProtocolError(f"unhashed: {listed(metrics)} can only be computed for codes. Add mAP to metrics.")
    if UNHASHED in [*experiment.hashers, *experiment.codes]:
        taken = f"the vectors themselves are called {UNHASHED!r}"
        raise ProtocolError(f"unhashed: {taken}. Rename the method of this name.")
    for feature in experiment.features.values():
        if len(feature.modalities) > 1:
            raise ProtocolError(f"unhashed: the two modalities of feature {feature.name!r} have no common distance.")


def _check_excluded(experiment: Experiment) -> None:
    """Refuse a file of queries to exclude that can't be read, and features with several items in each image."""
    file = experiment.config["exclude_queries"]
    if file is None:
        return
    user_path(file, "file", "exclude_queries")
    with at(about="exclude_queries"):
        read_excluded(file)
    for feature in experiment.features.values():
        if feature.has_several_items:
            raise ProtocolError(f"exclude_queries: feature {feature.name!r} has several items per image.")


def _check_training_labels(experiment: Experiment) -> None:
    """Refuse a file of labels for training that is missing, or that no hasher reads."""
    file = experiment.config["training_labels"]
    if file is not None:
        user_path(file, "file", "training_labels")
        pairs = [(name, feature.name) for feature in experiment.features.values() for name in feature.hashers]
        if not any(supervision_of(experiment.config, *pair).startswith("labels") for pair in pairs):
            raise ProtocolError("training_labels: no hasher learns from labels. Remove the key, or add one like 'sdh'.")


def _check_shards(experiment: Experiment) -> None:
    """Refuse metrics that do not add up over shards, and more shards than database items."""
    config, n_shards = experiment.config, experiment.config["count_shards"]
    if n_shards == 1:
        return
    for metrics in needs(config["metrics"]).values():
        raise ProtocolError(f"metrics: {metrics[0]!r} can't be computed in shards. Remove it, or set count_shards: 1.")
    for split in experiment.splits:
        n_database = experiment.sizes(split).get("database")
        if n_database is not None and n_shards > n_database:
            raise ProtocolError(f"count_shards must be at most {n_database:,}, the size of the database of {split!r}.")


def _check_arrays(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse a feature that reads an array that the dataset does not have."""
    arrays = experiment.arrays
    for modality in feature.modalities.values():
        if arrays and experiment.array_of(modality) is None:
            has = f"dataset {experiment.config['dataset']!r} has only {', '.join(arrays)}"
            raise ProtocolError(f"feature {feature.name!r} reads {modality.reads}, but {has}.")


def _check_radii(feature: FeaturePlan, experiment: Experiment, *metrics: str) -> None:
    """Refuse metrics, by default those of the experiment, whose radius exceeds a code length."""
    shortest = min(feature.n_bits)
    for metric in metrics or experiment.config["metrics"]:
        if keywords(metric).get("radius", 0) > shortest:
            raise ProtocolError(f"metric {metric!r}: the radius exceeds the shortest code length, {shortest} bits.")


def _check_hashers(feature: FeaturePlan, experiment: Experiment) -> None:
    dimension, *_ = experiment.dimensions(feature.name)
    for name in feature.hashers:
        variant = experiment.hashers[name]
        for n_bits, point in itertools.product(feature.n_bits, points(variant.grid)):
            hasher = registry.get("hasher", variant.plugin)(n_bits=n_bits, **variant.options, **point)
            with at(about=f"options of hasher {name!r} at {n_bits} bits"):
                hasher.check()
                if dimension is not None:
                    hasher.check_features(dimension)


def _check_modalities(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse a hasher or ground truth for one modality if queries and database have two modalities, and vice versa."""
    crossed = len(feature.modalities) > 1
    number, other = ("two modalities", "one modality") if crossed else ("one modality", "two paired modalities")
    modalities = f"feature {feature.name!r} has {number}"
    if isinstance(experiment.config["features"][feature.name]["preprocessing"], Mapping) and not crossed:
        raise ProtocolError(f"{modalities}, so `preprocessing` must be one list of steps, not two.")
    for name in feature.hashers:
        if (experiment.supervision(name) == "pairs") != crossed:
            raise ProtocolError(f"hasher {name!r} learns from {other}, but {modalities}. Choose another hasher.")
    for name in feature.ground_truths if crossed else ():
        if not registry.GROUND_TRUTHS.entry(experiment.ground_truths[name].plugin).across_modalities:
            raise ProtocolError(f"ground truth {name!r} needs one modality, but {modalities}; use 'class_label'.")


def _check_labels(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse what needs class labels if there are none."""
    truths = {f"ground truth {name!r}": name for name in feature.ground_truths}
    for name in feature.hashers:
        if truth := supervising(experiment.config).get(experiment.supervision(name) or ""):
            truths[f"hasher {name!r}"] = truth
    truths |= {"leak: the study": "class_label"} if "leak" in experiment.config else {}
    for user, truth in truths.items() if experiment.labelled is False else ():
        plugin = "class_label" if truth == "class_label" else experiment.ground_truths[truth].plugin
        if registry.GROUND_TRUTHS.entry(plugin).needs_labels:
            raise ProtocolError(f"{user} needs class labels, but dataset {experiment.config['dataset']!r} has none.")


def _check_selection(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse a criterion that can't select from the grids of this feature's hashers."""
    config = experiment.config
    if not set(feature.hashers) & set(config["hasher_grids"]):
        return
    ground_truth, metric = config["selection"]["ground_truth"], config["selection"]["metric"]
    if ground_truth is not None:
        one_of(ground_truth, feature.ground_truths, f"ground truth of feature {feature.name!r} in selection")
    if registry.METRICS.entry(metric).better == "lower":
        raise ProtocolError(f"selection.metric: lower values of {metric!r} are better. Choose a metric to maximise.")
    _check_radii(feature, experiment, metric)
    selecting = experiment.ground_truths[ground_truth or feature.ground_truths[0]]
    for split in feature.splits:
        _check_validation(split, config)
        sizes = _sizes(feature, experiment, split)
        where = f", selection, split {split!r}"
        _check_ground_truth(selecting, sizes.get("train"), sizes.get("validation_database"), where)


def _check_validation(split: str, config: Mapping[str, Any]) -> None:
    """Refuse a split without validation sets, or with one whose size is not known."""
    protocol, lists = registry.get("split", split), config["split_options"][split]
    for part in VALIDATION:
        if part not in protocol.partitions or (part in lists and lists[part] is None):
            raise ProtocolError(f"hasher_grids: split {split!r} has no {part} to select options with.")
        if part in protocol.open and part not in config["split_sizes"]:
            raise ProtocolError(f"split_sizes: hasher_grids needs the size of {part} in split {split!r}.")


def _check_splits(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse a split that does not fit the dataset, as far as the dataset is known before it is loaded."""
    config, facts = experiment.config, experiment.facts
    official = facts.get("partitions", {}) if "n" in facts else None
    known = {"n_items": experiment.n_items, "n_classes": facts.get("classes"), "official": official}
    for split in feature.splits:
        protocol, options = registry.get("split", split), config["split_options"][split]
        with at(about=f"split {split!r} of dataset {config['dataset']!r}"):
            protocol.list_paths(options)
            protocol.with_options(options).check(config["split_sizes"], **known)


def _check_ground_truths(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse options of ground truths that are out of range or do not fit the sizes of a split."""
    kinds = {experiment.supervision(name) for name in feature.hashers}
    graded = [experiment.config["affinities"]] if "affinities" in kinds else []
    for split in feature.splits:
        sizes, where = _sizes(feature, experiment, split), f", split {split!r}"
        n_train = sizes.get("train")
        for name in feature.ground_truths:
            _check_ground_truth(experiment.ground_truths[name], n_train, sizes.get("database"), where)
            for metric in experiment.config["metrics"]:
                _check_nearest(metric, experiment.ground_truths[name])
        for name in graded:  # among the training rows
            _check_ground_truth(experiment.ground_truths[name], n_train, n_train, where)


def _sizes(feature: FeaturePlan, experiment: Experiment, split: str) -> dict[str, int]:
    """Return the known numbers of items in the partitions; {} for a feature with several items per image (SIFT)."""
    return {} if feature.has_several_items else experiment.sizes(split)


def _check_nearest(metric: str, variant: Variant) -> None:
    """Refuse a metric that needs the nearest items to be relevant, if other items are."""
    relevant = registry.METRICS.entry(metric).relevant
    number = 1 if relevant == "the nearest" else keywords(metric).get("cutoff")
    if relevant and (variant.plugin != "nearest_neighbours" or variant.options["n_neighbours"] != number):
        needed = f"nearest_neighbours with n_neighbours {number}"
        raise ProtocolError(f"metric {metric!r} requires every ground truth to be {needed}; {variant.name!r} is not.")


def _check_ground_truth(variant: Variant, n_train: int | None, n_database: int | None, where: str) -> None:
    check = registry.GROUND_TRUTHS.entry(variant.plugin).check
    if check is not None:
        with at(about=f"options of ground truth {variant.name!r}{where}"):
            check(n_train=n_train, n_database=n_database, **variant.options)


def _check_leak(feature: FeaturePlan, experiment: Experiment) -> None:
    """Refuse a leak study with one run, with an unknown control, or with supervised hashers or selected options."""
    config = experiment.config
    if "leak" not in config:
        return
    for name in config["leak"]["controls"]:
        one_of(name, feature.hashers, f"hasher of feature {feature.name!r} in leak.controls")
    if feature.runs < 2:
        raise ProtocolError(f"leak: the study needs at least 2 runs of feature {feature.name!r}, got {feature.runs}.")
    for name in feature.hashers:
        if kind := experiment.supervision(name):
            raise ProtocolError(f"leak: hasher {name!r} needs {kind}; choose hashers that learn without supervision.")
        if name in config["hasher_grids"]:
            raise ProtocolError(f"leak: the study needs fixed options, but {name!r} is in hasher_grids.")


def _check_code_files(feature: FeaturePlan, experiment: Experiment) -> None:
    """Raise ProtocolError if a file of precomputed codes is missing or has another number of codes than the split."""
    for method in (method for method in experiment.codes.values() if method.feature == feature.name):
        for split, run in itertools.product(method.splits, range(feature.runs)):
            sizes = experiment.sizes(split)
            for role, file in itertools.chain(*(files.items() for files in method.files(split, run).values())):
                user_path(file, "file", f"codes.{method.name}.{role}")
                shape = shape_with_ids(file)[0] if role in sizes else None
                if shape is not None and shape[0] != sizes[role]:
                    items = f"the {sizes[role]:,} items of `{role}` in the {split} split"
                    raise ProtocolError(f"codes.{method.name}.{role}: {file}: {shape[0]:,} codes for {items}.")


_OF_EXPERIMENT = {
    "mirror": _check_mirror,
    "count_shards": _check_shards,
    "exclude_queries": _check_excluded,
    "quantisers": _check_quantisers,
    "training_labels": _check_training_labels,
    "unhashed": _check_unhashed,
}
_OF_FEATURE = {
    "options": _check_arrays,
    "n_bits": _check_radii,
    "hashers": _check_hashers,
    "preprocessing": _check_modalities,
    "ground_truths": _check_labels,
    "selection": _check_selection,
    "splits": _check_splits,
    "ground_truth_options": _check_ground_truths,
    "leak": _check_leak,
    "codes": _check_code_files,
}
"""The checks by the key that each is about; those of features are repeated for each feature."""
