"""Guides with commands show what these print; their blocks are run in the order of the page."""

import re
import shlex
from pathlib import Path

import pytest

from protocol.cli import main

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = ["find-near-duplicates", "queries-with-duplicates", "what-a-code-loses"]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_what_its_commands_print(page, tmp_path, monkeypatch, capsys):
    text = (FOLDER / f"{page}.md").read_text()
    monkeypatch.chdir(tmp_path)
    known: dict = {}
    blocks = re.findall(r"```python\n(.*?)```|```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert sum(bool(command) for _, command, _ in blocks) == text.count("```text") == 2
    for code, command, output in blocks:
        if code:
            exec(code, known)
            continue
        program, *arguments = shlex.split(command.replace("\\\n", " "))
        assert program == "protocol"
        assert main(arguments) == 0
        assert capsys.readouterr().out == output
