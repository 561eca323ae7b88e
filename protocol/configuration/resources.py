"""The number of items of a dataset before it is loaded, by which the work is divided among jobs."""

import functools
from pathlib import Path

from protocol import datasets
from protocol.configuration.experiment import Experiment, FeaturePlan

_UNKNOWN = 512  # dimensions of a feature, if only its files record them


def items(experiment: Experiment) -> int:
    """Return the number of items of the dataset, estimated from the sizes of the user's files if it is not known."""
    if "n" in experiment.facts:
        return int(experiment.facts["n"])
    files, folders = datasets.user_paths(experiment.config["dataset"], experiment.config["dataset_options"])
    if folders:
        return sum(map(_count, folders))
    smallest = min(row_bytes(experiment, feature) for feature in experiment.features.values())
    return sum(file.stat().st_size for file in files) // smallest


@functools.cache
def _count(folder: Path) -> int:
    return datasets.count_files(folder)


def row_bytes(experiment: Experiment, feature: FeaturePlan) -> int:
    """Return the bytes of an item's float32 vectors of all modalities: the larger of before and after extraction."""
    known = experiment.facts.get("dimensions", {})
    arrays = [experiment.array_of(modality) or "" for modality in feature.modalities.values()]
    before = [int(known.get(array.removeprefix("vectors/"), 0)) for array in arrays]
    after = experiment.dimensions(feature.name)
    return 4 * sum(max(length or read or _UNKNOWN, read) for length, read in zip(after, before, strict=True))
