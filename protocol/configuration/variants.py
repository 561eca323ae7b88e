"""What an experiment compares: its hashers and ground truths, and methods whose codes were computed elsewhere."""

import itertools
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import options
from protocol.configuration.experiment import Experiment, FeaturePlan, FinishedCodes, Variant
from protocol.configuration.schema import LONGEST_NAME, at
from protocol.inputs.arrays import path_of, row_count
from protocol.splits import sample_of

_Definition = tuple[str, dict[str, Any], tuple[Any, ...]]
_NAME = re.compile("[a-z0-9][a-z0-9_]*")
RESERVED = ("benchmarks", "examples", "figures", "leak", "logs", "samples", "scores", "splits", "tables")
"""Names of folders in an experiment's results, which a feature or hasher may not have."""


def check_letters(name: str, where: str) -> None:
    """Raise ProtocolError if a name of the user can't be a part of file names."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ProtocolError(
            f"{where}: a name may have up to {LONGEST_NAME} lower-case letters, digits and _, and must begin with a "
            "letter or a digit."
        )
    if name in RESERVED:
        raise ProtocolError(f"{where}: the names {', '.join(RESERVED)} are reserved. Choose another one.")


def check_name(name: str, kind: str, plugin: str) -> None:
    """Raise ProtocolError if the user's name for a plug-in is not allowed."""
    words = kind.replace("_", " ")
    check_letters(name, f"{words} {name!r}")
    if name != plugin and name in registry.names(kind):
        raise ProtocolError(
            f"{words} {name!r}: another {words} has this name; give the variant of {plugin!r} another name."
        )


def name_of(entry: str | Mapping[str, Any]) -> str:
    """Return the name of an entry in a list of hashers or ground truths."""
    return entry if isinstance(entry, str) else str(entry["name"] or entry["base"])


def read_variants(
    kind: str, config: Mapping[str, Any], *, also: Iterable[str] = ()
) -> tuple[dict[str, Any], dict[str, Variant]]:
    """Return the configuration with plain names in its lists of hashers or ground truths, and the variants by name.

    Parameters
    ----------
    kind : {"hasher", "ground_truth"}
    config : mapping
        As `schema.checked` returns it.
    also : iterable of str
        Names that are used outside the lists.

    Raises
    ------
    ProtocolError
        If a plug-in or an option is unknown, a value does not have the option's type, a name has two definitions or
        occurs twice in a list, or an option is given twice.
    """
    key, given = f"{kind}s", config[f"{kind}_options"]
    definitions = _definitions(kind, config)
    used, searched = {*given, *also}, sorted(config["hasher_grids"] if kind == "hasher" else ())
    for path, entries in _lists(key, config):
        for index, name in enumerate(names := list(map(name_of, entries))):
            with at(*path, index):
                registry.REGISTRIES[kind].check(name, also=definitions)
                if name in names[:index]:
                    raise ProtocolError(f"{'.'.join(path)}: {name!r} is listed twice. Give one another name.")
        used |= set(names)
    for name, own in [*((name, f"{kind}_options") for name in given), *((name, "hasher_grids") for name in searched)]:
        with at(own, name):
            registry.REGISTRIES[kind].check(name, also=definitions)
    variants = {name: _variant(kind, name, definitions.get(name, (name, {}, ())), config) for name in sorted(used)}
    features = {
        name: own | ({key: list(map(name_of, own[key]))} if key in own else {})
        for name, own in config["features"].items()
    }
    plugins = {name: definitions.get(name, (name,))[0] for name in sorted({*used, *searched})}
    changes = {
        key: list(map(name_of, config[key])),
        "features": features,
        f"{kind}_options": {name: variant.options for name, variant in variants.items()},
        f"{kind}_bases": {name: plugin for name, plugin in plugins.items() if plugin != name},
    }
    return {**config, **changes}, variants


