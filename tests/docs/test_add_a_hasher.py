"""docs/how-to/add-a-hasher.md in an empty folder: the files that it shows are written, and its commands run.

``python tests/docs/test_add_a_hasher.py`` replaces the outputs on the page.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from page_blocks import DOCS, blocks

pytestmark = pytest.mark.ci
PAGE = DOCS / "how-to" / "add-a-hasher.md"
ROOT = DOCS.parent
NAMED = {"python": "my_plugins/ridge_codes.py", "yaml": "my.yaml"}


def run(folder: Path):
    """Yield each block that prints, and what it prints in a folder, with the programs of this environment."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("protocol", "snakemake", "python"):
        command = f"{sys.executable} -m {name}" if name != "python" else sys.executable
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    (folder / "my_plugins").mkdir()
    for block in blocks(PAGE.read_text()):
        if block.output is None:
            if not block.text.startswith("pytest"):
                (folder / NAMED[block.language]).write_text(block.text)
            continue
        command = ["bash", "-e", "-c", block.text] if block.language == "sh" else ["python", "-c", block.text]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        yield block, done.stdout


def test_the_commands_print_what_the_page_shows(tmp_path):
    printed = [(block.output, output) for block, output in run(tmp_path)]
    assert len(printed) == 2
    for shown, output in printed:
        assert output == shown
    assert (tmp_path / "results" / "mine" / "gist" / "counts" / "ridge_codes_strong.h5").exists()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text = PAGE.read_text()
        parts = text.split("```text\n")
        for number, (_, output) in enumerate(list(run(Path(made))), 1):
            parts[number] = output + parts[number][parts[number].index("```") :]
        PAGE.write_text("```text\n".join(parts))
