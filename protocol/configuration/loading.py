"""The loader: makes a checked experiment from the keys of a config file."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import checks, options, schema
from protocol.configuration.experiment import Experiment, FeaturePlan, Variant
from protocol.configuration.precomputed_codes import check_code_files, precomputed_codes
from protocol.configuration.schema import KeyedError, at, location, read
from protocol.metrics import ALL, everything
from protocol.registry import folders
from protocol.shipped import DEFAULT
from protocol.splits import sample_of, sharing


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
        text = re.sub("^Unknown", "unknown", str(error))
        raise ProtocolError(f"{location(config, files, path)}: {text}") from error


def _loaded(config: Mapping[str, Any]) -> Experiment:
    """Return the checked experiment of a complete configuration."""
    complete = schema.checked(config)
    for _, part in _parts(complete):  # in a fixed order, so that another order does not rerun jobs
        part |= {key: sorted(part[key]) for key in ("n_bits", "extension_bits") if key in part}
    complete["mirror_sha256"] = dict(sorted(complete["mirror_sha256"].items()))
    if complete["plugins"] is not None:
        with at("plugins"):
            folders.add(complete["plugins"])
    for kind in ("hasher", "ground_truth"):
        _name_variants(kind, complete)
    with at("dataset"):
        registry.DATASETS.check(complete["dataset"])
    complete["metrics"] = _metrics(complete)
    with at("dataset_options"):
        values, path = complete["dataset_options"], ("dataset_options",)
        complete["dataset_options"] = options.with_defaults("dataset", complete["dataset"], values, path=path)
        datasets.user_paths(complete["dataset"], complete["dataset_options"])
    with at("selection", "ground_truth"):
        if complete["selection"].get("ground_truth") is not None:
            registry.GROUND_TRUTHS.check(complete["selection"]["ground_truth"], also=complete["ground_truth_bases"])
    complete["features"] = {name: _feature(name, keys) for name, keys in complete["features"].items()}
    _name_protocols(complete)
    plans = {name: _plan(name, keys, complete) for name, keys in complete["features"].items()}
    hashers, ground_truths = _variants("hasher", complete), _variants("ground_truth", complete)
    with at("affinities"):
        complete["affinities"] = _affinities(complete, plans.values(), hashers)
    kinds = {registry.get("hasher", hasher.plugin).supervision for hasher in hashers.values()}
    supervising = {"labels": "class_label", "affinities": complete["affinities"]}
    for name in {truth for kind, truth in supervising.items() if kind in kinds and truth} - ground_truths.keys():
        ground_truths[name] = _variant("ground_truth", name, complete)
    ground_truths = dict(sorted(ground_truths.items()))
    for kind, variants in (("hasher", hashers), ("ground_truth", ground_truths)):
        complete[f"{kind}_options"] = {name: variant.options for name, variant in variants.items()}
        complete[f"{kind}_bases"] = {name: use.plugin for name, use in variants.items() if use.plugin != name}
    complete["hasher_grids"] = {name: hashers[name].grid for name in sorted(complete["hasher_grids"])}
    with at("codes"):
        codes = {name: precomputed_codes(name, entry, plans, hashers) for name, entry in complete["codes"].items()}
        complete["codes"] = {name: method.config for name, method in codes.items()}
    experiment = Experiment(complete["experiment"], complete, plans, hashers, ground_truths, codes)
    checks.check(experiment)
    with at("codes"):
        check_code_files(experiment)
    return experiment


def _parts(config: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """Return what may list plug-ins, after the keys that lead to it: the configuration, and each of its features."""
    return [((), config), *((("features", name), keys) for name, keys in config["features"].items())]


def _changed_default(config: Mapping[str, Any]) -> dict[str, Any]:
    default = read(DEFAULT)
    if config.get("dataset", default["dataset"]) != default["dataset"] and "experiment" not in config:
        raise ProtocolError("dataset: results for another dataset need another name: add --config experiment=NAME.")
    return default | dict(config)


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
    plugin, path = keys.get("base", name), ("features", name, "options")
    with at("features", name):
        _check_variant(name, "feature", plugin)
        values = options.with_defaults("feature", plugin, keys["options"], called=name, path=path)
        with at(about=f"feature {name!r}"):
            registry.get("feature", plugin)(**values)
    return {"base": plugin, **keys, "options": values}


def _check_variant(name: str, kind: str, plugin: str) -> None:
    """Raise ProtocolError if a plug-in is unknown, or the user's name for it is not allowed."""
    words = kind.replace("_", " ")
    registry.REGISTRIES[kind].check(plugin)
    schema.check_name(name, f"{words} {name!r}")
    if name != plugin and name in registry.names(kind):
        raise ProtocolError(
            f"{words} {name!r}: another {words} has this name; give the variant of {plugin!r} another name."
        )


def _name_variants(kind: str, config: Mapping[str, Any]) -> None:
    """Replace each {name, base, options} in the lists of a kind by its name, and enter the rest in the kind's tables.

    Raises
    ------
    ProtocolError
        If a name is listed twice, or defined in two ways.
    """
    key, bases, fixed = f"{kind}s", config[f"{kind}_bases"], config[f"{kind}_options"]
    entries: dict[str, Mapping[str, Any]] = {}
    for path, part in _parts(config):
        names: list[str] = []
        for index, entry in enumerate(part.get(key, ())):
            with at(*path, key, index):
                if isinstance(entry, str):
                    name = entry
                else:
                    plugin = entry.get("base", entry.get("name"))  # the schema requires one of both
                    name, values = entry.get("name", plugin), entry.get("options", {})
                    _check_variant(name, kind, plugin)
                    options.with_defaults(kind, plugin, values, called=name, path=(*path, key, index, "options"))
                    table = fixed.get(name, {})
                    same = entries.setdefault(name, entry) == entry and bases.setdefault(name, plugin) == plugin
                    if not same or any(table.get(option, value) != value for option, value in values.items()):
                        raise ProtocolError(f"{key}: {name!r} is defined twice, in different ways. Remove one.")
                    fixed[name] = {**table, **values}
                if name in names:
                    raise ProtocolError(f"{key}: {name!r} is listed twice. Give one another name.")
            names.append(name)
        part |= {key: names} if names else {}