def _lists(key: str, config: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield the place and the entries of every list of hashers or ground truths."""
    yield (key,), config[key]
    for name, own in config["features"].items():
        if key in own:
            yield ("features", name, key), own[key]


def _definitions(kind: str, config: Mapping[str, Any]) -> dict[str, _Definition]:
    """Return the plug-in and the inline options of every name that the configuration defines, and their place."""
    found: dict[str, _Definition] = {}
    for name, plugin in config[f"{kind}_bases"].items():
        with at(f"{kind}_bases", name):
            registry.REGISTRIES[kind].check(plugin)
            check_name(name, kind, plugin)
        found[name] = plugin, {}, ()
    for path, entries in _lists(f"{kind}s", config):
        for index, entry in enumerate(entries):
            if isinstance(entry, str):
                continue
            name, plugin, own = name_of(entry), entry["base"], entry["options"]
            with at(*path, index):
                registry.REGISTRIES[kind].check(plugin)
                check_name(name, kind, plugin)
                first, options_of_first, where = found.get(name, (plugin, own, ()))
                if first != plugin or (where and options_of_first != own):
                    raise ProtocolError(f"{'.'.join(path)}: {name!r} is defined twice, with different options.")
            found[name] = plugin, own, (*path, index, "options")
    return found


def _variant(kind: str, name: str, definition: _Definition, config: Mapping[str, Any]) -> Variant:
    """Return a plug-in with its grid, and with all options that are not in the grid."""
    plugin, inline, place = definition
    top = config[f"{kind}_options"].get(name, {})
    for option in sorted(set(inline) & set(top)):
        with at(f"{kind}_options", name, option):
            raise ProtocolError(f"{kind.replace('_', ' ')} {name!r}: option {option!r} is set twice; remove one.")
    path = place if inline else (f"{kind}_options", name)
    filled = options.filled(kind, plugin, {**top, **inline}, called=name, path=path)
    if kind != "hasher" or name not in config["hasher_grids"]:
        return Variant(name, plugin, filled)
    grid = hasher_grid(name, plugin, {**top, **inline}, config["hasher_grids"][name])
    return Variant(name, plugin, {option: value for option, value in filled.items() if option not in grid}, grid)


def hasher_grid(
    name: str, plugin: str, fixed: Mapping[str, Any], values: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the grid of a hasher, with its values converted to the types of the options.

    Raises
    ------
    ProtocolError
        If an option is unknown or has a fixed value, or a grid value is not of the option's type.
    """
    declared, grid = options.options("hasher", plugin), {}
    for option in values:
        with at("hasher_grids", name, option):
            one_of(option, declared, f"option of hasher {name!r} in hasher_grids")
            if option in fixed:
                raise ProtocolError(f"hasher {name!r}: option {option!r} is fixed, but in hasher_grids; remove one.")
            where = f"hasher_grids.{name}.{option}"
            grid[option] = [declared[option].checked(value, where) for value in values[option]]
    return grid


PLACEHOLDERS = ("split", "run", "n_bits")
ROLES = ("query", "database")


def read_finished_codes(
    config: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, FinishedCodes]]:
    """Return the key `codes` with every default, and the methods by name.

    Parameters
    ----------
    config : mapping
        As `schema.checked` returns it.
    features : mapping of str to FeaturePlan
    hashers : collection of str
        The names of the experiment's hashers.

    Raises
    ------
    ProtocolError
        If a hasher has the same name; if the experiment lacks a feature, split or code length; or if a file name has
        an unknown placeholder or lacks a required one.
    """
    found = {name: _method(name, entry, features, hashers) for name, entry in config["codes"].items()}
    filled = {
        name: {key: getattr(method, key) for key in config["codes"][name] if getattr(method, key) is not None}
        for name, method in found.items()
    }
    return filled, found


def check_code_files(experiment: Experiment) -> None:
    """Raise ProtocolError if files of codes are missing or have too few or many rows; it names the first of them."""
    for method in experiment.codes.values():
        for split, run in itertools.product(method.splits, range(experiment.features[method.feature].runs)):
            sizes = experiment.sizes(split)
            for files in method.files(split, run).values():
                for role, file in files.items():
                    if not path_of(file).is_file():
                        missing = f"no file {str(path_of(file))!r} (looked in {Path.cwd()})"
                        raise ProtocolError(f"codes.{method.name}.{role}: {missing}.")
                    found = row_count(file) if role in sizes else None
                    if found not in (None, sizes.get(role)):
                        raise ProtocolError(
                            f"codes.{method.name}.{role}: {file}: {found:,} codes for the {sizes[role]:,} items of "
                            f"`{role}` in the {split} split."
                        )


def _method(
    name: str, entry: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> FinishedCodes:
    where = f"codes.{name}"
    check_letters(name, where)
    if name in hashers or name in registry.names("hasher"):
        raise ProtocolError(f"{where}: {name!r} is the name of a hasher. Choose another name.")
    feature = features[one_of(entry["feature"] or next(iter(features)), features, f"{where}.feature")]
    if any(getattr(modality, "items", "image") != "image" for modality in feature.modalities.values()):
        raise ProtocolError(f"{where}.feature: {feature.name!r} has several items per image; not possible with codes.")
    chosen = {key: entry[key] or getattr(feature, key) for key in ("splits", "n_bits")}
    for key, values in chosen.items():
        for value in values:
            one_of(str(value), map(str, getattr(feature, key)), f"{where}.{key}")
    chosen = {"splits": sorted(chosen["splits"], key=feature.splits.index), "n_bits": sorted(chosen["n_bits"])}
    method = FinishedCodes(name=name, **{**entry, "feature": feature.name, **chosen})
    for role in ROLES:
        _check_pattern(getattr(method, role), f"{where}.{role}")
    for role in ROLES:  # formats the names of both files
        _check_distinct(method, role, feature.runs)
    return method


def _check_pattern(pattern: str, where: str) -> None:
    """Refuse file names with braces that are not placeholders."""
    try:
        for _, field, _, _ in string.Formatter().parse(pattern):
            if field is not None:
                one_of(field, PLACEHOLDERS, f"{where}: placeholder in {pattern!r}")
        pattern.format(split="improved", run=0, n_bits=8)
    except ValueError as error:
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError(f"{where}: {pattern!r} is not a file name with placeholders in braces: {error}.") from error


def _check_distinct(method: FinishedCodes, role: str, runs: int) -> None:
    """Refuse file names that would give the same file to different items or to several code lengths."""
    contents: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        protocol, drawn = registry.get("split", split), sample_of(split) if role == "query" else split
        for n_bits, files in method.files(split, run).items():
            content = drawn, None if protocol.is_fixed(role) else run, n_bits
            first = contents.setdefault(files[role], content)
            for placeholder, value, other in zip(PLACEHOLDERS, content, first, strict=True):
                if value != other:
                    raise ProtocolError(
                        f"codes.{method.name}.{role}: the file name {getattr(method, role)!r} needs {{{placeholder}}}."
                    )
