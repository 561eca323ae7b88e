"""Training logs: the best of several test evaluations is distinguished from the last one, in every format.

`logs.yaml` has logs with their scores and verdicts, and `inputs.yaml` those that can't be read.
"""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing.checks.training_log import Reported
from protocol.auditing.inputs.log_formats import read_log, role_of
from protocol.checks import ProtocolError
from protocol.cli import main

LOGS = yaml.safe_load(Path(__file__).with_name("logs.yaml").read_text(encoding="utf-8"))
STEPS, SCORES = [15, 30, 45], [0.701, 0.797, 0.782]
TABLE = LOGS[0]["text"]


def table(*rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def judged(file, reported=None):
    (findings,) = audit(training_log=str(file), reported=reported).findings.values()
    assert {one.name for one in findings} <= {"selection-on-test"}
    return [(one.severity, one.consequence) for one in findings]


def severities(file, reported=None):
    return [severity for severity, _ in judged(file, reported)]


def written(folder, text, name="log.csv"):
    file = folder / name
    file.write_text(text)
    return file


def one_line(audited):
    """Return the text without its line breaks."""
    return " ".join(str(audited).split())


@pytest.mark.parametrize("case", LOGS, ids=lambda case: f"{case['file']} {case.get('consequence', '')[:40]}")
def test_a_log_has_its_scores_and_verdicts(tmp_path, case):
    path = written(tmp_path, case["text"], case["file"])
    series = read_log(path, case.get("column")).series
    scores = {one.name: [one.role, one.steps.tolist(), one.values.tolist()] for one in series}
    if "series" in case:
        assert scores == case["series"]
    file = f"{path}:{case['column']}" if "column" in case else path
    if "verdicts" not in case:  # three evaluations of one test score
        assert next(iter(scores.values())) == ["test", STEPS, SCORES]
        assert [role for role, *_ in scores.values()] in (["test"], ["test", "best"])
        ((severity, consequence),) = judged(file, 0.797)
        assert severity == "error"
        assert "is evaluated on the test set 3 times in this log: the best is 0.797 (" in consequence
        assert " 30), the last 0.782 (" in consequence
        assert "45), a difference of 0.015; the reported 0.797 is the best, so the " in consequence
        assert consequence.endswith(" was chosen on the test set.")
        assert severities(file, 0.782) == []
        assert severities(file) == severities(file, 0.75) == severities(file, 0.701) == ["warning"]
    for reported, expected in case.get("verdicts", {}).items():
        verdicts = judged(file, None if reported == "-" else reported)
        assert [severity for severity, _ in verdicts] == expected, reported
    if "consequence" in case:
        assert case["consequence"] in verdicts[-1][1]


def test_a_compressed_log_has_the_same_findings(tmp_path):
    file = tmp_path / "table.csv.gz"
    file.write_bytes(gzip.compress(TABLE.encode()))
    assert severities(file, 0.797) == ["error"]


def test_what_was_not_checked_is_mentioned(tmp_path):
    file = written(tmp_path, "epoch,map\n1,0.7\n")
    line = "1 check needs more data: the origin of the reported 0.8, which is not in this log"
    assert line in " ".join(audit(training_log=str(file), reported=0.8).to_text(why=True).split())
    assert "more data" not in str(audit(training_log=str(file), reported=0.7))
    audited = audit(training_log=str(written(tmp_path, "epoch,val_map\n1,0.5\n2,0.4\n")))
    assert audited.n_errors + audited.n_warnings == 0
    assert "selection-on-test (needs a column of test scores: FILE:COLUMN)" in audited.to_text(why=True)
    assert "Assumed to be validation scores, by their names: val_map" in str(audited)
    file = written(tmp_path, "epoch,map\n1,0.5\n2,NaN\n3,inf\n4,0.4\n5,nan\n")
    omitted = "map, 2 evaluations (epoch 1 to 4), 3 without a finite score omitted"
    assert omitted in str(audit(training_log=str(file)))
    both = audit(training_log=str(written(tmp_path, "epoch,map,val_map\n1,nan,0.5\n")))
    assert "selection-on-test" in both.to_text(why=True)


@pytest.mark.parametrize(
    ("reported", "score", "other", "expected"),
    [
        ("0.797", 0.797, 0.782, True),
        ("0.797", 0.7974, 0.7812, True),
        ("0.797", 0.7976, 0.7812, False),
        ("0.7971", 0.797, 0.782, True),
        ("0.80", 0.797, 0.782, True),
        ("0.800", 0.797, 0.782, False),
        ("79.7", 0.797, 0.782, True),
        ("79.7", 0.79684, 0.1, True),
        ("79.7", 0.782, 0.797, False),
        ("0.797", 79.7, 78.2, True),
        (np.float64(0.5), 0.5, 0.5, True),
        (1, 1.0, 1.0, True),
        ("8e-1", 0.8, 0.8, True),
    ],
)
def test_scores_are_compared_to_as_many_decimals_as_both_have(reported, score, other, expected):
    assert Reported(reported).matches(score, np.array([score, other])) is expected


@pytest.mark.parametrize("reported", ["abc", "", "nan", float("inf"), True, [0.5], None, "1e999999999"])
def test_a_reported_score_that_is_not_a_number_is_refused(reported):
    with pytest.raises(ProtocolError, match=r"^reported: expected a .*number.*, got "):
        Reported(reported)


ROLES = {
    "test": "map mAP MAP mAP@5000 test/mAP testmap test_map eval_map Precision P@100",
    "validation": "val_map valid_mAP validation/recall@1 dev_score valmap val_acc",
    "best": "best_map Best-MAP max_test_map",
    None: "r1-test_mAP__MIN test_map__MAX testloss train_map loss test_loss val_loss lr epoch timestamp best_val_map -",
}


@pytest.mark.parametrize(("name", "role"), [(name, role) for role, names in ROLES.items() for name in names.split()])
def test_columns_are_recognised_by_their_names(name, role):
    assert role_of(name) == role


def runs_of(steps):
    """Return the runs of evaluations, by looking back from each of them."""
    runs = []
    for step in steps:
        if not runs or (step in runs[-1] and step != runs[-1][-1]):
            runs.append([])
        runs[-1].append(step)
    return runs


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_a_new_run_starts_when_a_step_recurs(tmp_path_factory, steps):
    file = written(tmp_path_factory.mktemp("log"), table(("step", "map"), *((step, 0.5) for step in steps)))
    assert [one.steps.tolist() for one in read_log(file).series] == list(map(sorted, runs_of(steps)))


@settings(max_examples=100, deadline=None)
@given(scores=st.lists(st.integers(0, 99), min_size=1, max_size=8), chosen=st.integers(0, 7))
def test_the_verdict_matches_a_plain_comparison(tmp_path_factory, scores, chosen):
    file = written(tmp_path_factory.mktemp("log"), table(("epoch", "map"), *enumerate(n / 100 for n in scores)))
    reported = scores[chosen % len(scores)]
    chose = len(scores) > 1 and reported != scores[-1]
    expected = ["error" if reported == max(scores) else "warning"] if chose else []
    assert severities(file, f"{reported / 100:.2f}") == expected


INCOMPATIBLE = {
    "reported": ({"reported": 0.5}, "reported needs training_log as well."),
    "number": ({"training_log": 5}, "training_log: expected a file, or a list of files, got int."),
    "column": ({"training_log": "a.csv:mAP"}, "a.csv: no column 'mAP'. Its columns: epoch, loss, test_map."),
    "printed": ({"training_log": "a.log:MAP"}, "a.log: printed text has no column 'MAP'."),
    "labels": ({"training_log": "a.csv", "labels": [0]}, "audit: nothing to audit"),
} | {
    column: (
        {"training_log": f"b.csv:{column}"},
        f"b.csv: the column '{column}' is not a test score for which higher is better.",
    )
    for column in ("loss", "test_loss", "error", "val-loss", "train_map")
}


@pytest.mark.parametrize("case", INCOMPATIBLE)
def test_incompatible_arguments_are_refused(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    arguments, message = INCOMPATIBLE[case]
    written(tmp_path, TABLE, "a.csv")
    written(tmp_path, "epoch 1 MAP: 0.5\n", "a.log")
    written(tmp_path, "epoch,loss,test_loss,error,val-loss,train_map,map\n1,0.5,0.5,0.5,0.5,0.5,0.5\n", "b.csv")
    with pytest.raises(ProtocolError, match=f"^{message}"):
        audit(**arguments)


def test_logs_are_audited_with_a_split_and_without(tmp_path):
    files = [str(written(tmp_path, TABLE, name)) for name in ("a.csv", "b.csv")]
    alone = audit(training_log=files, reported=0.797)
    assert (list(alone.findings), alone.n_errors) == (files, 2)
    split = {"query": [0, 1], "database": [1, 2]}
    audited = audit(**split, training_log=[Path(file) for file in files], reported=0.797)
    assert (list(audited.findings), audited.n_errors) == (["query database", *files], 3)
    assert "selection-on-test (needs a training log)" not in audited.to_text(why=True)
    assert "selection-on-test (needs a training log)" in audit(**split).to_text(why=True)


def test_the_command_fails_if_the_best_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, TABLE, "train.csv")
    arguments = ["audit", "--training-log", "train.csv"]
    assert main([*arguments, "--reported", "0.797"]) == 1
    assert capsys.readouterr().out == f"{audit(training_log='train.csv', reported='0.797')!r}\n"
    assert main([*arguments, "--training-log", "train.csv", "--reported", "0.782"]) == 0
    assert main([*arguments, "--fail-on", "warning"]) == 1
    capsys.readouterr()
    assert main([*arguments, "--json", "train.csv"]) == 2
    assert "--json: train.csv is also an input and would be overwritten." in capsys.readouterr().err
    assert main([*arguments, "--reported", "high"]) == 2
    assert capsys.readouterr().err == "protocol: --reported: expected a number such as 0.797, got 'high'.\n"
    assert file.read_text() == TABLE


def test_a_long_log_is_read_in_seconds(tmp_path):
    rows = 50_000
    values = np.random.default_rng(0).random(rows).round(4)
    file = written(tmp_path, table(("step", "map"), *enumerate(values)))
    start = time.process_time()
    assert severities(file, f"{values.max():.4f}") == ["error"]
    assert time.process_time() - start < 10
