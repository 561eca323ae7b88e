"""`protocol claims`."""

import json

import pytest

from protocol import papers
from protocol.cli import main

pytestmark = pytest.mark.usefixtures("proved_once")


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def test_all(capsys, empty):
    assert main(["claims", "--results", str(empty)]) == 0
    out = capsys.readouterr().out
    for claim in papers.all_claims():
        assert f"  {claim.id} " in out
    assert f"{len(papers.all_claims())} claims: " in out


def test_some_in_full(capsys, empty):
    assert main(["claims", "S4-03", "S0-06", "--results", str(empty)]) == 0
    out = capsys.readouterr().out
    assert out.index("S0-06") < out.index("S4-03")
    assert out.count("expected") >= 2
    assert "0.666667" in out


def test_json_has_the_fields_and_only_those(capsys, empty, tmp_path):
    path = tmp_path / "claims.json"
    assert main(["claims", "--results", str(empty), "--json", str(path)]) == 0
    entries = json.loads(path.read_text())
    assert len(entries) == len(papers.all_claims())
    names = ["id", "paper", "place", "claim", "expected", "ours", "status", "parts", "note"]
    assert all(list(entry) == names for entry in entries)
    assert {entry["status"] for entry in entries} <= set(papers.STATUSES)


def test_claims_of_one_status(capsys, empty, tmp_path):
    path = tmp_path / "c.json"
    assert main(["claims", "--status", "refuted", "--results", str(empty), "--json", str(path)]) == 0
    assert {entry["status"] for entry in json.loads(path.read_text())} == {"refuted"}
    assert "not run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["S4-3"], "got 'S4-3'. Did you mean '"),
        (["--status", "refute"], "got 'refute'. Did you mean 'refuted'?"),
        (["--results", "no/such/folder"], "no/such/folder: no such folder of results"),
    ],
)
def test_invalid_arguments_are_refused_in_one_line(capsys, empty, arguments, words):
    assert main(["claims", "--results", str(empty), *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--help", ("examples:", "--json")),
        ("--help-all", (*papers.STATUSES, "examples:", "--json", "summary.csv")),
    ],
)
def test_help_shows_examples_and_the_complete_help_the_statuses(capsys, option, words):
    with pytest.raises(SystemExit):
        main(["claims", option])
    out = capsys.readouterr().out
    for word in words:
        assert word in out


def test_markdown_has_the_totals_and_the_claims_that_do_not_hold(capsys, empty):
    assert main(["claims", "--markdown", "--results", str(empty)]) == 0
    totals, listed = capsys.readouterr().out.split("\n\n")
    assert totals.startswith("| paper | proved | refuted |")
    assert listed.startswith("| id | status | parts |")
    assert "| `S4-03` | refuted |" in listed
