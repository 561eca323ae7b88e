"""Progress: a line after ten seconds and then every 30; on a terminal, one line that is updated every second."""

import io
import re
import subprocess
import sys

import pytest

from protocol.cli import _progress, main


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_by_a_clock_that_only_waiting_moves(monkeypatch, terminal):
    now, stream = 0.0, io.StringIO()
    monkeypatch.setattr(_progress, "_FIRST", {True: 2, False: 10})
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)

    def wait(seconds):
        nonlocal now
        now += seconds
        return now > (4 if terminal else 100)

    with _progress.stages() as report:
        report(3, 5000, "searching")
        report(1200, 5000, "counting")
        _progress.print_lines("protocol evaluate", wait, lambda: now)
    times, (start, end) = ((2, 3, 4), ("\r", "\x1b[K")) if terminal else ((10, 40, 70, 100), ("", "\n"))
    lines = [f"{start}protocol evaluate: {time} s, counting: 1,200 of 5,000{end}" for time in times]
    assert stream.getvalue() == "".join(lines) + ("\r\x1b[K" if terminal else "")


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
_progress._FIRST, _progress._EVERY = {False: 0}, {False: 10**6}
out, err = os.pipe()
shown = os.dup(2)
os.dup2(err, 2)
values = types.SimpleNamespace(rule="model", log=sys.argv[1], wildcards={"hasher": "itq", "run": 3})
values.params, values.input, values.output, values.config = {}, [], [], {"experiment": "small"}
run(lambda job: os.write(shown, os.read(out, 100)), values)  # the job ends when a line was printed
"""


def test_a_job_of_the_pipeline_reports_as_well(root, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", JOB, tmp_path / "log"], cwd=root, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"rule model itq 3: \d+ s\n", done.stderr)
