"""The loader: makes a checked experiment from the keys of a config file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import datasets, plugin_folders, registry
from protocol.checks import ProtocolError
from protocol.configuration import checks, options, schema
from protocol.configuration.display_names import named, shown_in_paper
from protocol.configuration.experiment import Experiment, FeaturePlan, Variant
from protocol.configuration.finished_codes import read_finished_codes
from protocol.configuration.variants import check_name, hasher_grid, read_variants
from protocol.configuration.yaml_files import KeyedError, at, place, read
from protocol.metrics import ALL, everything
from protocol.shipped import DEFAULT
from protocol.splits import DRAWN


def load(config: Mapping[str, Any], *, from_file: bool = True, files: Sequence[str | Path] = ()) -> Experiment:
    """Return the checked experiment that a configuration describes.

    Parameters
    ----------
    config : mapping
        The keys of a config file, with changes from the command line.
    from_file : bool, default=True
        Whether `config` is a complete configuration; otherwise its keys change the default experiment.
    files : sequence of path, default=()
        The config files that `config` was read from, which messages name; later ones take precedence.

    Raises
    ------
    ProtocolError
        With one line that states the file and line, the key, the allowed values and the value found.

    Notes
    -----
    The plug-ins in the folder of the key `plugins` stay registered in this process and in those that it starts.

    Examples
    --------
    >>> experiment = load({"runs": 2}, from_file=False)
    >>> experiment.name, experiment.features["gist"].runs
    ('digits', 2)
    """
    for file in files:  # Snakemake accepts a key that is repeated
        read(file)
    try:
        return _loaded(config if from_file else _changed_default(config))
    except ProtocolError as error:
        if from_file and not files:
            raise
        path = error.path if isinstance(error, KeyedError) else ()
        raise ProtocolError(f"{place(config, files, path)}: {error}") from error
    except (ArithmeticError, MemoryError, OSError, RecursionError) as error:  # caused by a value that no check covers
        reason = " ".join(str(error).split()) or "no details"
        raise ProtocolError(f"config file: a value can't be used: {type(error).__name__} ({reason}).") from error


def _loaded(config: Mapping[str, Any]) -> Experiment:
    """Return the checked experiment of a complete configuration."""
    filled = _canonical(schema.checked(config))
    if filled["plugins"] is not None:
        with at("plugins"):
            plugin_folders.add(filled["plugins"])
    with at("dataset"):
        registry.DATASETS.check(filled["dataset"])
    checks.check_metrics(filled)
    if ALL in filled["metrics"]:
        shortest = min(min(part["n_bits"]) for part in (filled, *filled["features"].values()) if "n_bits" in part)
        filled["metrics"] = everything(shortest)
    with at("dataset_options"):
        given = filled["dataset_options"]
        filled["dataset_options"] = options.filled("dataset", filled["dataset"], given, path=("dataset_options",))
        datasets.user_paths(filled["dataset"], filled["dataset_options"])
    for name, own in filled["features"].items():
        with at("features", name):
            filled["features"][name] = _feature(name, own)
    filled["split_options"] = _split_options(filled)
    filled, hashers = read_variants("hasher", filled)
    filled["hasher_grids"] = _grids(filled, hashers)
    filled, needed = checks.with_affinities(filled, hashers)
    filled, ground_truths = read_variants("ground_truth", filled, also=needed)
    plans = {name: _plan(name, own, filled) for name, own in filled["features"].items()}
    filled["codes"], codes = read_finished_codes(filled, plans, hashers)
    filled["names"] = named(filled, plans, {**hashers, **codes}, ground_truths)
    filled["paper"] = shown_in_paper(filled, plans)
    experiment = Experiment(filled["experiment"], filled, plans, hashers, ground_truths, codes)
    checks.check(experiment)
    return experiment


def _changed_default(config: Mapping[str, Any]) -> dict[str, Any]:
    default = read(DEFAULT)
    if config.get("dataset", default["dataset"]) != default["dataset"] and "experiment" not in config:
        raise ProtocolError("dataset: results for another dataset need another name: add --config experiment=NAME.")
    return default | dict(config)


def _canonical(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with unordered values in a fixed order, so that a new order does not rerun jobs."""
    for part in (config, *config["features"].values()):
        for key in ("n_bits", "extension_bits"):
            if key in part:
                part[key] = sorted(part[key])
    sizes = config["split_sizes"]
    return config | {
        "split_sizes": {name: sizes[name] for name in DRAWN if name in sizes},
        "mirror_sha256": dict(sorted(config["mirror_sha256"].items())),
    }


def _feature(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a feature, with its plug-in and all its options filled in."""
    plugin = own.get("base", name)
    registry.FEATURES.check(plugin)
    check_name(name, "feature", plugin)
    filled = options.filled("feature", plugin, own["options"], called=name, path=("features", name, "options"))
    with at(about=f"feature {name!r}"):
        registry.get("feature", plugin)(**filled)
    return {"base": plugin, **own, "options": filled}


def _split_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of all splits in use, and of those that the user gave."""
    given, names = config["split_options"], set(config["split_options"])
    for path, part in [((), config), *((("features", name), own) for name, own in config["features"].items())]:
        for index, name in enumerate(part.get("splits", [])):
            with at(*path, "splits", index):
                registry.SPLITS.check(name)
            names.add(name)
    for name in given:
        with at("split_options", name):
            registry.SPLITS.check(name)
    return {
        name: options.filled("split", name, given.get(name, {}), path=("split_options", name)) for name in sorted(names)
    }


def _grids(config: Mapping[str, Any], hashers: Mapping[str, Variant]) -> dict[str, Any]:
    """Return all grids by hasher, including those of hashers that the experiment does not use."""
    return {
        name: hashers[name].grid
        if name in hashers
        else hasher_grid(name, config["hasher_bases"].get(name, name), {}, config["hasher_grids"][name])
        for name in sorted(config["hasher_grids"])
    }


def _plan(name: str, own: Mapping[str, Any], config: Mapping[str, Any]) -> FeaturePlan:
    steps = own["preprocessing"]
    by_modality = steps if isinstance(steps, Mapping) else {"query": steps, "database": steps}
    keys = ("runs", "splits", "ground_truths", "hashers", "n_bits", "extensions")
    return FeaturePlan(
        name=name,
        plugin=own["base"],
        options=own["options"],
        preprocessing=by_modality["query"],
        database_preprocessing=by_modality["database"],
        **{key: own.get(key, config[key]) for key in keys},
    )
