"""`protocol run`: what Snakemake is started with, and its exit status."""

import os
import subprocess
import sys

import pytest

from protocol.cli import main
from protocol.shipped import SNAKEFILE


@pytest.mark.parametrize(
    ("words", "configs", "rest"),
    [
        ("my.yaml", "my.yaml", ""),
        ("a.yml b.yaml metrics -n", "a.yml b.yaml", "metrics -n"),
        ("a.yaml --configfile b.yaml", "", "a.yaml --configfile b.yaml"),  # not in silence another one
    ],
)
def test_config_files_come_first(words, configs, rest, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.extend(command[3:]))
    assert main(["run", *words.split()]) == 0
    options = ["--configfile", *configs.split()] if configs else []
    assert started == [*options, "--snakefile", str(SNAKEFILE), *rest.split()]


@pytest.mark.parametrize("words", [[], ["--configfile", "my.yaml", "-n", "--", "metrics"], ["--n-bits", "--debug"]])
def test_every_argument_is_passed_on(words, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.append((program, command)))
    assert main(["run", *words]) == 0
    assert started == [(sys.executable, [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), *words])]


def test_without_snakemake_one_line_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["run"]) == 2
    assert capsys.readouterr().err == (
        "protocol: snakemake is not installed. Install it in a checkout of this project: pip install '.[pipeline]'\n"
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "status", "said"), [("--dry-run", 0, "\nreport "), ("-n nothing_of_this_name", 1, "MissingRuleException")]
)
def test_the_default_experiment_in_an_empty_folder(words, status, said, tmp_path, root):
    command = [sys.executable, "-m", "protocol", "run", *words.split()]
    variables = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True)
