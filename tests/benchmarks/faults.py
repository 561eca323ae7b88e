"""Faults, one at a time: how many do the tests find? Run by hand: ``python tests/benchmarks/faults.py [NUMBER ...]``.

``faults.yaml`` lists the faults: the line of the package, its faulty replacement, and the tests that should find it.
Each fault is seeded into a clone of the last commit, and its tests run there until the first failure. A line that does
not occur exactly once is an error, so the list follows the code. With ``--check``, only the lines and the tests are
looked for, in the files as they are.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
ENDINGS = {".py", ".smk", ".toml"}


def file_with(line: str, folder: Path) -> Path:
    """Return the file of the package or the rules of a checkout that has a line; exit if it does not occur once."""
    files = [path for top in ("protocol", "workflow") for path in (folder / top).rglob("*") if path.suffix in ENDINGS]
    having = [path for path in files for _ in range(path.read_text(encoding="utf-8").count(line))]
    if len(having) != 1:
        sys.exit(f"{line!r}: expected once in the package and the rules, got {[str(path) for path in having]}")
    return having[0]


def check(fault: dict[str, str]) -> str:
    """Return the file with the line of a fault; exit if it, or one of the paths of its tests, does not exist."""
    for path in (word.partition("::")[0] for word in fault["tests"].split() if "/" in word):
        if not (ROOT / path).exists():
            sys.exit(f"{path}: no such tests")
    return str(file_with(fault["right"], ROOT).relative_to(ROOT))


def first_failure(fault: dict[str, str]) -> str:
    """Return the first test that fails in a clone with a fault, or how many passed and how many were skipped."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        path = file_with(fault["right"], Path(folder))
        path.write_text(path.read_text(encoding="utf-8").replace(fault["right"], fault["wrong"]), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *fault["tests"].split()]
        environment = os.environ | {"PYTHONPATH": folder}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    lines = done.stdout.splitlines() or [done.stderr]
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), f"MISSED: {lines[-1]}")


def main(arguments: list[str]) -> None:
    """Seed the faults, or only look for their lines, and write a line for each."""
    faults = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    outcome = check if "--check" in arguments else first_failure
    numbers = [int(argument) for argument in arguments if argument != "--check"] or range(len(faults))
    for number in numbers:
        sys.stdout.write(f"{number:2}  {faults[number]['kind']:14}  {outcome(faults[number])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
