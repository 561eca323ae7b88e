"""The hashers and ground truths of an experiment: the plug-in and the options behind each name."""

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration import options
from protocol.configuration.experiment import Variant
from protocol.configuration.schema import LONGEST_NAME, shown

_NAME = re.compile("[a-z0-9][a-z0-9_]*")
RESERVED = ("benchmarks", "examples", "figures", "leak", "logs", "samples", "scores", "splits", "tables")
"""Names of folders in an experiment's results, which a feature or hasher may not have."""


def check_letters(name: str, where: str) -> None:
    """Raise ProtocolError if a name of the user can't be a part of file names."""
    if not _NAME.fullmatch(name):
        raise ProtocolError(
            f"{where}: a name may contain only lower-case letters, digits and _, and must begin with a letter or a "
            "digit."
        )
    if len(name) > LONGEST_NAME:
        raise ProtocolError(f"{where}: a name may have at most {LONGEST_NAME} characters, not {len(name):,}.")
    if name in RESERVED:
        raise ProtocolError(f"{where}: the names {', '.join(RESERVED)} are reserved. Choose another one.")


def check_name(name: str, kind: str, plugin: str) -> None:
    """Raise ProtocolError if the user's name for a plug-in is not allowed."""
    where = f"{options.words(kind)} {name!r}"
    check_letters(name, where)
    if name != plugin and name in registry.names(kind):
        raise ProtocolError(
            f"{where}: another {options.words(kind)} has this name; give the variant of {plugin!r} another name."
        )


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
    key = f"{kind}s"
    definitions = _definitions(kind, config)
    lists = {place: list(map(name_of, part[key])) for place, part in _parts(config) if key in part}
    given, searched = config[f"{kind}_options"], sorted(config["hasher_grids"] if kind == "hasher" else ())
    for name in itertools.chain(*lists.values(), given, searched, also):
        registry.REGISTRIES[kind].check(name, also=definitions)
    for place, names in lists.items():
        _check_once(names, f"{place}{key}")
    used = sorted({*itertools.chain(*lists.values(), given, also)})
    variants = {name: _variant(kind, name, definitions.get(name, (name, {})), config) for name in used}
    features = {
        name: own | ({key: lists[f"features.{name}."]} if key in own else {})
        for name, own in config["features"].items()
    }
    renamed = {
        name: plugin for name in sorted({*used, *searched}) if (plugin := definitions.get(name, (name,))[0]) != name
    }
    filled = {name: variant.options for name, variant in variants.items()}
    changes = {key: lists[""], "features": features, f"{kind}_options": filled, f"{kind}_bases": renamed}
    return {**config, **changes}, variants


def _check_once(names: list[str], where: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ProtocolError(
                f"{where}: {name!r} is listed twice. Give one of them another name: {{name: {name}_2, base: ...}}."
            )


def _parts(config: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [("", config), *((f"features.{name}.", own) for name, own in config["features"].items())]


def name_of(entry: str | Mapping[str, Any]) -> str:
    """Return the name of an entry in a list of hashers or ground truths."""
    return entry if isinstance(entry, str) else str(entry["name"] or entry["base"])


def _definitions(kind: str, config: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the plug-in and the inline options of every name that the configuration defines."""
    key, found = f"{kind}s", dict[str, tuple[str, dict[str, Any]]]()
    for name, plugin in config[f"{kind}_bases"].items():
        registry.REGISTRIES[kind].check(plugin)
        check_name(name, kind, plugin)
        found[name] = plugin, {}
    without_options = set(found)
    for place, part in _parts(config):
        for entry in part.get(key, []):
            if isinstance(entry, str):
                continue
            name, plugin, own = name_of(entry), entry["base"], entry["options"]
            registry.REGISTRIES[kind].check(plugin)
            check_name(name, kind, plugin)
            if (
                name in found
                and found[name] != (plugin, own)
                and not (name in without_options and found[name][0] == plugin)
            ):
                raise ProtocolError(
                    f"{place}{key}: {name!r} is defined twice, as {_described(*found[name])} and as "
                    f"{_described(plugin, own)}."
                )
            found[name] = plugin, own
            without_options.discard(name)
    return found


def _described(plugin: str, own: Mapping[str, Any]) -> str:
    return f"{plugin} with {shown(dict(own))}" if own else f"{plugin} without options"


def _variant(kind: str, name: str, definition: tuple[str, dict[str, Any]], config: Mapping[str, Any]) -> Variant:
    """Return a plug-in with its grid, and with all options that are not in the grid."""
    plugin, inline = definition
    where, top = f"{options.words(kind)} {name!r}", config[f"{kind}_options"].get(name, {})
    for option in inline:
        if option in top:
            raise ProtocolError(f"{where}: option {option!r} is set in both {kind}_options and {kind}s; remove one.")
    fixed = {**top, **inline}
    filled = options.filled(kind, plugin, fixed, called=name)
    if kind != "hasher" or name not in config["hasher_grids"]:
        return Variant(name, plugin, filled)
    grid = hasher_grid(name, plugin, fixed, config["hasher_grids"][name])
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
        one_of(option, declared, f"option of hasher {name!r} in hasher_grids")
        if option in fixed:
            raise ProtocolError(
                f"hasher {name!r}: option {option!r} is fixed to {fixed[option]!r} in hasher_options but searched in "
                "hasher_grids; remove one."
            )
        where = f"hasher_grids.{name}.{option}"
        grid[option] = [declared[option].checked(value, where) for value in values[option]]
    return grid
