"""The guide to what a code loses shows what its commands print."""

import re
import shlex
from pathlib import Path

from protocol.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "what-a-code-loses.md"


def test_the_page_shows_what_its_commands_print(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text()
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    commands = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(commands) == text.count("```text") == 2
    for command, output in commands:
        program, *arguments = shlex.split(command.replace("\\\n", " "))
        assert program == "protocol"
        assert main(arguments) == 0
        assert capsys.readouterr().out == output
