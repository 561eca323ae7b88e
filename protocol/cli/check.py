"""`protocol check`: check a config file, and print what it would run."""

import argparse
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import ProtocolError, counted
from protocol.cli._output import show

if TYPE_CHECKING:
    from protocol.configuration import Experiment

_TARGETS = ("report", "leak", "quantisers")  # the others add jobs only to an experiment with the key of this name


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol check`."""
    from protocol import configuration

    config: dict[str, Any] = {}
    for changes in [*map(configuration.read, arguments.files), dict(map(_change, arguments.config))]:
        config = _changed(config, changes)
    experiment = configuration.load(config, from_file=bool(arguments.files))
    _check_images(experiment)
    show("\n".join(f"{title:<11}{line}".rstrip() for title, line in _rows(experiment)))


def _check_images(experiment: "Experiment") -> None:
    """Raise ProtocolError if files in a folder of images that a dataset reads are not images."""
    from protocol import datasets

    name, options = experiment.config["dataset"], experiment.config["dataset_options"]
    record = registry.DATASETS.entry(name)
    if record.user_folders and record.streamed and not record.files:  # without downloads, it lists the folder
        datasets.load(name, {}, options)


def _change(text: str) -> tuple[str, Any]:
    """Return the key and the value of KEY=VALUE; the value is YAML."""
    from protocol.configuration.yaml_files import parse

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ProtocolError(f"--config must be KEY=VALUE, got {text!r}.")
    return key, parse(value, f"--config {key}")


def _changed(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with changes: mappings are merged, other values replaced, as Snakemake does."""
    merged = dict(config)
    for key, value in changes.items():
        before = merged.get(key)
        are_mappings = isinstance(value, Mapping) and isinstance(before, Mapping)
        merged[key] = _changed(before or {}, value) if are_mappings else value
    return merged


def _rows(experiment: "Experiment") -> list[tuple[str, str]]:
    """Return the lines of the summary with their titles; further lines under a title have an empty one."""
    parts = {
        "experiment": [experiment.name],
        "dataset": [_dataset(experiment)],
        "plugins": _plugins(experiment),
        "features": _features(experiment),
        "trained on": training(experiment),
        "files": _files(experiment),
        "left out": _excluded(experiment),
        "jobs": _jobs(experiment),
        "needs": _needs(experiment),
        "names": _names(experiment),
        "missing": _missing(experiment),
    }
    return [(title if index == 0 else "", line) for title, lines in parts.items() for index, line in enumerate(lines)]


def _names(experiment: "Experiment") -> list[str]:
    """Return the keys with which the report would have a title and display names, if they are not set."""
    keys = [key for key in ("title", "names") if not experiment.config.get(key)]
    return [f"those of the config (keys for others in the report: {', '.join(keys)})"] if keys else []


def _dataset(experiment: "Experiment") -> str:
    from protocol.configuration.resources import items

    facts, name = experiment.facts, experiment.config["dataset"]
    known = [f"{items(experiment):,} items" + ("" if "n" in facts else " (estimated from the files)")]
    known += [f"{facts['classes']} classes"] if "classes" in facts else []
    known += ["no labels"] if experiment.labelled is False else []
    known += [f"images of {' x '.join(map(str, facts['image_shape']))}"] if "image_shape" in facts else []
    known += [f"{vectors} of {length:,} numbers" for vectors, length in facts.get("dimensions", {}).items()]
    return f"{name}: {', '.join(known)}"


def _plugins(experiment: "Experiment") -> list[str]:
    """Return the user's own plug-ins."""
    if experiment.config["plugins"] is None:
        return []
    names = [f"{record.kind.replace('_', ' ')} {record.name}" for record in registry.own()]
    return [f"{experiment.config['plugins']}: {', '.join(names) or 'none'}"]


def _features(experiment: "Experiment") -> list[str]:
    """Return a line for each feature: its dimensions, and the combinations that are run."""
    rows = []
    for name, feature in experiment.features.items():
        lengths = [f"{length:,}" if length else "unknown" for length in experiment.dimensions(name)]
        parts = (
            f"{' and '.join(lengths)} dimensions",
            counted(len(feature.hashers), "hasher"),
            counted(len(feature.n_bits), "code length"),
            counted(feature.runs, "run"),
            counted(len(feature.splits), "split"),
        )
        base = "" if feature.plugin == name else f" ({feature.plugin})"
        finished = experiment.finished(name)
        rows.append(
            f"{name}{base}: {parts[0]}; {' x '.join(parts[1:])}"
            + (f"; finished codes: {', '.join(finished)}" if finished else "")
        )
    return rows


def training(experiment: "Experiment") -> list[str]:
    """Return a line for each kind of supervision, with the hashers that learn from it."""
    learners: dict[str, list[str]] = {}
    for name, feature in experiment.features.items():
        for hasher in feature.hashers:
            kind = experiment.learned_from(hasher, name)
            learners.setdefault("vectors alone" if kind == "none" else f"vectors and {kind}", []).append(hasher)
    texts = [f"{kind}: {', '.join(dict.fromkeys(hashers))}" for kind, hashers in learners.items()]
    return [line for text in texts for line in textwrap.wrap(text, 100, subsequent_indent="  ")]


def _files(experiment: "Experiment") -> list[str]:
    """Return the files that are downloaded, and the user's own files."""
    from protocol import datasets
    from protocol.splits import list_paths

    config = experiment.config
    fetched = [file.name for file in registry.DATASETS.entry(config["dataset"]).files]
    files, folders = datasets.user_paths(config["dataset"], config["dataset_options"])
    splits = dict.fromkeys(split for feature in experiment.features.values() for split in feature.splits)
    lists = [
        path
        for split in splits
        for path in list_paths(registry.get("split", split), config["split_options"][split]).values()
    ]
    codes = [pattern for method in experiment.codes.values() for pattern in (method.query, method.database)]
    return [*fetched, *map(str, [*files, *folders, *lists]), *codes] or ["none"]


def _excluded(experiment: "Experiment") -> list[str]:
    """Return what the file with queries to exclude contains."""
    from protocol.auditing import read_excluded

    file = experiment.config["exclude_queries"]
    return [] if file is None else [f"queries in {file} ({read_excluded(file).about}) from all scores"]


def _jobs(experiment: "Experiment") -> list[str]:
    from protocol.configuration import Plan

    n_jobs = Plan(experiment).jobs(_TARGETS)
    text = ", ".join(f"{rule}\N{NO-BREAK SPACE}{number:,}" for rule, number in n_jobs.items())
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(text, 100)]
    return [f"{sum(n_jobs.values()):,} if there are no results yet", *lines]


def _needs(experiment: "Experiment") -> list[str]:
    from protocol.configuration import Plan, need
    from protocol.configuration.resources import matrix_mb

    needs = {rule: need(experiment, rule) for rule in Plan(experiment).jobs(_TARGETS)}
    memory = max(needs, key=lambda rule: needs[rule]["mem_mb"])
    longest = max(needs, key=lambda rule: needs[rule]["runtime"])
    total = sum(matrix_mb(experiment, name) for name in experiment.features)
    return [
        f"feature matrices {total:,.0f} MB in total",
        f"largest memory {needs[memory]['mem_mb']:,} MB, for a job of {memory}",
        f"longest time limit {needs[longest]['runtime']:,} minutes, for a job of {longest}",
    ]


def _missing(experiment: "Experiment") -> list[str]:
    """Return the error of a run on this machine, if a package is not installed: the file itself is checked without."""
    from protocol import configuration

    try:
        configuration.check_installed(experiment)
    except ProtocolError as error:
        return [str(error)]
    return []
