"""The options of plug-ins: names, types, defaults and descriptions, from their signatures and docstrings."""

import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.schema import phrase, shown
from protocol.configuration.yaml_files import parse

_PASSED = {
    "dataset": {"paths"},
    "ground_truth": {"query", "database", "train", "seed"},
    "hasher": {"n_bits", "seed"},
}
"""Parameters that the pipeline sets, which are therefore no options."""
_LARGEST = 2**63 - 1
_HEADING = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_REFERENCE = re.compile(r"(?:Parameters[^.]* those of|As) `(\w+)`")
_NEXT_HEADING = re.compile(r"^\S.*\n-{3,}$", re.MULTILINE)


@dataclass(frozen=True)
class Option:
    """An option of a plug-in: type, default, and from the docstring, the form (with the range) and the description."""

    name: str
    type: Any
    default: Any
    form: str = ""
    description: str = ""

    @property
    def expected(self) -> str:
        """The allowed values in words, as far as the type determines them."""
        adapter = _adapter(self.type)
        return phrase(adapter.json_schema()) if adapter else "any value"

    def checked(self, value: Any, where: str) -> Any:
        """Return a checked value of the option; text is parsed unless the option is a text.

        Raises
        ------
        ProtocolError
            If the value is not of the option's type.
        """
        if isinstance(value, str) and not isinstance(self.default, str):
            value = self._from_text(value, where)
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise ProtocolError(f"{where}: expected an integer of at most 64 bits, got {shown(value)}.")
        adapter = _adapter(self.type)
        try:
            if adapter:
                adapter.validate_python(value, strict=True)
        except ValidationError:
            raise ProtocolError(f"{where}: expected {self.expected}, got {shown(value)}.") from None
        return plain(value)

    def _from_text(self, text: str, where: str) -> Any:
        """Return the value that a text represents: Snakemake's --config passes numbers and null in braces as text."""
        try:
            parsed = parse(text, where)
        except ProtocolError:
            return text
        return text if self.default is None and parsed is not None and not _takes_numbers(self.type) else parsed


def _takes_numbers(annotation: Any) -> bool:
    adapter = _adapter(annotation)
    return adapter is not None and "int" in phrase(adapter.json_schema())


@functools.cache
def _adapter(annotation: Any) -> TypeAdapter | None:
    try:
        return TypeAdapter(annotation)
    except PydanticSchemaGenerationError:
        return None  # pydantic does not support the type, so the plug-in checks the value


def plain(value: Any) -> Any:
    """Return a value with lists instead of tuples, as in JSON and YAML."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@functools.cache
def options(kind: str, name: str) -> Mapping[str, Option]:
    """Return the options of a plug-in by name; a split protocol's are the partitions that the user's files list."""
    plugin = registry.get(kind, name)
    if kind == "split":
        text = "File that lists the {}, as ids or row numbers."
        nouns = {"query": "queries", "validation_query": "validation queries", "train": "training items"}
        words = {part: text.format(nouns.get(part, part.replace("_", " "))) for part in plugin.listed}
        return {part: Option(part, str | None, None, "str or None, default None", words[part]) for part in words}
    if kind == "metric":
        return {}
    described, hints = (
        _descriptions(plugin, kind),
        get_type_hints(plugin.__init__ if inspect.isclass(plugin) else plugin),
    )
    return {
        parameter.name: Option(
            parameter.name,
            hints.get(parameter.name, Any),
            parameter.default,
            *described.get(parameter.name, ("", "")),
        )
        for parameter in inspect.signature(plugin).parameters.values()
        if parameter.name not in _PASSED.get(kind, ())
    }


def filled(kind: str, name: str, given: Mapping[str, Any], *, called: str = "") -> dict[str, Any]:
    """Return all options of a plug-in: the given values, checked against their types, and the other defaults.

    Parameters
    ----------
    kind, name : str
        Kind and name of the plug-in.
    given : mapping
    called : str, default=""
        The plug-in's name in the config file, for error messages; by default `name`.

    Raises
    ------
    ProtocolError
        If an option is unknown, or a value is not of the option's type.
    """
    declared, called = options(kind, name), called or name
    for option in given:
        one_of(option, declared, f"option of {words(kind)} {called!r}")
    return {
        name: option.checked(given[name], f"{words(kind)} {called!r}: option {name!r}")
        if name in given
        else plain(option.default)
        for name, option in declared.items()
    }


def words(kind: str) -> str:
    """Return the name of a kind of plug-in for messages."""
    return kind.replace("_", " ")


def _descriptions(plugin: Any, kind: str) -> dict[str, tuple[str, str]]:
    """Return the forms and descriptions of the parameters in the docstrings of a plug-in.

    Missing ones are taken from base classes, and from the plug-in to whose parameters the docstring refers.
    """
    found: dict[str, tuple[str, str]] = {}
    referred = _REFERENCE.search(plugin.__doc__ or "")
    if referred:
        for record in registry.entries(kind):
            if record.plugin is not plugin and getattr(record.plugin, "__name__", "") == referred[1]:
                found |= _descriptions(record.plugin, kind)
    for source in reversed(plugin.__mro__ if inspect.isclass(plugin) else [plugin]):
        found |= _parameters(inspect.cleandoc(source.__doc__ or ""))
    return found


def _parameters(text: str) -> dict[str, tuple[str, str]]:
    """Return the form and the description of each parameter in a numpydoc docstring, each as one line."""
    start = _HEADING.search(text)
    if not start:
        return {}
    section = text[start.end() :]
    end = _NEXT_HEADING.search(section)
    found: dict[str, tuple[str, str]] = {}
    for block in re.split(r"\n(?=\S)", section[: end.start() if end else None].strip()):
        head, *rest = block.split("\n")
        names, _, form = head.partition(" : ")
        description = " ".join(line.strip() for line in rest if line.strip())
        found |= dict.fromkeys(re.split(r",\s*", names), (form, description))
    return found
