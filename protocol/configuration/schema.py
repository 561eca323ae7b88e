"""Config files: YAML without repeated keys, its check against a JSON Schema, which fills in defaults, and its lines.

jsonschema checks; `snakemake.utils.validate` would fill in the same defaults, but its message has many lines, and names
neither the file nor the line.
"""

import contextlib
import copy
import functools
import operator
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jsonschema  # type: ignore[import-untyped]
import yaml

from protocol.checks import ProtocolError, close, listed, one_of
from protocol.inputs.text import lines
from protocol.shipped import PROJECT

# Two names, a metric and an extension fit in the 255 bytes of a file name.
_NAME = re.compile("[a-z0-9][a-z0-9_]{0,79}")
_LEVELS = 50  # of lists and mappings in each other; any configuration has fewer
_UNCLOSED = {
    "while parsing a flow sequence": "the list that begins here has no ] at its end, or lacks a comma",
    "while parsing a flow mapping": "the mapping that begins here has no } at its end, or lacks a comma",
    "while scanning a quoted scalar": "the text that begins here has no quote at its end",
}
"""What is wrong, by the context of PyYAML's error."""
RESERVED = ("benchmarks", "examples", "figures", "leak", "logs", "samples", "scores", "splits", "tables")
"""Names of folders in an experiment's results, which a feature or hasher may not have."""
_LONGEST_VALUE = 80  # characters of a value in a message
# In later drafts, 2.0 is an integer.
_INTEGERS = jsonschema.Draft4Validator.TYPE_CHECKER
Validator: Any = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_INTEGERS)


@functools.cache
def keys() -> dict[str, Any]:
    """Return the schema of a config file."""
    return read(PROJECT / "workflow" / "schemas" / "config.schema.yaml")


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with every default, in the order of the schema; keys that may be absent stay absent.

    Raises
    ------
    ProtocolError
        With one line that states the key, the allowed values and the value found.
    """
    result: dict[str, Any] = with_defaults(config, keys())
    places = {"additionalProperties": 0, "required": 1}  # of errors: an unknown key may be a misspelt required key
    errors = Validator(keys()).iter_errors(result)
    if error := min(errors, key=lambda one: places.get(one.validator, 2), default=None):
        _refuse(error)
    return result


def with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value with the defaults of its keys, in the order of the schema; unknown keys come last.

    Text becomes a number, a boolean or null where the schema does not allow text: Snakemake's --config passes values
    inside braces as text.
    """
    match value:
        case str():
            return scalar(value, Validator(schema).is_valid)
        case list() | tuple() if "items" in schema:
            return [with_defaults(item, schema["items"]) for item in value]
        case Mapping() | None if schema.get("type") == "object":
            declared, others = schema.get("properties", {}), schema["additionalProperties"] or {}
            defaults = {key: copy.deepcopy(below["default"]) for key, below in declared.items() if "default" in below}
            filled = defaults | dict(value or {})
            order = sorted(filled, key=[*declared, *filled].index)
            return {key: with_defaults(filled[key], declared.get(key, others)) for key in order}
    return value


def scalar(text: Any, is_valid: Callable[[Any], bool]) -> Any:
    """Return the number, boolean or null in a text if the text itself is not allowed, and otherwise the text.

    Of the booleans, only `true` and `false`: a quoted 'no' is a mistake.
    """
    if isinstance(text, str) and (text == "null" or not is_valid(text)):
        with contextlib.suppress(ProtocolError):
            value = parse(text, "")
            is_word = isinstance(value, bool) and text.lower() not in ("true", "false")
            return value if isinstance(value, int | float | None) and is_valid(value) and not is_word else text
    return text


def _refuse(error: jsonschema.ValidationError) -> NoReturn:
    """Raise ProtocolError for an error of jsonschema."""
    path, where = list(error.absolute_path), error.json_path.removeprefix("$.").removeprefix("$")
    if error.validator == "additionalProperties":
        declared = error.schema["properties"]
        unknown = next(key for key in error.instance if key not in declared)
        with at(*path, unknown):
            listing = "" if close(str(unknown), declared) else "docs/reference/configuration.md"
            one_of(unknown, declared, f"key in {where or 'the config file'}", listing=listing)
    raise KeyedError(f"{where}{_problem(error, where)}".removeprefix(": "), path)


def _problem(error: jsonschema.ValidationError, where: str) -> str:
    value, allowed = error.instance, error.validator_value
    if error.validator == "required":
        missing = [key for key in allowed if key not in value]
        return f": the key{'s' * (len(missing) > 1)} {listed(missing)} {'are' if len(missing) > 1 else 'is'} missing."
    if error.validator == "uniqueItems":
        return f": {next(item for index, item in enumerate(value) if item in value[:index])!r} is listed twice."
    if "propertyNames" in error.absolute_schema_path:
        return f": keys must be names, got {abbreviated(value)}."
    is_secret = where == "mirror" and isinstance(value, list | dict)  # it may contain credentials
    expected, got = phrase(error.schema), f"a {type(value).__name__}" if is_secret else abbreviated(value)
    return f" must be {expected}, got {got}."


def check_name(name: str, where: str) -> None:
    """Raise ProtocolError if a name of the user can't be a part of file names."""
    if not _NAME.fullmatch(name):
        allowed = "up to 80 lower-case letters, digits and _, and must begin with a letter or a digit"
        raise ProtocolError(f"{where}: a name may have {allowed}.")
    if name in RESERVED:
        raise ProtocolError(f"{where}: the names {', '.join(RESERVED)} are reserved. Choose another one.")


