"""What an experiment compares: its hashers and ground truths, and methods whose codes were computed elsewhere."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, FinishedCodes, Variant
from protocol.configuration.options import options, with_defaults
from protocol.configuration.schema import LONGEST_NAME, at
from protocol.inputs.arrays import path_of, row_count
from protocol.splits import sample_of

_Definition = tuple[str, dict[str, Any], tuple[Any, ...]]
_NAME = re.compile("[a-z0-9][a-z0-9_]*")
RESERVED = ("benchmarks", "examples", "figures", "leak", "logs", "samples", "scores", "splits", "tables")
"""Names of folders in an experiment's results, which a feature or hasher may not have."""


def check_name(name: str, where: str) -> None:
    """Raise ProtocolError if a name of the user can't be a part of file names."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ProtocolError(
            f"{where}: a name may have up to {LONGEST_NAME} lower-case letters, digits and _, and must begin with a "
            "letter or a digit."
        )
    if name in RESERVED:
        raise ProtocolError(f"{where}: the names {', '.join(RESERVED)} are reserved. Choose another one.")


def check_variant(name: str, kind: str, plugin: str) -> None:
    """Raise ProtocolError if a plug-in is unknown, or the user's name for it is not allowed."""
    words = kind.replace("_", " ")
    registry.REGISTRIES[kind].check(plugin)
    check_name(name, f"{words} {name!r}")
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
        occurs twice in a list, or an option is set twice.
    """
    key, definitions = f"{kind}s", _definitions(kind, config)
    used, listed = set(also), set()
    for path, name, _ in entries(kind, config):
        listing = ".".join(path[:-1])
        with at(*path):
            registry.REGISTRIES[kind].check(name, also=definitions)
            if (listing, name) in listed:
                raise ProtocolError(f"{listing}: {name!r} is listed twice. Give one another name.")
        used.add(name)
        listed.add((listing, name))
    for table in (f"{kind}_options", *(["hasher_grids"] if kind == "hasher" else [])):
        for name in config[table]:
            with at(table, name):
                registry.REGISTRIES[kind].check(name, also=definitions)
            used.add(name)
    variants = {name: _variant(kind, name, definitions.get(name, (name, {}, ())), config) for name in sorted(used)}
    changes = {
        f"{kind}_options": {name: variant.options for name, variant in variants.items()},
        f"{kind}_bases": {name: variant.plugin for name, variant in variants.items() if variant.plugin != name},
        "features": {name: _with_names(keys, key) for name, keys in config["features"].items()},
    }
    return {**_with_names(config, key), **changes}, variants


def _with_names(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the keys of an experiment or feature with plain names in one of its lists."""
    return {**part, key: list(map(name_of, part[key]))} if key in part else dict(part)


def entries(kind: str, config: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    """Yield the place, the name and the entry of each plug-in in the lists of a kind."""
    for place, part in [((), config), *((("features", name), keys) for name, keys in config["features"].items())]:
        for index, entry in enumerate(part.get(f"{kind}s", ())):
            yield (*place, f"{kind}s", index), name_of(entry), entry


def _definitions(kind: str, config: Mapping[str, Any]) -> dict[str, _Definition]:
    """Return the plug-in and the inline options of every name that the configuration defines, and their place."""
    definitions: dict[str, _Definition] = {}
    for name, plugin in config[f"{kind}_bases"].items():
        with at(f"{kind}_bases", name):
            check_variant(name, kind, plugin)
        definitions[name] = plugin, {}, ()
    for path, name, entry in entries(kind, config):
        if not isinstance(entry, str):
            definition = entry["base"], entry["options"], (*path, "options")
            with at(*path):
                check_variant(name, kind, entry["base"])
                first = definitions.get(name, definition)
                if first[0] != definition[0] or (first[2] and first[1] != definition[1]):
                    raise ProtocolError(f"{'.'.join(path[:-1])}: {name!r} is defined twice, with different options.")
            definitions[name] = definition
    return definitions


def _variant(kind: str, name: str, definition: _Definition, config: Mapping[str, Any]) -> Variant:
    """Return a plug-in with its grid, and with all options that are not in the grid."""
    plugin, inline, path = definition
    top = config[f"{kind}_options"].get(name, {})
    for option in sorted(set(inline) & set(top)):
        with at(f"{kind}_options", name, option):
            raise ProtocolError(f"{kind.replace('_', ' ')} {name!r}: option {option!r} is set twice; remove one.")
    path = path if inline else (f"{kind}_options", name)
    values = with_defaults(kind, plugin, {**top, **inline}, called=name, path=path)
    grid = _grid(name, plugin, {**top, **inline}, config["hasher_grids"].get(name, {})) if kind == "hasher" else {}
    return Variant(name, plugin, {option: value for option, value in values.items() if option not in grid}, grid)


def _grid(name: str, plugin: str, fixed: Mapping[str, Any], values: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the grid of a hasher, with its values converted to the types of the options."""
    declared, grid = options("hasher", plugin), {}
    for option in values:
        with at("hasher_grids", name, option):
            one_of(option, declared, f"option of hasher {name!r} in hasher_grids")
            if option in fixed:
                raise ProtocolError(f"hasher {name!r}: option {option!r} is fixed, but in hasher_grids; remove one.")
            where = f"hasher_grids.{name}.{option}"
            grid[option] = [declared[option].checked(value, where) for value in values[option]]
    return grid


PLACEHOLDERS = ("split", "run", "n_bits")


def finished_codes(
    config: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> dict[str, FinishedCodes]:
    """Return the methods of the key `codes` by name, with every default.

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
    return {name: _method(name, entry, features, hashers) for name, entry in config["codes"].items()}


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
                    n_codes = row_count(file) if role in sizes else None
                    if n_codes not in (None, sizes.get(role)):
                        raise ProtocolError(
                            f"codes.{method.name}.{role}: {file}: {n_codes:,} codes for the {sizes[role]:,} items of "
                            f"`{role}` in the {split} split."
                        )


def _method(
    name: str, entry: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> FinishedCodes:
    where = f"codes.{name}"
    check_name(name, where)
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
    method = FinishedCodes(name=name, **{**entry, "feature": feature.name, **ordered})
    _check_patterns(method)
    for role in method.patterns:
        _check_distinct(method, role, feature.runs)
    return method


def _check_patterns(method: FinishedCodes) -> None:
    """Refuse file names with braces that are not placeholders."""
    for role, pattern in method.patterns.items():
        try:
            pattern.format(split="improved", run=0, n_bits=8)
        except (AttributeError, LookupError, ValueError) as error:
            problem = f"the only braces in {pattern!r} may be {{split}}, {{run}} and {{n_bits}}"
            raise ProtocolError(f"codes.{method.name}.{role}: {problem}.") from error


def _check_distinct(method: FinishedCodes, role: str, runs: int) -> None:
    """Refuse file names that would give the same file to different items or to several code lengths."""
    contents: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        protocol, sampled = registry.get("split", split), sample_of(split) if role == "query" else split
        for n_bits, files in method.files(split, run).items():
            content = sampled, None if protocol.is_fixed(role) else run, n_bits
            first = contents.setdefault(files[role], content)
            for placeholder, value, other in zip(PLACEHOLDERS, content, first, strict=True):
                if value != other:
                    raise ProtocolError(
                        f"codes.{method.name}.{role}: the file name {method.patterns[role]!r} needs {{{placeholder}}}."
                    )
