"""Output of commands: results, lines on standard error of how inputs were read, and checks of output files."""

import argparse
import contextlib
import itertools
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, printable
from protocol.inputs.text import INPUTS
from protocol.progress import say
from protocol.terminal import coloured

if TYPE_CHECKING:
    from protocol.evaluation.printed import Printed


class _Readings(logging.Handler):
    """Print on standard error how each input was read, once, before the results of a command."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: dict[str, None] = {}
        self._n_printed = 0

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.setdefault(record.getMessage())

    def flush(self) -> None:
        say(*list(self._lines)[self._n_printed :])
        self._n_printed = len(self._lines)


@contextlib.contextmanager
def readings() -> Iterator[None]:
    """Print how the inputs are read: "query.txt: 500 items, id and one of 10 classes"; nothing if there is an error."""
    handler, level = _Readings(), INPUTS.level
    INPUTS.addHandler(handler)
    INPUTS.setLevel(logging.INFO)
    try:
        yield
        handler.flush()
    finally:
        INPUTS.removeHandler(handler)
        INPUTS.setLevel(level)


def passed(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options that a command passes on to a function under their own names."""
    return {name: getattr(arguments, name) for name in names}


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the values of those options that the user gave, by option."""
    values = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in names}
    return {option: value for option, value in values.items() if value or type(value) is int}


def refuse_without(others: str, options: Iterable[str]) -> None:
    """Raise ProtocolError if there are options, which need others that the user did not give."""
    for option in options:
        raise ProtocolError(f"{option} needs {others} as well.")


def show(text: str) -> None:
    """Print lines of text on standard output, with control characters escaped."""
    for handler in INPUTS.handlers:
        handler.flush()
    sys.stdout.write(coloured(printable(text, keep="\n\t") + "\n", sys.stdout))


def finish(result: "Printed", json: Path | None) -> None:
    """Print a result, and write it as JSON if a file is given."""
    if json is not None:
        write(json, f"{result.to_json()}\n")
    show(str(result))


def write(path: Path, text: str) -> None:
    """Write a text file, which replaces an earlier one only when it is complete."""
    from protocol.provenance.storage import write_text

    write_text(path, text)


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Raise ProtocolError if an output file is also an input or another output, or can't be written.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        By option; None for an option that is not given.
    inputs : iterable of str, Path or None
        Files as the user named them; a key, as in ``F.npz:key``, is ignored.
    """
    from protocol.inputs.arrays import path_of
    from protocol.provenance.storage import check_writable

    requested = {option: path for option, path in outputs.items() if path is not None}
    names = [name for name in inputs if name is not None]
    files = [*map(Path, names), *map(path_of, names)]
    for (option, path), (other, second) in itertools.combinations(requested.items(), 2):
        if _is_same(path, second):
            raise ProtocolError(f"{option} and {other} have the same file, {path}. Choose two files.")
    for option, path in requested.items():
        if any(_is_same(path, file) for file in files):
            raise ProtocolError(f"{option}: {path} is also an input and would be overwritten. Choose another file.")
        if not path.parent.exists() and " " not in option:  # `--trec DIR` makes its folder
            raise ProtocolError(f"{path.parent}: no such folder.")
        check_writable(path.parent)


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, which need not exist."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