def _listed(kind: str, config: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield each name in the lists of a kind, after the keys and the index that lead to it."""
    for path, part in _parts(config):
        for index, name in enumerate(part.get(f"{kind}s", ())):
            yield (*path, f"{kind}s", index), name


def _name_protocols(config: dict[str, Any]) -> None:
    """Replace the name of a sampled split, such as unseen, by those that share it; fill in the options of all splits.

    Raises
    ------
    ProtocolError
        If protocols that share a sampled split have different options.
    """
    known = registry.names("split")

    def protocols(names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(one for name in names for one in ([] if name in known else sharing(name)) or [name]))

    for _, part in _parts(config):
        part |= {"splits": protocols(part["splits"])} if "splits" in part else {}
    in_order = sorted(config["split_options"].items(), key=lambda item: item[0] in known)  # members after the sample
    values = {name: given for key, given in in_order for name in protocols([key])}
    uses = [*_listed("split", config), *((("split_options", name), name) for name in values)]
    for path, name in uses:
        with at(*path):
            registry.SPLITS.check(name)
    complete = {
        name: options.with_defaults("split", name, values.get(name, {}), path=("split_options", name))
        for name in sorted({name for _, name in uses})
    }
    for one, other in itertools.combinations(complete, 2):
        if sample_of(one) == sample_of(other) and complete[one] != complete[other]:
            both = f"{one!r} and {other!r} are drawn together, but have different options"
            raise ProtocolError(f"split_options: {both}. Set those of {sample_of(one)!r}, which stands for both.")
    config["split_options"] = complete


def _variants(kind: str, config: Mapping[str, Any]) -> dict[str, Variant]:
    """Return the hashers or ground truths in the lists and tables of a configuration, by name.

    Raises
    ------
    ProtocolError
        If a plug-in is unknown, or the name of a variant is not allowed; and the errors of `_variant`.
    """
    bases, tables = config[f"{kind}_bases"], (f"{kind}_options", f"{kind}_grids")
    for name, plugin in bases.items():
        with at(f"{kind}_bases", name):
            _check_variant(name, kind, plugin)
    in_tables = [((table, name), name) for table in tables for name in config.get(table, ())]
    uses = [*_listed(kind, config), *in_tables]
    for path, name in uses:
        with at(*path):
            registry.REGISTRIES[kind].check(name, also=bases)
    return {name: _variant(kind, name, config) for name in sorted({name for _, name in uses})}


def _variant(kind: str, name: str, config: Mapping[str, Any]) -> Variant:
    """Return a plug-in with its grid and with all options that are not in the grid.

    Raises
    ------
    ProtocolError
        If an option is unknown, a value does not have the option's type, or an option is set and also in the grid.
    """
    plugin, fixed = config[f"{kind}_bases"].get(name, name), config[f"{kind}_options"].get(name, {})
    values = options.with_defaults(kind, plugin, fixed, called=name, path=(f"{kind}_options", name))
    declared, grid = options.options(kind, plugin), {}
    for option, choices in config.get(f"{kind}_grids", {}).get(name, {}).items():
        with at("hasher_grids", name, option):
            one_of(option, declared, f"option of hasher {name!r} in hasher_grids")
            if option in fixed:
                raise ProtocolError(f"hasher {name!r}: option {option!r} is fixed, but in hasher_grids; remove one.")
            where = f"hasher_grids.{name}.{option}"
            grid[option] = [declared[option].checked(value, where) for value in choices]
    return Variant(name, plugin, {option: value for option, value in values.items() if option not in grid}, grid)


def _affinities(config: Mapping[str, Any], plans: Iterable[FeaturePlan], hashers: Mapping[str, Variant]) -> str | None:
    """Return the ground truth that supervises hashers that learn from affinities; None if there are none.

    By default, affinities are class labels if the experiment scores by labels, and graded distances if it scores by
    distances alone.

    Raises
    ------
    ProtocolError
        If the ground truth is unknown; or if there is no default, because one feature is scored by labels, and another
        one by distances alone.
    """
    bases, affinities = config["ground_truth_bases"], config["affinities"]
    if affinities is not None:
        registry.GROUND_TRUTHS.check(affinities, also=bases)
        return str(affinities)
    learners = {n for n, use in hashers.items() if registry.get("hasher", use.plugin).supervision == "affinities"}
    by_labels = {
        any(registry.GROUND_TRUTHS.entry(bases.get(name, name)).needs_labels for name in plan.ground_truths)
        for plan in plans
        if learners.intersection(plan.hashers)
    }
    if len(by_labels) > 1:
        raise ProtocolError(
            f"affinities: {', '.join(sorted(learners))} can learn from labels or from distances, and features are "
            "scored by both. Set affinities to class_label or graded_distance."
        )
    return {True: "class_label", False: "graded_distance"}[by_labels.pop()] if by_labels else None


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
