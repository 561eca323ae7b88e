"""`protocol run`: run an experiment with Snakemake and the workflow that comes with the package."""

import argparse
import importlib.util
import itertools
import os
import shlex
import sys
from typing import NoReturn

from protocol.checks import ProtocolError, not_installed
from protocol.shipped import SNAKEFILE


def run(arguments: argparse.Namespace) -> NoReturn:
    """Run `protocol run`: Snakemake replaces this process, so that it gets signals and its exit status is ours."""
    if importlib.util.find_spec("snakemake") is None:
        raise not_installed("snakemake", "pipeline")
    words = arguments.arguments
    is_named = any(word.startswith("--configfile") for word in words)
    files = [] if is_named else [*itertools.takewhile(lambda word: word.endswith((".yaml", ".yml")), words)]
    for file in itertools.filterfalse(os.path.exists, files):
        raise ProtocolError(f"{file}: no such file.")
    own = shlex.join(["protocol", "run", "my.yaml", *words])
    default = f"the default experiment, on handwritten digits. For your own: {own}"
    sys.stderr.write("" if is_named else f"protocol run: {' '.join(files) or default}\n")
    configs = ["--configfile", *files] if files else []  # --snakefile ends the list
    command = [sys.executable, "-m", "snakemake", *configs, "--snakefile", str(SNAKEFILE), *words[len(files) :]]
    sys.stdout.flush()
    os.execv(sys.executable, command)  # noqa: S606 - there is no shell, and the arguments are the user's own
