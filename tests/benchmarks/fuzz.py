"""What becomes of mutated files of every format: ``python tests/benchmarks/fuzz.py [N] [FORMAT ...]``, N = 10,000."""

import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "formats"))

import mutations

COLUMNS = ("tracebacks", "crashes", "hangs", "wrong answers")
OTHERS = (
    "refused",
    "refused after a crash of the reading process",
    "refused after the time limit",
    "same numbers",
    "other valid files",
)


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(n=10_000, *kinds):
    """Print a table with a row for each format."""
    _say("| format | files | " + " | ".join((*COLUMNS, *OTHERS)) + " | seconds |")
    _say("|---" * (len(COLUMNS) + len(OTHERS) + 3) + "|")
    for kind in kinds or mutations.FORMATS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            fuzz = mutations.Fuzz(kind, folder)
            counts = fuzz.run(int(n), patch)
        numbers = " | ".join(str(counts[name]) for name in (*COLUMNS, *OTHERS))
        _say(f"| {kind} | {n} | {numbers} | {time.monotonic() - start:.0f} |")
        for name, what, content in fuzz.findings[:5]:
            _say(f"  {name}: {what}: {content[:4000]!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
