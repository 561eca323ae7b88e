"""The loader: makes a checked experiment from the keys of a config file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import checks, options, schema
from protocol.configuration.experiment import Experiment, FeaturePlan, Variant
from protocol.configuration.schema import KeyedError, at, location, read
from protocol.configuration.variants import check_code_files, check_variant, entries, finished_codes, read_variants
from protocol.metrics import ALL, everything
from protocol.registry import folders
from protocol.shipped import DEFAULT


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
        raise ProtocolError(f"{location(config, files, path)}: {error}") from error
    except (ArithmeticError, MemoryError, OSError, RecursionError) as error:  # caused by a value that no check covers
        reason = " ".join(str(error).split()) or "no details"
        raise ProtocolError(f"config file: a value can't be used: {type(error).__name__} ({reason}).") from error


def _loaded(config: Mapping[str, Any]) -> Experiment:
    """Return the checked experiment of a complete configuration."""
    complete = _canonical(schema.checked(config))
    if complete["plugins"] is not None:
        with at("plugins"):
            folders.add(complete["plugins"])
    with at("dataset"):
        registry.DATASETS.check(complete["dataset"])
    complete["metrics"] = _metrics(complete)
    with at("dataset_options"):
        values, path = complete["dataset_options"], ("dataset_options",)
        complete["dataset_options"] = options.with_defaults("dataset", complete["dataset"], values, path=path)
        datasets.user_paths(complete["dataset"], complete["dataset_options"])
    complete["features"] = {name: _feature(name, keys) for name, keys in complete["features"].items()}
    complete["split_options"] = _split_options(complete)
    complete, hashers = read_variants("hasher", complete)
    complete["hasher_grids"] = {name: hashers[name].grid for name in sorted(complete["hasher_grids"])}
    complete, ground_truths = read_variants("ground_truth", complete)
    plans = {name: _plan(name, keys, complete) for name, keys in complete["features"].items()}
    complete, needed = checks.with_affinities(complete, plans.values(), hashers, ground_truths)
    complete, ground_truths = read_variants("ground_truth", complete, also=needed)
    with at("codes"):
        codes = finished_codes(complete, plans, hashers)
        complete["codes"] = {name: method.config for name, method in codes.items()}
    with at("names"):
        complete["names"] = _names(complete, plans, hashers, ground_truths)
    with at("paper"):
        complete["paper"] = _shown_in_paper(complete, plans)
    experiment = Experiment(complete["experiment"], complete, plans, hashers, ground_truths, codes)
    checks.check(experiment)
    with at("codes"):
        check_code_files(experiment)
    return experiment


def _changed_default(config: Mapping[str, Any]) -> dict[str, Any]:
    default = read(DEFAULT)
    if config.get("dataset", default["dataset"]) != default["dataset"] and "experiment" not in config:
        raise ProtocolError("dataset: results for another dataset need another name: add --config experiment=NAME.")
    return default | dict(config)


def _canonical(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with unordered values in a fixed order, so that a new order does not rerun jobs."""
    for part in (config, *config["features"].values()):
        part |= {key: sorted(part[key]) for key in ("n_bits", "extension_bits") if key in part}
    return config | {"mirror_sha256": dict(sorted(config["mirror_sha256"].items()))}


