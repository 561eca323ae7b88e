"""The guide keep-a-leaderboard: its commands accept good records, and refuse an edited one."""

import re
from pathlib import Path

import yaml
from page_blocks import DOCS, blocks, folder_of_a_reader

from protocol.cli import main

PAGE = list(blocks((DOCS / "how-to" / "keep-a-leaderboard.md").read_text()))
(WORKFLOW,) = (yaml.safe_load(block.text) for block in PAGE if block.language == "yaml")


def test_the_commands_print_what_the_page_shows_and_its_job_refuses_the_edited_record(tmp_path):
    with folder_of_a_reader(tmp_path) as namespace:
        for block in PAGE:
            if block.runs:
                assert block.shows(printed := block.printed(namespace)), printed
        (verify,) = (step["run"] for step in WORKFLOW["jobs"]["verify"]["steps"] if "verify" in step.get("run", ""))
        records = sorted(Path().glob(re.search(r"in (\S+);", verify)[1]))
        assert [main(["verify", str(record)]) for record in records] == [0, 1]
