"""The loader: makes a checked experiment from the keys of a config file."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import checks, options, schema
from protocol.configuration.experiment import Experiment, FeaturePlan
from protocol.configuration.schema import KeyedError, at, place, read
from protocol.configuration.variants import check_name, hasher_grid, read_finished_codes, read_variants
from protocol.metrics import ALL, everything
from protocol.registry import folders
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
            folders.add(filled["plugins"])
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
    filled["hasher_grids"] = {
        name: hashers[name].grid
        if name in hashers
        else hasher_grid(name, filled["hasher_bases"].get(name, name), {}, filled["hasher_grids"][name])
        for name in sorted(filled["hasher_grids"])
    }
    filled, needed = checks.with_affinities(filled, hashers)
    filled, ground_truths = read_variants("ground_truth", filled, also=needed)
    plans = {name: _plan(name, own, filled) for name, own in filled["features"].items()}
    with at("codes"):
        filled["codes"], codes = read_finished_codes(filled, plans, hashers)
    with at("names"):
        filled["names"] = named(filled, plans, {**hashers, **codes}, ground_truths)
    with at("paper"):
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


def _plan(name: str, own: Mapping[str, Any], config: Mapping[str, Any]) -> FeaturePlan:
    steps = own["preprocessing"]
    by_modality = steps if isinstance(steps, Mapping) else dict.fromkeys(("query", "database"), steps)
    keys = ("runs", "splits", "ground_truths", "hashers", "n_bits", "extensions")
    return FeaturePlan(
        name=name,
        plugin=own["base"],
        options=own["options"],
        preprocessing=by_modality["query"],
        database_preprocessing=by_modality["database"],
        **{key: own.get(key, config[key]) for key in keys},
    )


_PLACE = ("features", "ground_truths", "splits")


def named(
    config: Mapping[str, Any],
    plans: Mapping[str, FeaturePlan],
    hashers: Mapping[str, Any],
    ground_truths: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the display name of everything that an experiment uses, in the form of the key `names`.

    If two things have the same printed name, as two variants of mAP@100 do, each is shown by its own name instead.

    Parameters
    ----------
    config : mapping
        Its key `names` contains the names that the user gave.
    plans : mapping of str to FeaturePlan
    hashers, ground_truths : mapping
        By name: a `Variant`, or for a method with finished codes, an object without a plug-in.

    Raises
    ------
    ProtocolError
        If a name is given to something that the experiment doesn't use, or to two things of the same kind.
    """
    given, codes = config["names"], config["codes"]
    used = {kind: _listed(plans, f"{kind}s") for kind in ("ground_truth", "split", "hasher")}
    plugins: dict[str, dict[str, str | None]] = {
        "feature": {name: plan.plugin for name, plan in plans.items()},
        "ground_truth": {name: ground_truths[name].plugin for name in used["ground_truth"]},
        "split": {name: name for name in used["split"]},
        "hasher": {name: hashers[name].plugin for name in used["hasher"]} | dict.fromkeys(codes),
        "metric": {name: name for name in config["metrics"]},
    }
    by_kind = {f"{kind}s": _of_kind(kind, of_kind, given[f"{kind}s"]) for kind, of_kind in plugins.items()}
    record = registry.DATASETS.entry(config["dataset"])  # a user's own data have no printed name
    dataset = (
        config["experiment"]
        if record.required and not record.printed
        else registry.printed_name("dataset", record.name)
    )
    return {"dataset": given.get("dataset") or dataset, **by_kind}


def _listed(plans: Mapping[str, FeaturePlan], key: str) -> list[Any]:
    return list(dict.fromkeys(itertools.chain.from_iterable(getattr(plan, key) for plan in plans.values())))


def _of_kind(kind: str, plugins: Mapping[str, str | None], given: Mapping[str, str]) -> dict[str, str]:
    """Return the display names of a kind by name; a method without a plug-in is shown by its name."""
    for name in given:
        with at("names", f"{kind}s", name):
            one_of(name, plugins, f"{kind.replace('_', ' ')} in names.{kind}s")
    printed = {
        name: name if plugin is None else registry.printed_name(kind, plugin, name) for name, plugin in plugins.items()
    }
    n_named = Counter(printed.values())
    names = {name: given.get(name, text if n_named[text] == 1 else name) for name, text in printed.items()}
    for name, text in names.items():
        if Counter(names.values())[text] > 1:
            raise ProtocolError(f"names.{kind}s: {name!r} and another one have the same name, {text!r}.")
    return names


def shown_in_paper(config: Mapping[str, Any], plans: Mapping[str, FeaturePlan]) -> dict[str, list[Any]]:
    """Return the key `paper` with its defaults filled in.

    Parameters
    ----------
    config : mapping
        A configuration whose key `paper` contains only the keys that the user gave.
    plans : mapping of str to FeaturePlan

    Raises
    ------
    ProtocolError
        If the experiment lacks a chosen value, or the chosen values never occur together.
    """
    given, metrics, first = config["paper"], list(config["metrics"]), next(iter(plans.values()))
    used: dict[str, list[Any]] = {"metrics": metrics, "features": list(plans)}
    used |= {key: _listed(plans, key) for key in ("n_bits", "ground_truths", "splits")}
    leading = "mAP" if "mAP" in metrics else metrics[0]
    defaults = {
        "metrics": list(dict.fromkeys([leading, *{"precision@r2"}.intersection(metrics)])),
        "n_bits": used["n_bits"],
        "features": [first.name],
        "ground_truths": first.ground_truths[:1],
        "splits": first.splits[:1],
    }
    for key, names in given.items():
        for name in names:
            one_of(str(name), map(str, used[key]), f"paper.{key}")
    chosen = {key: list(given.get(key, defaults[key])) for key in defaults}
    chosen["n_bits"].sort()
    places = itertools.product(*map(chosen.__getitem__, _PLACE))
    if not any(truth in plans[name].ground_truths and split in plans[name].splits for name, truth, split in places):
        raise ProtocolError("paper: no combination of these features, ground truths and splits is in the experiment.")
    return chosen
