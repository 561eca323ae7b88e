"""The blocks of the pages of docs/ and of the README: run them, and compare or rewrite the output that a page shows.

Python blocks of a page share one namespace. A block of `protocol` commands runs through the command line's own
function. The `text` block that follows is the output; a line ``...`` in it stands for any lines. A comment
``<!-- not run: REASON -->`` above a block means that it is not run.

``python tests/docs/page_blocks.py PAGE ...`` replaces outdated outputs, and prints those that contain ``...``.
"""

import contextlib
import doctest
import importlib.util
import io
import itertools
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

from protocol.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCED = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<reason>not run.*?: .+?) -->\n *)?```(?P<language>\w+)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block of a page, and what the page shows as its output."""

    language: str
    text: str
    output: str | None
    reason: str | None

    @property
    def runs(self) -> bool:
        return self.language in ("python", "sh") and self.reason is None

    def printed(self, namespace: dict[str, Any]) -> str:
        """Run the block; return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if self.language == "python":
                exec(compile(self.text, "block", "exec"), namespace)
            else:
                for command in self.text.replace("\\\n", " ").splitlines():
                    program, *arguments = shlex.split(command, comments=True)
                    if program != "protocol":
                        raise ValueError(f"only `protocol` is run here, or give a reason for not running it: {command}")
                    main(arguments)
        return printed.getvalue()

    def shows(self, printed: str) -> bool:
        """Return whether the page shows what the block printed, or shows nothing."""
        return self.output is None or doctest.OutputChecker().check_output(self.output, printed, doctest.ELLIPSIS)


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page, outputs with the blocks that print them."""
    found = list(_FENCED.finditer(text))
    for match, after in itertools.zip_longest(found, found[1:]):
        if match["language"] != "text":
            shown = after is not None and after["language"] == "text"
            output = after["text"] if shown else None
            yield Block(match["language"], match["text"], output, match["reason"])


@contextlib.contextmanager
def folder_of_a_reader(folder: Path) -> Iterator[dict[str, Any]]:
    """Change to a folder with the stored results and the workflow, and yield the namespace of a page."""
    (folder / "results").mkdir()
    (folder / "results" / "reference").symlink_to(ROOT / "results" / "reference")
    for name in ("config", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    with contextlib.chdir(folder), mock.patch.dict(os.environ, COLUMNS="100"):
        yield {"__name__": "protocol.example"}


def script(name: str) -> ModuleType:
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "path", [str(DOCS), *sys.path]):  # which its imports need
        spec.loader.exec_module(module)
    return module


def rewrite(page: Path) -> None:
    """Run the blocks of a page, and write their outputs into it."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder, folder_of_a_reader(Path(folder)) as namespace:
        for block in list(blocks(text)):
            if block.runs:
                printed = block.printed(namespace)
                if block.shows(printed):
                    continue
                if "\n...\n" in f"\n{block.output}":
                    sys.stderr.write(f"{page}: edit the output with ... by hand. It is now:\n{printed}")
                else:
                    text = text.replace(f"```text\n{block.output}```", f"```text\n{printed}```", 1)
    page.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
