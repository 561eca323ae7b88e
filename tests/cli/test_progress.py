"""Progress: a line after ten seconds and then every 30."""

from protocol import progress


def test_lines_of_progress(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(progress, "_FIRST", 10)

    def wait(seconds):
        nonlocal now
        now += seconds
        return now > 70

    progress.report(1200, 5000, "counting")
    progress.print_lines("protocol evaluate", wait, lambda: now)
    lines = (f"protocol evaluate: {time} s, counting: 1,200 of 5,000" for time in (10, 40, 70))
    assert capsys.readouterr().err.splitlines() == [*lines]
