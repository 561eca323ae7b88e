"""The guide keep-a-leaderboard: its commands and its workflow accept good records, and refuse an edited one."""

import shlex

import yaml
from page_blocks import DOCS, blocks, folder_of_a_reader

from protocol.cli import main

PAGE = list(blocks((DOCS / "how-to" / "keep-a-leaderboard.md").read_text()))
(WORKFLOW,) = (yaml.safe_load(block.text) for block in PAGE if block.language == "yaml")
STEPS = [step["run"] for step in WORKFLOW["jobs"]["verify"]["steps"] if step.get("run", "").startswith("protocol")]


def test_the_commands_and_the_job_of_the_page_refuse_what_does_not_verify(tmp_path, capsys):
    (command,) = map(shlex.split, STEPS)
    with folder_of_a_reader(tmp_path) as namespace:
        make, score, compare, edit = (block for block in PAGE if block.runs)
        make.printed(namespace)
        score.printed(namespace)
        assert compare.shows(printed := compare.printed(namespace)), printed
        assert main(command[1:]) == 0
        assert edit.shows(printed := edit.printed(namespace)), printed
        capsys.readouterr()
        assert main(command[1:]) == 1
    assert "leaderboard/lsh/lsh.json: not verified: mAP: 0.39647977162005" in capsys.readouterr().out