def _metrics(config: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics, all of which are known."""
    for index, metric in enumerate(config["metrics"]):
        with at("metrics", index):
            if metric != ALL:
                registry.get("metric", metric)
    with at("selection", "metric"):
        registry.get("metric", config["selection"]["metric"])
    shortest = min(min(part["n_bits"]) for part in (config, *config["features"].values()) if "n_bits" in part)
    return everything(shortest) if ALL in config["metrics"] else list(config["metrics"])


def _feature(name: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a feature, with its plug-in and all its options filled in."""
    plugin = keys.get("base", name)
    with at("features", name):
        check_variant(name, "feature", plugin)
        values = options.with_defaults(
            "feature", plugin, keys["options"], called=name, path=("features", name, "options")
        )
        with at(about=f"feature {name!r}"):
            registry.get("feature", plugin)(**values)
    return {"base": plugin, **keys, "options": values}


def _split_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of all splits in use, and of those that the user set."""
    values = config["split_options"]
    places = [(("split_options", name), name) for name in values]
    for path, name in [*((path, name) for path, name, _ in entries("split", config)), *places]:
        with at(*path):
            registry.SPLITS.check(name)
    names = sorted({*values, *(name for _, name, _ in entries("split", config))})
    return {
        name: options.with_defaults("split", name, values.get(name, {}), path=("split_options", name)) for name in names
    }


def _plan(name: str, feature: Mapping[str, Any], config: Mapping[str, Any]) -> FeaturePlan:
    steps = feature["preprocessing"]
    by_modality = steps if isinstance(steps, Mapping) else dict.fromkeys(("query", "database"), steps)
    keys = ("runs", "splits", "ground_truths", "hashers", "n_bits", "extensions")
    return FeaturePlan(
        name=name,
        plugin=feature["base"],
        options=feature["options"],
        preprocessing=by_modality["query"],
        database_preprocessing=by_modality["database"],
        **{key: feature.get(key, config[key]) for key in keys},
    )


def _names(
    config: Mapping[str, Any],
    plans: Mapping[str, FeaturePlan],
    hashers: Mapping[str, Variant],
    ground_truths: Mapping[str, Variant],
) -> dict[str, Any]:
    """Return the display name of everything that an experiment uses, in the form of the key `names`.

    If two things have the same printed name, as two variants of mAP@100 do, each is shown by its own name instead.
    A method with finished codes is shown by its name.

    Raises
    ------
    ProtocolError
        If a name is given to something that the experiment doesn't use, or to two things of the same kind.
    """
    used = _used(plans)
    plugins = {
        "feature": {plan.name: plan.plugin for plan in plans.values()},
        "ground_truth": {name: ground_truths[name].plugin for name in used["ground_truths"]},
        "split": {name: name for name in used["splits"]},
        "hasher": {name: hashers[name].plugin for name in used["hashers"]} | {name: name for name in config["codes"]},
        "metric": {name: name for name in config["metrics"]},
    }
    names = {f"{kind}s": _names_of(kind, of_kind, config) for kind, of_kind in plugins.items()}
    return {"dataset": config["names"].get("dataset") or _dataset_name(config), **names}


def _dataset_name(config: Mapping[str, Any]) -> str:
    record = registry.DATASETS.entry(config["dataset"])
    is_own = record.required and not record.printed  # a user's own data have no printed name
    return str(config["experiment"]) if is_own else registry.printed_name("dataset", record.name)


def _names_of(kind: str, plugins: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, str]:
    """Return the display names of a kind by name."""
    user_names = config["names"][f"{kind}s"]
    for name in user_names:
        with at("names", f"{kind}s", name):
            one_of(name, plugins, f"{kind.replace('_', ' ')} in names.{kind}s")
    printed = {
        name: name if name in config["codes"] and kind == "hasher" else registry.printed_name(kind, plugin, name)
        for name, plugin in plugins.items()
    }
    n_named = Counter(printed.values())
    names = {name: user_names.get(name, text if n_named[text] == 1 else name) for name, text in printed.items()}
    for name, text in names.items():
        if Counter(names.values())[text] > 1:
            raise ProtocolError(f"names.{kind}s: {name!r} and another one have the same name, {text!r}.")
    return names


def _used(plans: Mapping[str, FeaturePlan]) -> dict[str, list[Any]]:
    """Return what any feature uses, each once."""
    keys = ("n_bits", "ground_truths", "splits", "hashers")
    return {key: list(dict.fromkeys(value for plan in plans.values() for value in getattr(plan, key))) for key in keys}


def _shown_in_paper(config: Mapping[str, Any], plans: Mapping[str, FeaturePlan]) -> dict[str, list[Any]]:
    """Return the key `paper` with its defaults filled in.

    Raises
    ------
    ProtocolError
        If the experiment lacks a chosen value, or the chosen values never occur together.
    """
    metrics, first = config["metrics"], next(iter(plans.values()))
    used = {**_used(plans), "metrics": metrics, "features": list(plans)}
    leading = "mAP" if "mAP" in metrics else metrics[0]
    chosen: dict[str, list[Any]] = {
        "metrics": list(dict.fromkeys([leading, *{"precision@r2"}.intersection(metrics)])),
        "n_bits": used["n_bits"],
        "features": [first.name],
        "ground_truths": first.ground_truths[:1],
        "splits": first.splits[:1],
    }
    for key, names in config["paper"].items():
        for name in names:
            one_of(str(name), map(str, used[key]), f"paper.{key}")
        chosen[key] = names
    truths, splits = set(chosen["ground_truths"]), set(chosen["splits"])
    if not any(
        truths & set(plans[name].ground_truths) and splits & set(plans[name].splits) for name in chosen["features"]
    ):
        raise ProtocolError("paper: no combination of these features, ground truths and splits is in the experiment.")
    return chosen | {"n_bits": sorted(chosen["n_bits"])}
