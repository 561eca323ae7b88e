"""Every failure ends with one line and a nonzero exit status, and no input is overwritten."""

import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from protocol.auditing import audit
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare
from protocol.evaluation import evaluate

ESCAPE = "\x1b[31m"
REPORTED = ImportError("initialization failed")
REPORTED.__cause__ = KeyboardInterrupt()


@pytest.fixture
def here(here):
    """A folder with codes, labels and lists."""
    rng = np.random.default_rng(0)
    for name, size in (("q", 4), ("d", 20)):
        np.save(f"{name}.npy", rng.random((size, 8)) > 0.5)
        np.save(f"{name}_labels.npy", np.arange(size) % 2)
        (here / f"{name}.txt").write_text("".join(f"{name}{item}\n" for item in range(size)))
    np.savez("d.npz", codes=np.load("d.npy"))
    return here


PROGRAM = f"{sys.executable} -m protocol"
CODES = ["--query-codes", "q.npy", "--database-codes", "d.npy"]
EVALUATE = ["evaluate", *CODES, "--query-labels", "q_labels.npy", "--database-labels", "d_labels.npy"]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "protocol: interrupted."),
        (REPORTED, 130, "protocol: interrupted."),
        (MemoryError("8 TiB"), 2, "protocol: not enough memory for this input (8 TiB)."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, ""), 2, "protocol: the input is not text in UTF-8 ("),
        (UnicodeEncodeError("ascii", "\xe4", 0, 1, ""), 2, "protocol: output: the encoding ascii has no character"),
        (ProtocolError(f"a\n{ESCAPE}b"), 2, "protocol: a\\n\\x1b[31mb"),
        (ZeroDivisionError(f"by\n{ESCAPE}zero"), 2, "protocol: unexpected ZeroDivisionError: by\\n\\x1b[31mzero."),
    ],
    ids=["interrupted", "reported by a library", "memory", "decoding", "encoding", "refused", "unexpected"],
)
def test_every_error_is_one_line(capsys, monkeypatch, error, status, line):
    def fail(arguments):
        raise error from error.__cause__

    monkeypatch.setattr("protocol.cli.list.run", fail)
    assert main(["list"]) == status
    err = capsys.readouterr().err
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert main(["--debug", "list"]) == status
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith(err)


# A shell's background jobs ignore the signal, and so would their children. The process says when it counts, and does
# not stop counting. A progress line after ten seconds of a busy machine would be a second line.
INTERRUPTED = """
import itertools, signal
from unittest.mock import patch
from protocol import counting, progress
from protocol.cli import main

def repeated(*arguments, counting=counting.count_in_shards, **options):
    print("reached", flush=True)
    for _ in itertools.repeat(None):
        counting(*arguments, **options)

signal.signal(signal.SIGINT, signal.default_int_handler)
progress._FIRST = 10**6
with patch.object(counting, "count_in_shards", repeated):
    raise SystemExit(main())
"""


def test_an_interruption_ends_with_one_line_and_status_130(here):
    command = [sys.executable, "-c", INTERRUPTED, *EVALUATE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        reached = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert reached == "reached\n"
    assert (process.returncode, err) == (130, "protocol: interrupted.\n")


def without_progress(err):
    """Return what another process printed, without the lines of a busy machine."""
    return re.sub(r"protocol \w+: \d+ s.*\n", "", err)


@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-", "2>&-"])
def test_closed_output(redirection):
    done = subprocess.run(f"{PROGRAM} list splits {redirection}", shell=True, capture_output=True, text=True)
    message = "protocol: standard output is closed.\n"
    assert done.returncode == (2 if ">&-" in redirection.split() else 0)
    assert without_progress(done.stderr) == (message if redirection == ">&-" else "")


def test_a_closed_reader_ends_the_command_with_the_usual_status():
    command = f"{PROGRAM} list splits".split()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.wait() == 141
        assert without_progress(process.stderr.read()) == ""


@pytest.mark.parametrize(
    ("arguments", "option", "file"),
    [
        ([*EVALUATE, "--per-query", "link"], "--per-query", "link"),
        ([*EVALUATE, "--json", "hard"], "--json", "hard"),
        (["evaluate", *CODES[:3], "d.npz:codes", "--json", "./d.npz"], "--json", "d.npz"),
        ([*EVALUATE, "--trec", "trec"], "--trec qrels", "trec/qrels"),
    ],
)
def test_an_output_that_is_an_input_is_refused(here, capsys, arguments, option, file):
    (here / "link").symlink_to("q.npy")
    os.link("d_labels.npy", "hard")
    (here / "trec").mkdir()
    (here / "trec" / "qrels").symlink_to(here / "d.npy")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert main(arguments) == 2
    expected = f"protocol: {option}: {file} is also an input and would be overwritten. Choose another file.\n"
    assert capsys.readouterr().err == expected
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_control_characters_in_names_are_escaped_in_every_printed_result(here):
    """A terminal also shows what Python prints, without the command line."""
    names = {name: f"{name}{ESCAPE}" for name in ("name", "dataset", "split", "ground_truth")}
    labels = {"query_labels": [0, 1, 0, 1], "database_labels": [0, 1] * 10}
    sides = np.load("q.npy"), np.load("d.npy")
    one, other = (evaluate(*sides, **labels).named(**names) for _ in range(2))
    audited = audit(query=["a", "b"], database=["b", f"c{ESCAPE}"])
    compared = compare(one, other)
    for shown in (one, compared, audited):
        assert "\x1b" not in repr(shown)
    assert "dataset\\x1b[31m" in repr(compared)


def test_a_file_name_that_is_not_utf_8_is_escaped(here, capsys):
    name = os.fsdecode(b"q\xff.txt")
    shutil.copy("q.txt", name)
    assert main(["audit", "--query", name, "--database", "d.txt"]) == 0
    assert "q\\udcff.txt" in capsys.readouterr().out
