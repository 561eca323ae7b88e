"""Progress where standard error is no terminal: a line after ten seconds, and then every 30."""

import io
import re
import subprocess
import sys
import threading

from protocol.cli import _progress, main


def test_no_30_seconds_pass_without_a_line(capsys, monkeypatch):
    """With a clock that only waiting moves; the command ends after 100 seconds."""
    monkeypatch.setattr(_progress, "_FIRST", 10)
    now = 0.0

    def wait(seconds):
        nonlocal now
        now += seconds
        return now > 100

    with _progress.stages() as report:
        report(3, 5000, "searching")
        report(1200, 5000, "counting")
        _progress.print_lines("protocol evaluate", wait, lambda: now)
    lines = capsys.readouterr().err.splitlines()
    assert [int(re.match(r"protocol evaluate: (\d+) s", line)[1]) for line in lines] == [10, 40, 70, 100]
    assert lines[-1] == "protocol evaluate: 100 s, counting: 1,200 of 5,000"


class Stream(io.StringIO):
    """Standard error that says when a line was written."""

    def __init__(self, terminal=False):
        super().__init__()
        self.terminal, self.written = terminal, threading.Event()

    def isatty(self):
        return self.terminal

    def flush(self):
        self.written.set()


def test_a_slow_command_prints_lines(monkeypatch):
    stream = Stream()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_progress, "_FIRST", 0)
    with _progress.lines("protocol audit"):
        stream.written.wait()
    assert re.fullmatch(r"protocol audit: \d+ s\n", stream.getvalue())


def test_a_command_with_a_terminal_starts_no_thread_for_lines(monkeypatch):
    monkeypatch.setattr("sys.stderr", Stream(terminal=True))
    monkeypatch.setattr(_progress.threading, "Thread", None)
    with _progress.lines("protocol audit"):
        pass


def test_every_command_reports(monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(_progress.threading.Thread, "start", lambda self: commands.append(self._args[0]))
    monkeypatch.setattr(_progress.threading.Thread, "join", lambda self: None)
    assert main(["snakefile"]) == main(["list", "splits"]) == 0
    assert commands == ["protocol snakefile", "protocol list"]


JOB = """
import os, sys, types
sys.path.append("workflow/scripts")
from protocol.cli import _progress
from job import run
_progress._FIRST, _progress._EVERY = 0, 10**6
out, err = os.pipe()
shown = os.dup(2)
os.dup2(err, 2)
values = types.SimpleNamespace(rule="model", log=sys.argv[1], wildcards={"hasher": "itq", "run": 3})
values.params, values.input, values.output = {}, [], []
run(lambda job: os.write(shown, os.read(out, 100)), values)  # the job ends when a line was printed
"""


def test_a_job_of_the_pipeline_reports_as_well(root, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", JOB, tmp_path / "log"], cwd=root, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"rule model itq 3: \d+ s\n", done.stderr)
