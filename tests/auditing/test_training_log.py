"""Training logs: the best of several test evaluations is distinguished from the last one.

`logs.yaml` has logs with their verdicts, and `inputs.yaml` those that can't be read.
"""

from pathlib import Path

import pytest
import yaml
from audited import audit

from protocol.checks import ProtocolError
from protocol.cli import main

LOGS = yaml.safe_load(Path(__file__).with_name("logs.yaml").read_text(encoding="utf-8"))
TABLE = LOGS[0]["text"]


def judged(file, reported=None, pattern=None):
    (findings,) = audit(training_log=str(file), reported=reported, pattern=pattern).findings.values()
    assert {one.name for one in findings} <= {"selection-on-test"}
    return [(one.severity, one.consequence) for one in findings]


@pytest.mark.parametrize("case", LOGS, ids=lambda case: case["file"])
def test_a_log_has_its_verdicts(tmp_path, case):
    path = tmp_path / case["file"]
    path.write_text(case["text"])
    for reported, expected in case["verdicts"].items():
        verdicts = judged(path, None if reported == "-" else reported, case.get("pattern"))
        assert [severity for severity, _ in verdicts] == expected, reported
    assert case.get("consequence", "") in verdicts[-1][1] if verdicts else "consequence" not in case


PATTERN = r"\[code_length:(?P<bits>\d+)\].*\[best_mAP:(?P<value>[\d.]+)\]"
BEST = {"cifar10_ortho": ("0.94556", "0.95022", "0.95664"), "imagenet_psldh": ("0.79415", "0.81627", "0.80976")}


@pytest.mark.parametrize("name", BEST)
def test_published_logs_report_the_best_of_fifty_at_each_code_length(shared, name):
    file = shared / "data" / "training_logs" / f"{name}.log"
    values = [f"At {bits} bits, the reported value {best}" for bits, best in zip((16, 32, 64), BEST[name], strict=True)]
    expected = [("error", f"{value} is the best of 50 seen on the test set") for value in values]
    assert [(severity, text.partition(":")[0]) for severity, text in judged(file, pattern=PATTERN)] == expected


@pytest.mark.parametrize("reported", ["abc", "", "nan", [0.5], "1e999999999"])
def test_a_reported_score_that_is_not_a_number_is_refused(tmp_path, reported):
    with pytest.raises(ProtocolError, match=r"^reported: expected a finite number such as 0\.797, got "):
        audit(training_log=tmp_path / "log.csv", reported=reported)


def test_logs_are_audited_with_a_split_and_without(tmp_path):
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for file in files:
        Path(file).write_text(TABLE)
    alone = audit(training_log=files, reported=0.797)
    assert (list(alone.findings), alone.n_errors) == (files, 2)
    assert '"count": 1,' in alone.to_json()
    split = {"query": [0, 1], "database": [1, 2]}
    audited = audit(**split, training_log=[Path(file) for file in files], reported=0.797)
    assert (list(audited.findings), audited.n_errors) == (["query database", *files], 3)
    assert "selection-on-test (needs a training log)" not in audited.to_text(why=True)
    assert "selection-on-test (needs a training log)" in audit(**split).to_text(why=True)
    for option in ("reported", "pattern"):
        with pytest.raises(ProtocolError, match=rf"^{option} needs training_log as well\.$"):
            audit(**split, **{option: "0.5"})


def test_the_command_fails_if_the_best_is_reported(here, capsys):
    Path("train.csv").write_text(TABLE)
    Path("train.log").write_text("mAP 0.7\nmAP 0.8\nmAP 0.6\n")
    arguments = ["audit", "--training-log", "train.csv"]
    assert main([*arguments, "--reported", "0.797"]) == 1
    assert capsys.readouterr().out == f"{audit(training_log='train.csv', reported='0.797')!r}\n"
    assert main(["audit", "--training-log", "train.log", "--pattern", "mAP (?P<value>.*)", "--reported", "0.8"]) == 1
