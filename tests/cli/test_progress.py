"""Progress: a line after ten seconds and then every 30; on a terminal, one line that is updated every second."""

import io

import pytest

from protocol.cli import _progress


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_of_progress(monkeypatch, terminal):
    now, stream = 0.0, io.StringIO()
    monkeypatch.setattr(_progress, "_FIRST", {True: 2, False: 10})
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)

    def wait(seconds):
        nonlocal now
        now += seconds
        return now > (3 if terminal else 70)

    with _progress.stages() as report:
        report(1200, 5000, "counting")
        _progress.print_lines("protocol evaluate", wait, lambda: now)
    times, (start, end) = ((2, 3), ("\r", "\x1b[K")) if terminal else ((10, 40, 70), ("", "\n"))
    lines = [f"{start}protocol evaluate: {time} s, counting: 1,200 of 5,000{end}" for time in times]
    assert stream.getvalue() == "".join(lines) + ("\r\x1b[K" if terminal else "")
