"""Output of commands: text on standard output, and checks of the output files before anything is computed."""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.checks import ProtocolError, printable
from protocol.cli._progress import INPUTS

if TYPE_CHECKING:
    from protocol.evaluation.printed import Printed


def show(text: str) -> None:
    """Print lines of text on standard output, with control characters escaped."""
    for handler in INPUTS.handlers:
        handler.flush()
    sys.stdout.write(printable(text, keep="\n\t") + "\n")


def finish(result: "Printed", json: Path | None) -> None:
    """Print a result, and write it as JSON if a file is given."""
    if json is not None:
        write(json, f"{result.to_json()}\n")
    show(str(result))


def write(path: Path, text: str) -> None:
    """Write a text file, which replaces an earlier one only when it is complete."""
    from protocol.provenance.storage import replacing

    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Raise ProtocolError if an output file is also an input or another output, or can't be written.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        By option; None for an option that is not given.
    inputs : iterable of str, Path or None
        Files as the user named them; a key, as in ``F.npz:key``, is ignored.
    """
    requested = {option: path for option, path in outputs.items() if path is not None}
    if not requested:
        return
    from protocol.inputs.arrays import path_of
    from protocol.provenance.storage import check_writable

    named = [name for name in inputs if name is not None]
    files = [*map(Path, named), *map(path_of, named)]
    for option, path in requested.items():
        if any(_is_same(path, file) for file in files):
            raise ProtocolError(f"{option}: {path} is also an input and would be overwritten. Choose another file.")
        check_writable(path.parent)
    for (option, path), (other, second) in itertools.combinations(requested.items(), 2):
        if _is_same(path, second):
            raise ProtocolError(f"{option} and {other} have the same file, {path}. Choose two files.")


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, which need not exist."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
