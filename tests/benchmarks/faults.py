"""Faults, one at a time: how many do the tests find?

Run by hand: ``python tests/benchmarks/faults.py`` (``--help`` for the options). ``faults.yaml`` lists the faults: the
line of the package, its faulty replacement, and the tests that are run first. Each fault is seeded into a copy
of the checkout, and pytest runs there until the first failure, so a fault that is found early costs seconds, and one
that is missed costs the whole suite. A line that occurs not exactly once is an error, so the list follows the code.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[2]


class Fault(NamedTuple):
    """A line and its faulty replacement, and the tests that are run first."""

    kind: str
    tests: str
    right: str
    wrong: str


FAULTS = [Fault(**fault) for fault in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())]


def file_with(line: str, folder: Path) -> Path:
    """Return the only file of the package or the rules in a checkout that contains a line."""
    files = [
        path
        for top in ("protocol", "workflow")
        for ending in ("py", "smk")
        for path in (folder / top).rglob(f"*.{ending}")
    ]
    places = [path for path in files for _ in range(path.read_text().count(line))]
    if len(places) != 1:
        raise ValueError(f"{line!r}: expected once in the package and the rules, got {len(places)} times")
    return places[0]


def first_failure(fault: Fault, options: list[str]) -> str | None:
    """Return the first test that fails in a clone of the last commit with a fault; None if all pass."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        path = file_with(fault.right, Path(folder))
        path.write_text(path.read_text().replace(fault.right, fault.wrong))
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
        for selection in ([f"tests/{fault.tests}"], []):
            done = subprocess.run([*pytest, *selection], cwd=folder, env=environment, capture_output=True, text=True)
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            if failed:
                return failed[0]
            if done.returncode not in (0, 5):  # 5: no test of the folder is selected
                raise RuntimeError(f"pytest ended with status {done.returncode}: {done.stdout[-2000:]}{done.stderr}")
    return None


def main() -> int:
    """Seed the faults and print a line for each; the exit status is 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look for the line of each fault")
    parser.add_argument(
        "--only", type=int, nargs="*", default=range(len(FAULTS)), metavar="N", help="numbers of faults"
    )
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    arguments = parser.parse_args()
    missed = 0
    for number in arguments.only:
        fault, began = FAULTS[number], time.perf_counter()
        try:
            if arguments.check:
                result = str(file_with(fault.right, ROOT).relative_to(ROOT))
            else:
                result = first_failure(fault, arguments.options) or "missed"
        except ValueError as error:
            result = f"missed: {error}"
        missed += result.startswith("missed")
        sys.stdout.write(f"{number:2}  {fault.kind:13}  {time.perf_counter() - began:4.0f} s  {result[:150]}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{missed} of {len(arguments.only)} faults were missed\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
