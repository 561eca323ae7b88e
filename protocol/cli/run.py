"""`protocol run`: run an experiment with Snakemake and the workflow that comes with the package."""

import argparse
import importlib.util
import itertools
import os
import sys
from typing import NoReturn

from protocol.checks import not_installed
from protocol.shipped import SNAKEFILE


def run(arguments: argparse.Namespace) -> NoReturn:
    """Run `protocol run`: Snakemake replaces this process, so that it gets signals and its exit status is ours."""
    if importlib.util.find_spec("snakemake") is None:
        raise not_installed("snakemake", "pipeline")
    words, files = arguments.arguments, list[str]()
    if "--configfile" not in words:
        files = [*itertools.takewhile(lambda word: word.endswith((".yaml", ".yml")), words)]
    configs = ["--configfile", *files] if files else []  # --snakefile ends the list
    command = [sys.executable, "-m", "snakemake", *configs, "--snakefile", str(SNAKEFILE), *words[len(files) :]]
    sys.stdout.flush()
    os.execv(sys.executable, command)  # noqa: S606 - there is no shell, and the arguments are the user's own
