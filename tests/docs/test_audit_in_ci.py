"""The guide to audits: its workflow for continuous integration and its hook work as described."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from page_blocks import DOCS, ROOT, blocks

PAGE = list(blocks((DOCS / "how-to" / "audit-a-split.md").read_text()))
WORKFLOW, PRE_COMMIT = (yaml.safe_load(block.text) for block in PAGE if block.language == "yaml")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return what runs a command in a folder with the lists of the page, as the shell of a CI job does."""
    program = tmp_path / "bin" / "protocol"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m protocol "$@"\n')
    program.chmod(0o755)
    variables = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    monkeypatch.chdir(tmp_path)
    PAGE[0].printed({})
    return lambda command: subprocess.run(["bash", "-ec", command], env=variables, capture_output=True, text=True)


def test_the_job_fails_with_all_findings_in_its_log_and_file(shell, tmp_path):
    step = next(step["run"] for step in WORKFLOW["jobs"]["audit"]["steps"] if "audit" in step.get("run", ""))
    done = shell(step)
    assert done.returncode == 1
    assert "  error    query-in-database: 1\n           c.jpg\n" in done.stdout
    findings = json.loads((tmp_path / "findings.json").read_text())
    assert [one["items"] for one in findings] == [["c.jpg"], ["d.jpg", "e.jpg"]]


def test_the_hook_runs_as_the_page_configures_it(shell):
    (hook,), ((use,),) = (
        yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()),
        [repository["hooks"] for repository in PRE_COMMIT["repos"]],
    )
    assert (use["id"], hook["language"], hook["pass_filenames"]) == (hook["id"], "python", False)
    assert re.search(use["files"], "lists/query.txt")
    command = shlex.join([*shlex.split(hook["entry"]), *use["args"]])
    assert shell(command).returncode == 1
    assert shell(command.replace("lists/database", "lists/train")).returncode == 0
