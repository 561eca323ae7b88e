"""Odd configurations for Snakemake: its error contains the line of the check, and no traceback."""

import subprocess
import sys

import pytest
import yaml
from project import SMALL

pytestmark = pytest.mark.ci


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": 2.0}, "runs: expected an integer from 1 to 10000, got 2.0."),
        ({1: 2}, "config file: expected names as keys, got 1."),
        (
            {"experiment": "small\n"},
            "experiment: expected a name of up to 80 lower-case letters, digits, _ and -, got 'small\\n'.",
        ),
        (
            {"features": {"gist": {"options": {"scales": 10**15}}}},
            "feature 'gist': expected options of usable sizes, got ",
        ),
        ({"mirror": "https:/me:secret@host"}, "mirror: expected a URL or an existing folder, got '***@host' "),
    ],
    ids=["fraction", "key", "newline", "huge", "credentials"],
)
def test_snakemake_prints_the_line_of_the_check(root, tmp_path, changes, message):
    (tmp_path / "odd.yaml").write_text(yaml.safe_dump(SMALL | changes))
    command = ["snakemake", "-n", "--snakefile", root / "Snakefile", "--configfile", "odd.yaml"]
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    shown = done.stdout + done.stderr  # a dry run prints its errors on standard output
    assert done.returncode == 1
    assert sum(message in line for line in shown.splitlines()) == 1
    assert "Traceback" not in shown
    assert "secret" not in shown
