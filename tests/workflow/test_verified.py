"""Files that are altered between two stages: the next stage refuses them, and they can be deleted and remade."""

import itertools
import re
from pathlib import Path

import pytest
from kills import TABLES

from protocol.checks import ProtocolError
from protocol.provenance.checksums import verified, verify_sealed

pytestmark = pytest.mark.ci
RESULTS = "results/small"
SCORES = "gist/scores/itq.csv"
CODES = "gist/thesis/run0/itq/codes.h5"


def another_value(content):
    """Return a table with another last digit in its last row."""
    line, _, end = content.rstrip(b"\n").rpartition(b"\n")
    return line + b"\n" + end[:-1] + (b"1" if end[-1:] != b"1" else b"2") + b"\n"


def half(content):
    return content[: len(content) // 2]


def header(content):
    return content.splitlines(keepends=True)[0]


def zeroed_end(content):
    return half(content) + b"\0" * (len(content) - len(half(content)))


# What was altered, how, and the stage that is to be run. Last stages first: an altered file is newer than what was made
# from it, and Snakemake makes all of that again.
ALTERED = [
    ("metrics.csv", another_value, "report"),
    ("audit.csv", header, "report"),
    ("claims.json", lambda _: b"[]\n", "report"),
    ("claims.json", lambda _: b"{", "report"),
    ("gist/display/improved/radii.csv", half, "report"),
    ("summary.csv", another_value, "claims"),
    ("summary.csv", half, "report"),
    (SCORES, another_value, "metrics"),
    (SCORES, half, "metrics"),
    (CODES, zeroed_end, "counts"),
]


def test_an_altered_file_is_refused_in_one_line_and_remade_after_it_is_deleted(small, ran):
    results = ran.folder / RESULTS
    for name, alter, target in ALTERED:
        content = (results / name).read_bytes()
        (results / name).write_bytes(alter(content))
        done = ran.run(target)
        printed = (done.stdout + done.stderr).splitlines()
        assert done.returncode != 0, name
        (line,) = (line for line in printed if line.startswith("error: "))
        assert line.startswith(f"error: {RESULTS}/{name}: altered since it was written (expected sha256 "), line
        assert line.endswith(f" snakemake --force {RESULTS}/{name}, with the --configfile of its experiment.")
        assert not any("Traceback" in line for line in printed)
        (results / name).write_bytes(content)
    (results / SCORES).unlink()
    (results / CODES).unlink()
    done = ran.run()
    assert done.returncode == 0, done.stdout + done.stderr
    for name in (*TABLES, SCORES, CODES, "claims.json"):
        assert (results / name).read_bytes() == (small.folder / RESULTS / name).read_bytes(), name


# A file of each rule, except the report, which contains times.
WRITTEN = [
    "results/datasets/digits/content.h5",
    f"{RESULTS}/draws/thesis/run1.h5",
    f"{RESULTS}/splits/standard/run0/splits.h5",
    f"{RESULTS}/gist/thesis/run1/ground_truth.h5",
    f"{RESULTS}/{CODES}",
    f"{RESULTS}/gist/thesis/run1/lsh/counts.h5",
    f"{RESULTS}/{SCORES}",
    f"{RESULTS}/gist/display/standard/radii.csv",
    f"{RESULTS}/runs.csv",
    f"{RESULTS}/claims.json",
]


def test_the_command_of_the_message_writes_every_deleted_file_again(small, ran, monkeypatch):
    monkeypatch.chdir(ran.folder)
    commands = []
    for name in WRITTEN:
        Path(name).unlink()
        with pytest.raises(ProtocolError) as error:
            verify_sealed(name) if name.endswith(".h5") else verified(name)
        commands.append(re.search("snakemake (--force) (.*), with the --configfile", str(error.value)).groups())
    done = ran.run(*dict.fromkeys(itertools.chain(*commands)))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in WRITTEN:
        assert Path(name).read_bytes() == (small.folder / name).read_bytes(), name


def test_deleted_tables_are_written_by_the_next_run(small, ran):
    for name in TABLES:
        (ran.folder / RESULTS / name).unlink()
        (ran.folder / RESULTS / f"{name}.sha256").unlink()
    done = ran.run()
    assert done.returncode == 0, done.stdout + done.stderr
    for name in TABLES:
        assert (ran.folder / RESULTS / name).read_bytes() == (small.folder / RESULTS / name).read_bytes(), name