def abbreviated(value: Any) -> str:
    """Return a value as error messages show it: its representation, truncated if it is long."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 4]} ..."


_NOUNS = {"integer": "an integer", "string": "a string", "boolean": "true or false", "object": "a mapping"}


def phrase(schema: Mapping[str, Any]) -> str:
    """Return in words which values a part of the schema allows: those that it states as `expected`, or else its type.

    Examples
    --------
    >>> phrase({"type": "integer", "minimum": 1}), phrase({"enum": ["sign", "median", None]})
    ('an integer >= 1', "'sign' or 'median'")
    """
    if "expected" in schema:
        return str(schema["expected"])
    if "enum" in schema:
        return listed((repr(value) for value in schema["enum"] if value is not None), "or")
    noun = _NOUNS[schema["type"]]
    if "maximum" in schema:
        return f"{noun} from {schema['minimum']:,} to {schema['maximum']:,}"
    return f"{noun} >= {schema['minimum']:,}" if "minimum" in schema else noun


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """PyYAML's safe loader, which refuses a key that occurs twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            name = str(key.value)
            if name in lines and key.tag != "tag:yaml.org,2002:merge":
                problem = f"the key {name!r} is repeated (first in line {lines[name]})"
                raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
            lines[name] = key.start_mark.line + 1
        return super().construct_mapping(node, deep=deep)


class KeyedError(ProtocolError):
    """A problem of a key of the configuration, given by the names and numbers that lead to it."""

    def __init__(self, message: str, path: Sequence[Any]) -> None:
        super().__init__(message)
        self.path = path


@contextlib.contextmanager
def at(*path: Any, about: str = "") -> Iterator[None]:
    """Note which key of the configuration an error is about, unless an inner block has done so.

    Its message then begins with `about`. Without a path, this is the only change.
    """
    try:
        yield
    except (ArithmeticError, MemoryError, ProtocolError) as error:
        message = str(error) if isinstance(error, ProtocolError) else f"can't be used ({type(error).__name__})."
        message = f"{about}: {message}" if about else message
        inner = error.path if isinstance(error, KeyedError) else path
        raise (KeyedError(message, inner) if inner else ProtocolError(message)) from error


def location(config: Mapping[str, Any], files: Sequence[str | Path], path: Sequence[Any]) -> str:
    """Return where the value of a key is set: "FILE, line N" of the last such file, or else "--config KEY".

    Parameters
    ----------
    config : mapping
        The merged files and changes of the command line.
    files : sequence of path
    path : sequence of str and int
        The keys and indices that lead to the value. A key that a file lacks is at the line of the mapping around it.
    """
    for n in range(len(path), 0, -1):
        names, value = tuple(map(str, path[:n])), _value(config, path[:n])
        for file in reversed(files):
            line = dict(_lines(yaml.compose(Path(file).read_text(encoding="utf-8-sig"), _Loader))).get(names)
            if line and (isinstance(value, Mapping) or _value(read(file), path[:n]) == value):
                return f"{file}, line {line}"
        if value is not None:
            return f"--config {path[0]}"
    return ", ".join(map(str, files)) or "--config"


def _lines(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys and indices that lead to each value below a YAML node, and the line where it is."""
    if isinstance(node, yaml.MappingNode):
        below = [(key.value, key, value) for key, value in node.value]
    else:
        below = [(str(n), item, item) for n, item in enumerate(node.value if isinstance(node.value, list) else ())]
    for name, first, value in below:
        yield (*path, name), first.start_mark.line + 1
        yield from _lines(value, (*path, name))


def _value(config: Any, path: Sequence[Any]) -> Any:
    """Return the value at a path of keys; None if there is none."""
    with contextlib.suppress(LookupError, TypeError):
        return functools.reduce(operator.getitem, path, config)


def read(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises
    ------
    ProtocolError
        If the file does not exist, is not YAML, does not contain a mapping, or repeats a key. The message names the
        file and the line.
    """
    config = parse("".join(lines(Path(path), "a config file")), str(path))
    if config is None:
        raise ProtocolError(f"{path}: the file is empty.")
    if not isinstance(config, dict):
        kind = "a list" if isinstance(config, list) else "a single value"
        raise ProtocolError(f"{path}: a config file consists of `key: value` lines, but this one is {kind}.")
    return config


def parse(text: str, where: str) -> Any:
    """Return the value of a YAML text; raise the same errors as `read`."""
    try:
        value = yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
        _check_depth(value)
    except RecursionError as error:
        raise ProtocolError(f"{where}: nested too deeply.") from error
    except Exception as error:  # PyYAML raises almost any for a value that does not fit its tag
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        if (context := getattr(error, "context", None)) in _UNCLOSED:
            mark, problem = error.context_mark, _UNCLOSED[context]  # type: ignore[attr-defined]
        elif mark and re.match(r" *\t", "".join(text.split("\n")[mark.line :][:1])):
            problem = "the line is indented with a tab; use blanks"
        line = f", line {mark.line + 1}" if mark else ""
        raise ProtocolError(f"{where}{line}: not valid YAML: {' '.join(problem.split())}.") from error
    return value


def _check_depth(value: Any) -> None:
    """Raise RecursionError if lists and mappings are nested in more than `_LEVELS` levels, or contain themselves."""
    of_level = [value]
    for _ in range(_LEVELS):
        inner = [one.values() if isinstance(one, dict) else one for one in of_level if isinstance(one, dict | list)]
        of_level = list({id(item): item for items in inner for item in items}.values())
    if of_level:
        raise RecursionError
