"""Config files: YAML without repeated keys, its check against a JSON Schema, which fills in defaults, and its lines.

jsonschema checks; `snakemake.utils.validate` would fill in the same defaults, but its message has many lines, and names
neither the file nor the line.
"""

import contextlib
import copy
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import jsonschema  # type: ignore[import-untyped]
import yaml

from protocol.checks import ProtocolError, one_of
from protocol.inputs.text import check_regular
from protocol.shipped import PROJECT

LONGEST_NAME = 80
"""Characters of a user's name; two of them, a metric and an extension fit in the 255 bytes of a file name."""
_SHOWN = 80  # characters of a value in a message
_INTEGER = re.compile("-?[0-9]{1,100}")
# In later drafts, 2.0 is an integer.
Validator: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, type_checker=jsonschema.Draft4Validator.TYPE_CHECKER
)


@cache
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
    result: dict[str, Any] = filled(config, keys())
    for error in sorted(Validator(keys()).iter_errors(result), key=_order):
        _refuse(error)
    return result


def _order(error: jsonschema.ValidationError) -> int:
    """Return the place of an error among others: an unknown key may be a misspelt required key."""
    return {"additionalProperties": 0, "required": 1}.get(error.validator, 2)


def filled(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value with the defaults of its keys; text becomes a number or a boolean where these are allowed.

    Snakemake's --config passes values inside braces as text.
    """
    for form in schema.get("oneOf", ()) if value is not None else ():
        if Validator({"type": form["type"]}).is_valid(of_form := filled(value, form)):
            return of_form
    match schema.get("type"), value:
        case "integer", str() if _INTEGER.fullmatch(value):
            return int(value)
        case "boolean", "true" | "false":
            return value == "true"
        case (("array" | ["array", "null"]), list() | tuple()):
            return [filled(item, schema["items"]) for item in value]
        case "object", Mapping() | None:
            return _filled_mapping(value or {}, schema)
    return value


def _filled_mapping(value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its defaults, in the order of the schema; unknown keys come last."""
    if "properties" not in schema:
        return {key: filled(item, schema["additionalProperties"]) for key, item in value.items()}
    declared = schema["properties"]
    known = {
        key: filled(value[key] if key in value else copy.deepcopy(below["default"]), below)
        for key, below in declared.items()
        if key in value or "default" in below
    }
    return known | {key: item for key, item in value.items() if key not in declared}


def _refuse(error: jsonschema.ValidationError) -> NoReturn:
    """Raise ProtocolError for an error of jsonschema."""
    for below in sorted(error.context or (), key=_order):  # for the forms that the value may have
        if below.relative_path or _order(below) < 2:
            _refuse(below)
    path, value, schema = list(error.absolute_path), error.instance, error.schema
    where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
    with at(*path):
        if error.validator == "additionalProperties":
            unknown = next(key for key in value if key not in schema["properties"])
            with at(*path, unknown):
                one_of(unknown, schema["properties"], f"key in {where or 'the config file'}")
        if error.validator == "required":
            missing = ", ".join(key for key in error.validator_value if key not in value)
            raise ProtocolError(f"{where or 'config file'}: missing keys: {missing}.")
        if error.validator == "uniqueItems":
            twice = next(item for index, item in enumerate(value) if item in value[:index])
            raise ProtocolError(f"{where}: {twice!r} is listed twice.")
        if "propertyNames" in error.absolute_schema_path:
            raise ProtocolError(f"{where}: keys must be names, got {shown(value)}.")
        is_secret = where == "mirror" and isinstance(value, list | dict)  # it may contain credentials
        got = f"a {type(value).__name__}" if is_secret else shown(value)
        raise ProtocolError(f"{where} must be {phrase(schema)}, got {got}.")


def shown(value: Any) -> str:
    """Return a value as error messages show it: its representation, truncated if it is long."""
    try:
        text = "null" if value is None else repr(value)
    except (RecursionError, ValueError):  # Python does not convert integers of more than 4,300 digits
        return f"a {type(value).__name__} that is too long"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


_NOUNS = {"integer": "an integer", "number": "a number", "string": "a string", "boolean": "true or false"}
_NOUNS |= {"null": "null", "array": "a list", "object": "a mapping"}


def phrase(schema: Mapping[str, Any]) -> str:
    """Return in words which values a JSON schema allows.

    Examples
    --------
    >>> phrase({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "integer", "minimum": 1}]})
    'a list of integers or an integer >= 1'
    """
    if "expected" in schema:
        return str(schema["expected"])
    if "anyOf" in schema:
        return " or ".join(map(phrase, schema["anyOf"]))
    if "enum" in schema:
        *others, last = [repr(value) for value in schema["enum"] if value is not None]
        return f"{', '.join(others)} or {last}" if others else last
    if "type" not in schema:
        return "any value"
    noun = _NOUNS[schema["type"]]
    if below := schema.get("items", {}).get("type"):
        return f"{noun} of {_NOUNS[below].split()[-1]}s"
    if "maximum" in schema:
        return f"{noun} from {schema['minimum']} to {schema['maximum']}"
    return f"{noun} >= {schema['minimum']}" if "minimum" in schema else noun


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a key that occurs twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        first: dict[Any, int] = {}
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = None if key_node.tag == "tag:yaml.org,2002:merge" else self.construct_object(key_node, deep=True)
            if key is None or not isinstance(key, Hashable):
                continue
            if key in first:
                problem = f"the key {key!r} is repeated (first in line {first[key]})"
                raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key_node.start_mark)
            first[key] = key_node.start_mark.line + 1
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


