"""Printed text follows the width of the terminal, and has colours only on a terminal."""

import io

import pytest
from encoded import yaml_of

from protocol.cli import main
from protocol.scores.tables import filled
from protocol.terminal import coloured, width


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("columns", "expected"), [("60", 80), ("80", 80), ("120", 120), ("200", 140), ("", 100)])
def test_the_width_is_that_of_the_terminal_from_80_to_140(columns, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == expected
    assert max(map(len, filled("a " * 200).split("\n"))) == expected - 1


@pytest.mark.parametrize(("text", "shown"), yaml_of("cli/colours.yaml"))
def test_a_terminal_shows_colours(text, shown, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured(text, Terminal()) == shown
    assert coloured(text, io.StringIO()) == text
    monkeypatch.setenv("TERM", "dumb")
    assert coloured(text, Terminal()) == text
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured(text, Terminal()) == text


@pytest.mark.parametrize("columns", [80, 140])
def test_lists_fit_the_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["list", "metrics"]) == 0
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= columns
