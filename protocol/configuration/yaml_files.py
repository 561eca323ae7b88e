"""Config files: YAML without repeated keys, and the lines of the keys."""

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from protocol.checks import ProtocolError
from protocol.inputs.limits import check_regular


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
        for file in reversed(files):
            line, value = _line(file, path[:n])
            merged = _value(config, path[:n])
            if line and (value == merged or (isinstance(value, dict) and isinstance(merged, Mapping))):
                return f"{file}:{line}"
        if _value(config, path[:n]) is not None:
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
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = " ".join((error.problem or "not YAML").split())
        raise ProtocolError(f"{where}{line}: not valid YAML: {problem}.") from error
    except RecursionError as error:
        raise ProtocolError(f"{where}: too many levels of lists or mappings.") from error
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # PyYAML raises most of these for a value that does not fit its tag.
        raise ProtocolError(f"{where}: not valid YAML: {' '.join(str(error).split())}.") from error
