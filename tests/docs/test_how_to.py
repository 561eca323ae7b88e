"""Guides show what their commands print."""

import re
import shlex
from pathlib import Path

import pytest

from protocol.cli import main

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize(("page", "n_commands"), [("what-a-code-loses.md", 2), ("find-near-duplicates.md", 2)])
def test_the_page_shows_what_its_commands_print(page, n_commands, tmp_path, monkeypatch, capsys):
    text = (GUIDES / page).read_text()
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    commands = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(commands) == text.count("```text") == n_commands
    for command, output in commands:
        program, *arguments = shlex.split(command.replace("\\\n", " "))
        assert program == "protocol"
        assert main(arguments) == 0
        assert capsys.readouterr().out == output
