"""`protocol run`: what Snakemake is started with, and its exit status."""

import os
import subprocess
import sys

import pytest

from protocol.cli import main
from protocol.shipped import DEFAULT, SNAKEFILE


@pytest.mark.parametrize(
    ("configs", "rest", "said"),
    [
        ("", "-n audit", "the default experiment, on handwritten digits. For your own: protocol run my.yaml -n audit"),
        *(("", "--configfile my.yaml -n -- metrics", ""), ("", "--n-bits --configfile=my.yaml", "")),
        *((f"{DEFAULT}", "", f"{DEFAULT}"), (f"{DEFAULT} {DEFAULT}", "metrics -n", f"{DEFAULT} {DEFAULT}")),
        ("", "a.yaml --configfile b.yaml", ""),  # never one of them in silence
    ],
)
def test_every_argument_is_passed_on_and_the_experiment_is_named(configs, rest, said, monkeypatch, capsys):
    started, rest, configs = [], rest.split(), configs.split()
    monkeypatch.setattr(os, "execv", lambda program, command: started.append((program, command)))
    assert main(["run", *configs, *rest]) == 0
    options = [*(["--configfile", *configs] if configs else []), "--snakefile", str(SNAKEFILE), *rest]
    assert started == [(sys.executable, [sys.executable, "-m", "snakemake", *options])]
    assert capsys.readouterr().err == (said and f"protocol run: {said}\n")


def test_without_snakemake_one_line_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["run"]) == 2
    install = "Install it in a checkout of this project: pip install '.[pipeline]'"
    assert capsys.readouterr().err == f"protocol: snakemake is not installed. {install}\n"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("--dry-run", 0, "\nreport "),
        ("-n audits", 1, "). Did you mean audit? The option --list-target-rules lists all stages.\n"),
    ],
)
def test_the_default_experiment_in_an_empty_folder(words, status, said, tmp_path, root):
    command = [sys.executable, "-m", "protocol", "run", *words.split()]
    variables = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True)
