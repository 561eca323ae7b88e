"""The check of a config file against the declarations in ``keys.yaml``, which also fills in the defaults.

The declarations are a JSON Schema, in which each key has its description, type, bounds and default. The libraries
jsonschema and pydantic check such a schema or models of it, but fill in no defaults or report errors in a form whose
translation to one line took more code than this module.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from protocol.checks import ProtocolError, one_of, printable
from protocol.configuration.yaml_files import read

LONGEST_NAME = 80
"""Characters of a user's name; two of them, a metric and an extension fit in the 255 bytes of a file name."""
_SHOWN = 80  # characters of a value in a message
_INTEGER = re.compile("-?[0-9]{1,100}")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "array": (list, tuple),
    "object": (Mapping,),
}


@cache
def keys() -> dict[str, Any]:
    """Return the declarations of ``keys.yaml``."""
    return read(Path(__file__).with_name("keys.yaml"))


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with every default, in the order of the declarations; keys that may be absent stay absent.

    Raises
    ------
    ProtocolError
        With one line that states the key, the expected values and the value found.
    """
    if "preprocessing" in config:
        raise ProtocolError("preprocessing belongs to a feature: write it as features.NAME.preprocessing.")
    return filled(dict(config), keys())


def filled(value: Any, schema: Mapping[str, Any], where: str = "", stated: Mapping[str, Any] | None = None) -> Any:
    """Return a checked value with the defaults of its keys; text becomes a number or a boolean where these are allowed.

    Parameters
    ----------
    value : object
    schema : mapping
        The JSON schema of the value.
    where : str, default=""
        The path of the key, for messages.
    stated : mapping, optional
        The schema whose words a message uses, if the value has one of several forms.

    Raises
    ------
    ProtocolError
        If the value is not allowed.
    """
    stated = stated or schema
    if "oneOf" in schema:
        return _of_one_form(value, schema["oneOf"], where, stated)
    converted = _converted(value, schema)
    if not _fits(converted, schema):
        _refuse(value, stated, where)
    match schema.get("type"):
        case "array":
            converted = [filled(item, schema["items"], f"{where}[{index}]") for index, item in enumerate(converted)]
            if schema.get("uniqueItems"):
                _check_once(converted, where)
        case "object":
            converted = _mapping(converted, schema, where)
    for rule in schema.get("allOf", ()):
        if not _fits(converted, rule):
            _refuse(value, rule, where)
    return converted


def _of_one_form(value: Any, forms: list[dict[str, Any]], where: str, stated: Mapping[str, Any]) -> Any:
    """Return a checked value that has one of several forms."""
    for form in forms if value is not None else ():
        if _fits(_converted(value, form), {"type": form["type"]}):
            return filled(value, form, where, stated)
    return _refuse(value, stated, where)


def _mapping(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a checked mapping. Unknown keys are reported first, since they may be misspelt required keys."""
    _check_keys(value, schema, where)
    prefix = f"{where}." if where else ""
    if "properties" not in schema:
        return {key: filled(item, schema["additionalProperties"], prefix + key) for key, item in value.items()}
    required, result = schema.get("required", ()), {}
    for key, declared in schema["properties"].items():
        is_null = value.get(key) is None and declared.get("default") is None and key not in required
        if key in value and not is_null:
            result[key] = filled(value[key], declared, prefix + key)
        elif "default" in declared:
            result[key] = None if is_null else filled(declared["default"], declared)
    if missing := [key for key in required if key not in value]:
        *first, last = missing
        what = f"the keys {', '.join(first)} and {last} are missing" if first else f"the key {last} is missing"
        _refuse_mapping(what, where)
    return result


def _check_keys(value: Mapping[Any, Any], schema: Mapping[str, Any], where: str) -> None:
    for key in value:
        if not isinstance(key, str):
            _refuse_mapping(f"keys must be names, got {shown(key)}", where)
    for key in value if "properties" in schema else ():
        one_of(key, schema["properties"], f"key in {where or 'the config file'}")


def _refuse_mapping(problem: str, where: str) -> NoReturn:
    raise ProtocolError(f"{where or 'config file'}: {problem}.")


