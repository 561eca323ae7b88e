"""Config files: YAML without repeated keys."""

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from protocol.checks import ProtocolError
from protocol.inputs.text import check_regular


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a key that occurs twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        first: dict[Any, int] = {}
        if not isinstance(node, yaml.MappingNode):  # a tag such as !!map before another kind of value
            return super().construct_mapping(node, deep=deep)
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if isinstance(key, Hashable):
                if key in first:
                    raise _Twice(f"line {line}: the key {key!r} is repeated (first in line {first[key]}).")
                first[key] = line
        return super().construct_mapping(node, deep=deep)


class _Twice(Exception):  # noqa: N818 - never leaves this module
    """A key that occurs twice."""


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
        with open(path, encoding="utf-8-sig") as stream:
            found = parse(stream.read(), str(path))
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
    except _Twice as error:
        raise ProtocolError(f"{where}, {error}") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = " ".join((error.problem or "not YAML").split())
        raise ProtocolError(f"{where}{line}: not valid YAML: {problem}.") from error
    except RecursionError as error:
        raise ProtocolError(f"{where}: too many levels of lists or mappings.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ProtocolError(f"{where}: not valid YAML: {' '.join(str(error).split())}.") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # from PyYAML, for a wrong tag
        raise ProtocolError(f"{where}: a value does not fit its YAML tag ({type(error).__name__}: {error}).") from error


def check_files(paths: Iterable[str | Path]) -> None:
    """Raise ProtocolError if one of the config files can't be read or repeats a key."""
    for path in paths:
        read(path)
