"""The guide to the figures of the papers: its commands run, and its names are those of the command."""

import re
import shlex
from pathlib import Path

from protocol.cli import main
from protocol.papers.figures import DRAWINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "figures-of-the-papers.md").read_text()


def test_the_commands_print_what_the_page_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(ROOT / "results" / "reference")
    monkeypatch.chdir(tmp_path)
    ((command, output),) = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith("  missing: ")] == output.splitlines()
    ((code),) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "['eq. 16', 'printed', '0.2633', '0.6012']\n"


def test_the_page_names_every_figure_and_no_other():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(DRAWINGS)
    for config in set(re.findall(r"\w+\.yaml", PAGE)):
        assert (ROOT / "workflow" / "config" / config).is_file()
