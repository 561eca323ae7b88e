"""The loader: makes a checked experiment from the keys of a config file."""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import checks, options, schema
from protocol.configuration.experiment import Experiment, FeaturePlan, PrecomputedCodes, Variant, supervising
from protocol.configuration.schema import KeyedError, at, location, read
from protocol.metrics import ALL, everything
from protocol.registry import folders
from protocol.shipped import DEFAULT
from protocol.splits import sample_of, sharing

_PLACEHOLDERS = ("split", "run", "n_bits")
_Lists = Callable[[tuple[str, ...], Mapping[str, Any]], dict[str, Any]]


def load(
    config: Mapping[str, Any], *, from_file: bool = True, files: Sequence[str | Path] = (), reads_data: bool = False
) -> Experiment:
    """Return the checked experiment that a configuration describes.

    Parameters
    ----------
    config : mapping
        The keys of a config file, with changes from the command line.
    from_file : bool, default=True
        Whether `config` is a complete configuration; otherwise its keys change the default experiment.
    files : sequence of path, default=()
        The config files that `config` was read from, which messages name; later ones take precedence.
    reads_data : bool, default=False
        Whether to read the user's own data and the lists of splits, as jobs would: `checks.check_data`.

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
        experiment = _loaded(config if from_file else _changed_default(config))
        if reads_data:
            experiment = replace(experiment, known=checks.check_data(experiment))
            checks.check(experiment)  # with what was not known before
        return experiment
    except ProtocolError as error:
        if from_file and not files:
            raise
        path = error.path if isinstance(error, KeyedError) else ()
        text = re.sub("^Unknown", "unknown", str(error))
        raise ProtocolError(f"{location(config, files, path)}: {text}") from error


def _loaded(config: Mapping[str, Any]) -> Experiment:
    """Return the checked experiment of a complete configuration."""
    lengths = ("n_bits", "extension_bits")  # in a fixed order, so that another one does not rerun jobs
    config = _with_lists(schema.checked(config), lambda _, part: {n: sorted(part[n]) for n in lengths if n in part})
    if config["plugins"] is not None:
        with at("plugins"):
            folders.add(config["plugins"])
    config = _with_named_variants("ground_truth", _with_named_variants("hasher", config))
    name, path = config["dataset"], ("dataset_options",)
    with at("dataset"):
        registry.DATASETS.check(name)
    with at(*path):
        of_dataset = options.with_defaults("dataset", name, config["dataset_options"], path=path)
        datasets.user_paths(name, of_dataset)
    config |= {
        "dataset_options": of_dataset,
        "mirror_sha256": dict(sorted(config["mirror_sha256"].items())),
        "metrics": _metrics(config),
        "features": {name: _feature(name, keys) for name, keys in config["features"].items()},
    }
    config = _with_protocols(config)
    plans = {name: _plan(name, keys, config) for name, keys in config["features"].items()}
    hashers, ground_truths = _variants("hasher", config), _variants("ground_truth", config)
    with at("affinities"):
        config |= {"affinities": _affinities(config, plans.values(), hashers)}
    ground_truths = dict(sorted((ground_truths | _supervising(hashers, config)).items()))
    config |= _tables("hasher", hashers) | _tables("ground_truth", ground_truths)
    config |= {"hasher_grids": {name: hashers[name].grid for name in sorted(config["hasher_grids"])}}
    with at("codes"):
        codes = {name: _precomputed_codes(name, entry, plans, hashers) for name, entry in config["codes"].items()}
        config |= {"codes": {name: method.config for name, method in codes.items()}}
    experiment = Experiment(config["experiment"], config, plans, hashers, ground_truths, codes)
    checks.check(experiment)
    return experiment


def _parts(config: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Return what may list plug-ins, after the keys that lead to it: the configuration, and each of its features."""
    return [((), config), *((("features", name), keys) for name, keys in config["features"].items())]


def _with_lists(config: Mapping[str, Any], lists: _Lists) -> dict[str, Any]:
    """Return a configuration with other lists of plug-ins or lengths, given a function of each of its `_parts`."""
    (_, whole), *features = [(path, {**part, **lists(path, part)}) for path, part in _parts(config)]
    return {**whole, "features": {path[1]: keys for path, keys in features}}


def _changed_default(config: Mapping[str, Any]) -> dict[str, Any]:
    default = read(DEFAULT)
    if config.get("dataset", default["dataset"]) != default["dataset"] and "experiment" not in config:
        raise ProtocolError("dataset: results for another dataset need another name: add --config experiment=NAME.")
    return default | dict(config)


