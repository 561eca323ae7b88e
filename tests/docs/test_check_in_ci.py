"""The guide to continuous integration: its job runs the action on an example repository, and its hook works."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml
from encoded import yaml_of
from page_blocks import DOCS, ROOT, blocks

PAGE = (DOCS / "how-to" / "check-in-ci.md").read_text()
WORKFLOW, PRE_COMMIT = (yaml.safe_load(block.text) for block in blocks(PAGE) if block.language == "yaml")
_, CHECK, PUBLISH = WORKFLOW["jobs"]["check"]["steps"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / ".github" / "action" / "check.py"
CHANGED, NOT_GIVEN = yaml_of("docs/action.yaml").values()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A copy of the example repository, as the working directory."""
    shutil.copytree(ROOT / "tests" / "example_repository", tmp_path / "repository")
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


def leak(repository):
    with open(repository / "lists" / "database.txt", "a") as database:
        database.write((repository / "lists" / "query.txt").read_text().splitlines()[-1] + "\n")


def other_form(repository):
    names = (repository / "lists" / "query.txt").read_text().splitlines()
    with open(repository / "lists" / "database.txt", "a") as database:
        database.write(f"images/{names[-1]}\n")


def swap_digits(repository):
    record = repository / "records" / "itq.json"
    record.write_text(record.read_text().replace("0.8944629", "0.8964429"))


def other_lists(repository):
    """Make the audited lists others than those of the record, which are moved together with it."""
    record = repository / "records" / "itq.json"
    shutil.copytree(repository / "lists", repository / "records" / "lists")
    record.write_text(record.read_text().replace("../lists/", "lists/"))
    names = (repository / "lists" / "train.txt").read_text().splitlines(keepends=True)
    (repository / "lists" / "train.txt").write_text("".join(names[1:]))


def no_record(repository):
    (repository / "records" / "itq.json").unlink()


def no_list(repository):
    (repository / "lists" / "query.txt").unlink()


CHANGES = {one.__name__: one for one in (leak, other_form, swap_digits, other_lists, no_record, no_list)}


@pytest.fixture
def ran(tmp_path, monkeypatch, capfd):
    """Return a function that runs the last step of the action with the inputs of the page."""

    def run(*, in_bash=False, **changes):
        """Return the exit status, the outputs, the summary and the log."""
        inputs = {name: declared["default"] for name, declared in ACTION["inputs"].items()} | CHECK["with"] | changes
        outputs, summary, step = tmp_path / "outputs", tmp_path / "summary.md", ACTION["runs"]["steps"][-1]
        for name, expression in step["env"].items():
            monkeypatch.setenv(name, inputs[re.fullmatch(r"\$\{\{ inputs\.(\w+) }}", expression)[1]])
        monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        if in_bash:
            python = tmp_path / "hashing-protocol" / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
            python.chmod(0o755)
            variables = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT), "PYTHONPATH": str(ROOT)}
            status = subprocess.run(["bash", "-e", "-c", step["run"]], env=os.environ | variables).returncode
        else:
            status = runpy.run_path(str(SCRIPT))["main"]()
        text = summary.read_text() if summary.exists() else ""
        log = "".join(capfd.readouterr())
        return status, dict(line.split("=", 1) for line in outputs.read_text().splitlines()), text, log

    return run


@pytest.mark.parametrize(("changes", "split", "results", "problems"), CHANGED.values(), ids=CHANGED)
def test_the_action_names_every_problem(changes, split, results, problems, repository, ran):
    for change in changes:
        CHANGES[change](repository)
    status, outputs, summary, log = ran()
    assert (status, outputs) == (int(bool(changes)), {"split": split, "results": results})
    badges = {name: json.loads((repository / "badges" / f"{name}.json").read_text()) for name in outputs}
    for name, message in outputs.items():
        colour = "brightgreen" if message in ("audited", "verified") else "red"
        assert badges[name] == {"schemaVersion": 1, "label": name, "message": message, "color": colour}
    assert summary.startswith(f"## Split: {split}; results: {results}\n")
    for problem in problems:
        assert re.search(f"^::error::.*{re.escape(problem)}", log, re.M)
        assert problem in summary
    assert len(problems) > 0 or "::error::" not in log
    if changes == ["leak", "swap_digits"]:
        (shown,) = re.findall(r"^```markdown\n(## .*?)^```", PAGE, re.M | re.S)
        assert summary[: len(shown)] == shown


NOTHING = "Nothing to check: the action needs the lists of a split, or a folder of records.\n"
NOT_GIVEN += [(dict.fromkeys(CHECK["with"], ""), 2, "not checked", "not checked", NOTHING)]


@pytest.mark.parametrize(("inputs", "status", "split", "results", "log"), NOT_GIVEN)
def test_what_is_not_given_is_not_checked(inputs, status, split, results, log, repository, ran):
    found, outputs, summary, printed = ran(**inputs)
    assert (found, outputs) == (status, {"split": split, "results": results})
    assert bool(summary) == ("summary" not in inputs)
    assert log in printed
    assert not (repository / "badges" / "split.json").exists()


def test_the_job_publishes_the_badges(repository, tmp_path, ran):
    assert ran(in_bash=True)[:2] == (0, {"split": "audited", "results": "verified"})
    remote = tmp_path / "remote"
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    for _ in range(2):  # the second check replaces the branch
        shutil.rmtree(repository / "badges" / ".git", ignore_errors=True)
        subprocess.run(["bash", "-ec", PUBLISH["run"]], env=os.environ | {"REMOTE": str(remote)}, check=True)
    listed = subprocess.run(["git", "-C", remote, "ls-tree", "--name-only", "badges"], capture_output=True, text=True)
    assert listed.stdout.split() == ["results.json", "split.json"]
    assert PUBLISH["if"].startswith("always()")  # a failed check is published too


def test_the_hook_runs_as_the_page_configures_it(repository):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    ((use,),) = (one["hooks"] for one in PRE_COMMIT["repos"])
    assert (use["id"], hook["language"], hook["pass_filenames"]) == (hook["id"], "python", False)
    assert re.search(use["files"], "lists/query.txt")
    command = [sys.executable, "-m", *shlex.split(hook["entry"]), *use["args"]]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, env=variables, capture_output=True).returncode == 0
    leak(repository)
    assert subprocess.run(command, env=variables, capture_output=True).returncode == 1


def test_the_action_installs_its_own_checkout_and_passes_every_input_as_a_variable():
    setup, install, check = ACTION["runs"]["steps"]
    assert '"$GITHUB_ACTION_PATH[fast,hdf5]"' in install["run"]
    assert {*check["env"].values()} == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert "${{" not in install["run"] + check["run"]  # the value of an input would be run as a part of the script
    assert setup["with"]["update-environment"] is False
    assert set(CHECK["with"]) <= set(ACTION["inputs"])
    for name, declared in ACTION["outputs"].items():
        assert declared["value"] == f"${{{{ steps.check.outputs.{name} }}}}"