def place(config: Mapping[str, Any], files: Sequence[str | Path], path: Sequence[Any]) -> str:
    """Return where the value of a key is set: "FILE:LINE" of the last such file, or else "--config KEY".

    Parameters
    ----------
    config : mapping
        The merged files and changes of the command line.
    files : sequence of path
    path : sequence of str and int
        The keys and indices that lead to the value. A key that a file lacks is at the line of the mapping around it.
    """
    for n in range(len(path), 0, -1):
        merged = _value(config, path[:n])
        for file in reversed(files):
            line, value = _line(file, path[:n])
            if line and (value == merged or (isinstance(value, dict) and isinstance(merged, Mapping))):
                return f"{file}:{line}"
        if merged is not None:
            return f"--config {path[0]}"
    return ", ".join(map(str, files)) or "--config"


def _line(file: str | Path, path: Sequence[Any]) -> tuple[int, Any]:
    """Return the line and the value at a path of keys in a config file; line 0 if the file lacks the key."""
    node, line = yaml.compose(Path(file).read_text(encoding="utf-8-sig"), _Loader), 0
    for key in path:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        below = {name.value: (name, item) for name, item in pairs}
        if isinstance(node, yaml.SequenceNode):
            below = {str(index): (item, item) for index, item in enumerate(node.value)}
        if str(key) not in below:
            return 0, None
        first, node = below[str(key)]
        line = first.start_mark.line + 1
    return line, _value(read(file), path)


def _value(config: Any, path: Sequence[Any]) -> Any:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        try:
            config = config[key]
        except (LookupError, TypeError):
            return None
    return config


def read(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises
    ------
    ProtocolError
        If the file does not exist, is not YAML, does not contain a mapping, or repeats a key. The message names the
        file and the line.
    """
    try:
        check_regular(Path(path), "a config file")
        found = parse(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problem = "no such file" if isinstance(error, FileNotFoundError) else f"can't be read: {reason}"
        raise ProtocolError(f"{path}: {problem}.") from error
    if not isinstance(found, dict):
        raise ProtocolError(f"{path}: expected keys with values, got {type(found).__name__}.")
    return found


def parse(text: str, where: str) -> Any:
    """Return the value of a YAML text; raise the same errors as `read`."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
    except (
        yaml.YAMLError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # PyYAML raises most of these for a value that does not fit its tag.
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        line = f":{mark.line + 1}" if mark else ""
        raise ProtocolError(f"{where}{line}: not valid YAML: {' '.join(problem.split())}.") from error