def _metrics(config: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics, all of which are known; so are those of the criterion of selection."""
    selection = config["selection"]
    for index, metric in enumerate(config["metrics"]):
        with at("metrics", index):
            if metric != ALL:
                registry.get("metric", metric)
    with at("selection", "metric"):
        registry.get("metric", selection["metric"])
    with at("selection", "ground_truth"):
        if selection["ground_truth"] is not None:
            registry.GROUND_TRUTHS.check(selection["ground_truth"], also=config["ground_truth_bases"])
    shortest = min(min(part["n_bits"]) for _, part in _parts(config) if "n_bits" in part)
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
        hint = f"give the variant of {plugin!r} another name"
        raise ProtocolError(f"{words} {name!r}: another {words} has this name; {hint}.")


def _with_named_variants(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with names alone in the lists of a kind; its tables have what {name, base, options} said.

    Raises
    ------
    ProtocolError
        If a name is listed twice, or defined in two ways.
    """
    key, bases, fixed = f"{kind}s", dict(config[f"{kind}_bases"]), dict(config[f"{kind}_options"])
    entries: dict[str, Mapping[str, Any]] = {}

    def define(entry: Mapping[str, Any], path: tuple[Any, ...]) -> str:
        """Enter a variant in the tables, and return its name."""
        plugin = entry.get("base", entry.get("name"))  # the schema requires one of both
        name, values = entry.get("name", plugin), entry.get("options", {})
        _check_variant(name, kind, plugin)
        options.with_defaults(kind, plugin, values, called=name, path=(*path, "options"))
        table = fixed.get(name, {})
        fixed[name] = {**table, **values}
        same = entries.setdefault(name, entry) == entry and bases.setdefault(name, plugin) == plugin
        if not same or fixed[name] != {**values, **table}:
            raise ProtocolError(f"{key}: {name!r} is defined twice, in different ways. Remove one.")
        return name

    def names(path: tuple[str, ...], part: Mapping[str, Any]) -> dict[str, Any]:
        listed: list[str] = []
        for index, entry in enumerate(part.get(key, ())):
            with at(*path, key, index):
                name = entry if isinstance(entry, str) else define(entry, (*path, key, index))
                if name in listed:
                    raise ProtocolError(f"{key}: {name!r} is listed twice. Give one another name.")
            listed.append(name)
        return {key: listed} if key in part else {}

    return _with_lists(config, names) | {f"{kind}_bases": bases, f"{kind}_options": fixed}


def _in_use(kind: str, config: Mapping[str, Any], *tables: str, also: Iterable[str] = ()) -> list[str]:
    """Return the names in the lists of a kind and in some tables, sorted; raise ProtocolError for an unknown one."""
    uses: list[tuple[tuple[Any, ...], str]] = []
    for path, part in _parts(config):
        uses += [((*path, f"{kind}s", index), name) for index, name in enumerate(part.get(f"{kind}s", ()))]
    uses += [((table, name), name) for table in tables for name in config.get(table, ())]
    for path, name in uses:
        with at(*path):
            registry.REGISTRIES[kind].check(name, also)
    return sorted({name for _, name in uses})


def _with_protocols(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration that lists each protocol instead of a sampled split, with the options of all of them.

    Raises
    ------
    ProtocolError
        If protocols that share a sampled split have different options.
    """
    known, values = registry.names("split"), dict[str, Any]()

    def protocols(names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(one for name in names for one in ([] if name in known else sharing(name)) or [name]))

    config = _with_lists(config, lambda _, part: {"splits": protocols(part["splits"])} if "splits" in part else {})
    for name in sorted(config["split_options"], key=known.__contains__):  # a protocol after its sampled split
        values |= dict.fromkeys(protocols([name]), config["split_options"][name])
    complete = {
        name: options.with_defaults("split", name, values.get(name, {}), path=("split_options", name))
        for name in _in_use("split", config | {"split_options": values}, "split_options")
    }
    first: dict[str, str] = {}
    for name in complete:
        sample = sample_of(name)
        if complete[name] != complete[first.setdefault(sample, name)]:
            both = f"{first[sample]!r} and {name!r} are drawn together, but have different options"
            raise ProtocolError(f"split_options: {both}. Set those of {sample!r}, which stands for both.")
    return config | {"split_options": complete}


def _variants(kind: str, config: Mapping[str, Any]) -> dict[str, Variant]:
    """Return the hashers or ground truths in the lists and tables of a configuration, by name.

    Raises
    ------
    ProtocolError
        If a plug-in is unknown, or the name of a variant is not allowed; and the errors of `_variant`.
    """
    bases = config[f"{kind}_bases"]
    for name, plugin in bases.items():
        with at(f"{kind}_bases", name):
            _check_variant(name, kind, plugin)
    names = _in_use(kind, config, f"{kind}_options", f"{kind}_grids", also=bases)
    return {name: _variant(kind, name, config) for name in names}


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
            grid[option] = [declared[option].checked(value, f"hasher_grids.{name}.{option}") for value in choices]
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
        problem = "can learn from labels or from distances, and features are scored by both"
        hint = "Set affinities to class_label or graded_distance."
        raise ProtocolError(f"affinities: {', '.join(sorted(learners))} {problem}. {hint}")
    return {True: "class_label", False: "graded_distance"}[by_labels.pop()] if by_labels else None


def _supervising(hashers: Mapping[str, Variant], config: Mapping[str, Any]) -> dict[str, Variant]:
    """Return the ground truths that the hashers learn from, by name."""
    kinds = {registry.get("hasher", hasher.plugin).supervision for hasher in hashers.values()}
    return {name: _variant("ground_truth", name, config) for kind, name in supervising(config).items() if kind in kinds}


def _tables(kind: str, variants: Mapping[str, Variant]) -> dict[str, Any]:
    """Return the tables of a configuration that define variants: their options, and their plug-ins."""
    return {
        f"{kind}_options": {name: variant.options for name, variant in variants.items()},
        f"{kind}_bases": {name: variant.plugin for name, variant in variants.items() if variant.plugin != name},
    }


def _plan(name: str, feature: Mapping[str, Any], config: Mapping[str, Any]) -> FeaturePlan:
    steps = feature["preprocessing"]
    by_modality = steps if isinstance(steps, Mapping) else dict.fromkeys(("query", "database"), steps)
    keys = ("runs", "splits", "ground_truths", "hashers", "n_bits", "extensions")
    return FeaturePlan(
        name=name,
        plugin=feature["base"],
        options=feature["options"],
        steps={"": by_modality["query"], "database/": by_modality["database"]},
        **{key: feature.get(key, config[key]) for key in keys},
    )


def _precomputed_codes(
    name: str, entry: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> PrecomputedCodes:
    """Return a method of the key `codes`, with every default.

    Parameters
    ----------
    name : str
    entry : mapping
        Its value in a configuration, as `schema.checked` returns it.
    features : mapping of str to FeaturePlan
    hashers : collection of str
        The names of the experiment's hashers.

    Raises
    ------
    ProtocolError
        If a hasher has the same name; if the experiment lacks a feature, split or code length; or if a file name has
        an unknown placeholder or lacks a required one.
    """
    where = f"codes.{name}"
    schema.check_name(name, where)
    if name in hashers or name in registry.names("hasher"):
        raise ProtocolError(f"{where}: {name!r} is the name of a hasher. Choose another name.")
    feature = features[one_of(entry["feature"] or next(iter(features)), features, f"{where}.feature")]
    if feature.has_several_items:
        raise ProtocolError(f"{where}.feature: {feature.name!r} has several items per image; not possible with codes.")
    splits, n_bits = entry["splits"] or feature.splits, entry["n_bits"] or feature.n_bits
    for key, values, allowed in (("splits", splits, feature.splits), ("n_bits", n_bits, feature.n_bits)):
        for value in values:
            one_of(str(value), map(str, allowed), f"{where}.{key}")
    ordered = {"splits": sorted(splits, key=feature.splits.index), "n_bits": sorted(n_bits)}
    method = PrecomputedCodes(name=name, **{**entry, "feature": feature.name, **ordered})
    _check_patterns(method)
    for role in method.patterns:
        _check_distinct(method, role, feature.runs)
    return method


def _check_patterns(method: PrecomputedCodes) -> None:
    """Refuse file names with braces that are not placeholders."""
    for role, pattern in method.patterns.items():
        try:
            pattern.format(split="improved", run=0, n_bits=8)
        except (AttributeError, LookupError, ValueError) as error:
            problem = f"the only braces in {pattern!r} may be {{split}}, {{run}} and {{n_bits}}"
            raise ProtocolError(f"codes.{method.name}.{role}: {problem}.") from error


def _check_distinct(method: PrecomputedCodes, role: str, runs: int) -> None:
    """Refuse file names that would give the same file to different items or to several code lengths."""
    contents: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        protocol = registry.get("split", split)
        sampled = (sample_of(split), protocol.partitions["query"].classes) if role == "query" else split
        for n_bits, files in method.files(split, run).items():
            content = sampled, None if protocol.is_fixed(role) else run, n_bits
            first = contents.setdefault(files[role], content)
            for placeholder, value, other in zip(_PLACEHOLDERS, content, first, strict=True):
                if value != other:
                    name = f"the file name {method.patterns[role]!r}"
                    raise ProtocolError(f"codes.{method.name}.{role}: {name} needs {{{placeholder}}}.")