def _check_once(values: list[Any], where: str) -> None:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ProtocolError(f"{where}: {value!r} is listed twice.")


def _converted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value of the command line, which may pass numbers as text, or an empty mapping for a missing value."""
    match schema.get("type"):
        case "integer" if isinstance(value, str) and _INTEGER.fullmatch(value):
            return int(value)
        case "boolean" if value in ("true", "false"):
            return value == "true"
        case "object" if value is None:
            return {}
    return value


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a value satisfies the keywords of a schema that apply to the value itself."""
    kind = schema.get("type")
    if kind and not (isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")):
        return False
    return all(_KEYWORDS[word](value, limit) for word, limit in schema.items() if word in _KEYWORDS)


def _is_line(text: str) -> bool:
    """Return whether figures and pages can show a text; templates treat braces as placeholders."""
    return 0 < len(text) <= LONGEST_NAME and text == text.strip() == printable(text) and not set(text) & set("{}")


_KEYWORDS = {
    "enum": lambda value, allowed: value in allowed,
    "pattern": lambda text, pattern: re.fullmatch(pattern, text) is not None,
    "format": lambda text, _: _is_line(text),
    "minimum": lambda number, limit: number >= limit,
    "maximum": lambda number, limit: number <= limit,
    "minItems": lambda items, limit: len(items) >= limit,
    "minProperties": lambda mapping, limit: len(mapping) >= limit,
    "contains": lambda items, schema: any(_fits(item, schema) for item in items),
    "not": lambda value, schema: not all(_fits(value, part) for part in schema.get("allOf", [schema])),
}


def _refuse(value: Any, schema: Mapping[str, Any], where: str) -> NoReturn:
    is_secret = where == "mirror" and isinstance(value, list | dict)  # it may contain credentials
    got = type(value).__name__ if is_secret else shown(value)
    raise ProtocolError(f"{where}: expected {phrase(schema)}, got {got}.")


def shown(value: Any) -> str:
    """Return a value as error messages show it: its representation, truncated if it is long."""
    try:
        text = "null" if value is None else repr(value)
    except RecursionError:
        return f"a {type(value).__name__} with too many levels"
    except ValueError:  # Python does not convert integers of more than 4,300 digits
        return f"a {type(value).__name__} that is too long"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


_NOUNS = {
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "string": ("a string", "strings"),
    "boolean": ("true or false", "true or false"),
    "null": ("null", "null"),
    "array": ("a list", "lists"),
    "object": ("a mapping", "mappings"),
}
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def phrase(schema: Mapping[str, Any], *, plural: bool = False) -> str:
    """Return in words which values a JSON schema allows.

    Examples
    --------
    >>> phrase({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 512}})
    'a list of integers from 1 to 512'
    """
    if "expected" in schema:
        return str(schema.get("plural", schema["expected"]) if plural else schema["expected"])
    if forms := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(dict.fromkeys(phrase(form, plural=plural) for form in forms))
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        *first, last = map(repr, values)
        return f"{', '.join(first)} or {last}" if first else last
    return _phrase_of_type(schema, plural=plural) if "type" in schema else ("any value", "values")[plural]


def _phrase_of_type(schema: Mapping[str, Any], *, plural: bool) -> str:
    """Return in words which values a schema with a type and bounds allows."""
    noun = _NOUNS[schema["type"]][plural]
    if not plural and (schema.get("minItems") or schema.get("minProperties")) and "prefixItems" not in schema:
        noun = noun.replace("a ", "a non-empty ")
    if "prefixItems" in schema:
        return f"{noun} of {len(schema['prefixItems'])} values"
    if schema.get("items"):
        return f"{noun} of {phrase(schema['items'], plural=True)}"
    bounds = {word: schema[word] for word in _BOUNDS if word in schema}
    if {"minimum", "maximum"} <= bounds.keys():
        return f"{noun} from {bounds['minimum']} to {bounds['maximum']}"
    return noun + "".join(f" {_BOUNDS[word]} {bound}" for word, bound in bounds.items())
