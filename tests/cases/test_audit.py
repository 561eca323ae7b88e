"""Small inputs on which an audit or a verification once printed the wrong thing."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from encoded import yaml_of

import protocol as hp
from protocol.cli import main


def ran(script, folder):
    """Return the standard output of a script, whose temporary files are in a folder."""
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.run([sys.executable, script], check=True, capture_output=True, text=True, env=environment).stdout


def findings(*splits, **options):
    """Return the kinds, severities and counts of all findings, and what is said about the split."""
    audited = hp.audit(*splits, **options)
    made = [(one.name, one.severity, one.count) for of_file in audited.findings.values() for one in of_file]
    by_file = [*audited.about.values(), *audited.not_checked.values()]
    return made, " ".join(line for lines in by_file for line in lines)


@pytest.mark.case("13-split-is-named-wrongly")
@pytest.mark.parametrize(("name", "text"), yaml_of("cases/values.yaml")["named_splits"])
def test_the_nearest_protocol_has_the_classes_of_the_split(case, name, text):
    ran("make.py", case)
    lists = {part: f"{name}_{part}.txt" for part in ("query", "database", "train")}
    assert text in findings(**lists)[1]


@pytest.mark.case("21-other-folder")
def test_one_file_under_two_folders_is_found(case, capsys):
    assert findings(query="query.txt", database="database.txt")[0] == [("equal-file-names", "undetermined", 10)]
    assert main(["audit", "--query", "query.txt", "--database", "database.txt", "--fail-on", "warning"]) == 1
    assert main(["audit", "--query", "query.txt", "--database", "database.txt"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "VOCdevkit/JPEGImages/im00003.jpg ~ images/im00003.jpg" in out
    assert "These file names occur in the lists of query and database under different folders." in out
    assert "clean" not in out


@pytest.mark.case("25-verify")
def test_sorted_keys_verify_and_a_file_that_is_gone_does_not(case, monkeypatch):
    both, holds = ran("sorted_keys.py", case).splitlines()
    monkeypatch.chdir(next(case.glob("*/r.json")).parent)
    assert both == " | ".join(f"{name}.json: verified: 2 values recomputed; 1 line below not checked." for name in "rs")
    assert holds == "False"
    assert hp.verify("r.json").verdict == "r.json: 2 values as recorded; not verified: per_query: pq.csv is missing."
    assert main(["verify", "r.json"]) == 1
    Path("gone.csv").rename("pq.csv")
    Path("r.json").write_text(json.dumps(json.loads(Path("s.json").read_text())), encoding="utf-8-sig")
    assert hp.verify("r.json").holds


@pytest.mark.case("26-folds-without-labels")
def test_folds_are_found_without_labels(case, capsys):
    folds = runpy.run_path("folds.py")["folds"]
    names = np.char.add("image", np.arange(600).astype(str))
    by_name = [{part: names[rows] for part, rows in fold.items()} for fold in folds]
    for splits, options in ((folds, {}), (by_name, {}), (folds, {"labels": np.arange(600) % 10})):
        made, _ = findings(*splits, protocol="standard", **options)
        assert ("runs-not-independent", "error", 6) in made, options
    made, text = findings(*folds, protocol="improved")  # validation items may be missing, so the dataset is not known
    assert "runs-not-independent" not in [name for name, *_ in made]
    assert "runs-not-independent, for runs that are not identical (needs ids or labels of the whole dataset)" in text


@pytest.mark.parametrize("depth", [1, 20])
def test_the_message_about_a_long_path_is_short(depth, capsys):
    """Case 28: a path of 5,000 characters, as one name and as many."""
    path = "/".join(["a" * (5_000 // depth)] * depth)
    for command in (["audit", "--query", path, "--database", path], ["audit", path], ["verify", path]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert len(error) < 300, command
        assert error.count("\n") == 1
