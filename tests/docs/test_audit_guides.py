"""The guides to training logs and to groups show what their commands print."""

import re
import shlex
from pathlib import Path

import pytest

from protocol.cli import main

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize("page", ["audit-a-training-log.md", "audit-groups.md"])
def test_the_page_shows_what_its_command_prints(page, tmp_path, monkeypatch, capsys):
    text = (PAGES / page).read_text()
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    ((command, shown),) = re.findall(r"```sh\n(.*?)```.*?```text\n(.*?)```", text, re.DOTALL)
    program, *arguments = shlex.split(command)
    assert program == "protocol"
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    assert [part for part in shown.split("           ...\n") if part not in printed] == []
    for command in re.findall(r"^protocol (.* 're:.*)$", text, re.MULTILINE):
        assert main(shlex.split(command)) == 1
        assert (
            capsys.readouterr().out.split("  error ")[1]
            == printed.replace("people.csv", "re:^(.*)_").split("  error ")[1]
        )


def test_other_reported_scores_have_the_exit_status_of_the_guide(tmp_path, monkeypatch, capsys):
    text = (PAGES / "audit-a-training-log.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], {})
    for reported, status in {"0.782": 0, "79.7": 1, "0.75": 0}.items():
        assert main(["audit", "--training-log", "train.log", "--reported", reported]) == status
    assert capsys.readouterr().out.count("clean") == 1
