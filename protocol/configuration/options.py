"""The options of plug-ins: names, types and defaults, from their signatures."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.schema import abbreviated, at, scalar
from protocol.registry.options import fits, words
from protocol.splits import OPTIONS as OPTIONS_OF_SPLITS

_PASSED = {"dataset": {"paths"}, "ground_truth": {"query", "database", "train", "seed"}, "hasher": {"n_bits", "seed"}}
"""Parameters that the pipeline sets, which are therefore no options."""


@dataclass(frozen=True)
class Option:
    """An option of a plug-in."""

    type: Any
    default: Any

    def checked(self, value: Any, where: str) -> Any:
        """Return a checked value of the option; text is parsed unless the option is a text.

        Raises
        ------
        ProtocolError
            If the value is not of the option's type.
        """
        value = plain(value)
        if not isinstance(self.default, str):
            kind, *_ = get_args(self.type) or [str]
            if isinstance(value, list):
                value = [scalar(item, functools.partial(fits, hint=kind)) for item in value]
            value = scalar(value, functools.partial(fits, hint=self.type))
        if not fits(value, self.type):
            allowed = words(self.type).replace("None", "null")
            raise ProtocolError(f"{where} must be {allowed}, got {abbreviated(value)}.")
        return value


def plain(value: Any) -> Any:
    """Return a value with lists instead of tuples, as in JSON and YAML."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@functools.cache
def options(kind: str, name: str) -> Mapping[str, Option]:
    """Return the options of a plug-in by name; a split protocol's include the partitions that the user's files list."""
    plugin = registry.get(kind, name)
    if kind == "split":
        declared = {name: Option(OPTIONS_OF_SPLITS[name], value) for name, value in plugin.options.items()}
        return dict.fromkeys(plugin.listed, Option(str | None, None)) | declared
    hints = get_type_hints(plugin.__init__ if inspect.isclass(plugin) else plugin)
    return {
        option: Option(hints.get(option, Any), parameter.default)
        for option, parameter in inspect.signature(plugin).parameters.items()
        if option not in _PASSED.get(kind, ())
    }


def with_defaults(
    kind: str, name: str, values: Mapping[str, Any], *, called: str = "", path: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return all options of a plug-in: some values, checked against their types, and the other defaults.

    Parameters
    ----------
    kind, name : str
        Kind and name of the plug-in.
    values : mapping
    called : str, default=""
        The plug-in's name in the config file, for error messages; by default `name`.
    path : sequence, default=()
        The keys of the config file that lead to the options.

    Raises
    ------
    ProtocolError
        If an option is unknown, or a value is not of the option's type.
    """
    declared, where = options(kind, name), f"{kind.replace('_', ' ')} {(called or name)!r}"
    result = {option: plain(declared[option].default) for option in declared}
    for option, value in values.items():
        with at(*path, option):
            one_of(option, declared, f"option of {where}")
            result[option] = declared[option].checked(value, f"{where}: option {option!r}")
    return result
