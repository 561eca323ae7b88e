"""Faults, one at a time: how many do the tests find? Run by hand: ``python tests/benchmarks/faults.py [NUMBER ...]``.

``faults.yaml`` lists the faults: the line of the package, its faulty replacement, and the tests that should find it.
Each fault is seeded into a copy of the checkout, and its tests run there until the first failure. A line that does not
occur exactly once is an error, so the list follows the code. With ``--check``, only the lines are looked for.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def seeded(line: str, wrong: str, folder: Path) -> None:
    """Replace the only occurrence of a line in the package and the rules of a checkout."""
    files = [path for top in ("protocol", "workflow") for path in (folder / top).rglob("*") if path.suffix in ENDINGS]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    having = [path for path, text in texts.items() for _ in range(text.count(line))]
    if len(having) != 1:
        sys.exit(f"{line!r}: expected once in the package and the rules, got {[str(path) for path in having]}")
    having[0].write_text(texts[having[0]].replace(line, wrong), encoding="utf-8")


ENDINGS = {".py", ".smk", ".toml"}


def first_failure(right: str, wrong: str, tests: str) -> str:
    """Return the first test that fails in a clone of the last commit with a fault, or that it was missed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        seeded(right, wrong, Path(folder))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()]
        environment = os.environ | {"PYTHONPATH": folder}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"MISSED (status {done.returncode})"


def main(arguments: list[str]) -> None:
    """Seed the faults and write a line for each."""
    faults = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    numbers = [int(argument) for argument in arguments if argument != "--check"] or range(len(faults))
    for number in numbers:
        fault = faults[number]
        outcome = first_failure(fault["right"], fault["wrong"], fault["tests"])
        sys.stdout.write(f"{number:2}  {fault['kind']:14}  {outcome}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
