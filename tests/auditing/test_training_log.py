"""Training logs: the best of several test evaluations is distinguished from the last one, in every format."""

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing.checks.training_log import Reported
from protocol.auditing.inputs.log_formats import read_log, role_of
from protocol.checks import ProtocolError
from protocol.cli import main

STEPS, SCORES = [15, 30, 45], [0.701, 0.797, 0.782]
METHOD = "[HashNet] epoch:{}, bit:48, dataset:cifar10-1, MAP:{:.3f}, Best MAP: {:.3f}"
NEWER = "[HashNet] epoch:{} bit:48 dataset:cifar10-1 MAP:{} Best MAP: {}"
NOISE = """{'alpha': 0.1, 'info': '[HashNet]', 'dataset': 'cifar10-1', 'epoch': 150, 'test_map': 15, 'bit_list': [48]}
[HashNet][ 1/150][12:00:00] bit:48, dataset:cifar10-1, scale:1.000, training....\b\b\b\b\b\b\b loss:0.693
 50%|#####     | 5/10 [00:01<00:01,  4.00it/s]\r100%|##########| 10/10 [00:02<00:00,  4.00it/s]
calculating map.......
"""


def printed(line=METHOD):
    best = np.maximum.accumulate(SCORES)
    return NOISE + "".join(f"{line.format(*row)}\n" for row in zip(STEPS, SCORES, best, strict=True))


def table(*rows, sep=","):
    return "".join(sep.join(map(str, row)) + "\n" for row in rows)


ROWS = list(zip(STEPS, SCORES, strict=True))
RECORDS = [{"epoch": epoch, "loss": 0.5, "test_map": score} for epoch, score in ROWS]
FORMATS = {
    "table.csv": table(("epoch", "loss", "test_map"), *((epoch, 0.5, score) for epoch, score in ROWS)),
    "table.tsv": table(("Epoch", "mAP"), *ROWS, sep="\t"),
    "lightning.csv": "epoch,step,test_map,train_loss\n15,1,,0.3\n15,2,0.701,\n30,3,0.797,\n30,4,,0.1\n45,5,0.782,\n",
    "run-HashNet-tag-test_mAP.csv": table(("Wall time", "Step", "Value"), *((1.6e9, *row) for row in ROWS)),
    "tensorboard.csv": table(("Wall time", "Step", "Value"), *((1.6e9, *row) for row in ROWS)),
    "records.json": json.dumps(RECORDS),
    "pretty.json": json.dumps(RECORDS, indent=2),
    "lists.json": json.dumps({"epoch": STEPS, "mAP@5000": SCORES, "dataset": "cifar10"}),
    "lines.jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS),
    "lines.json": "".join(json.dumps(record) + "\n\n" for record in RECORDS),
    "printed.log": printed(),
    "newer.out": printed(NEWER),
    "bare": "".join(f"Epoch: {epoch} | mAP = {score}\n" for epoch, score in ROWS),
    "loguru.txt": "".join(
        f"2021-05-06 12:00:{i:02}.1 | INFO | run:42 - [iter:{epoch}/150][loss:9.5][map:{score:.4f}]\n"
        for i, (epoch, score) in enumerate(ROWS)
    ),
    "test.txt": "".join(f"Test | Epoch {epoch} | MAP: {score:.3f} | Best MAP: 0.797\n" for epoch, score in ROWS),
}


def judged(file, reported=None):
    audited = audit(training_log=str(file), reported=reported)
    (made,) = audited.findings.values()
    assert {one.name for one in made} <= {"selection-on-test"}
    return [(one.severity, one.consequence) for one in made]


def severities(file, reported=None):
    return [severity for severity, _ in judged(file, reported)]


def written(folder, text, name="log.csv"):
    file = folder / name
    file.write_text(text)
    return file


# Findings


@pytest.mark.parametrize("name", FORMATS)
def test_the_best_of_several_is_distinguished_from_the_last_in_every_format(tmp_path, name):
    file = written(tmp_path, FORMATS[name], name)
    (series,) = [one for one in read_log(file).series if one.role == "test"]
    assert (list(series.steps), list(series.values), series.n_missing) == (STEPS, SCORES, 0)
    ((severity, consequence),) = judged(file, 0.797)
    assert severity == "error"
    assert "is evaluated on the test set 3 times in this log: the best is 0.797 (" in consequence
    assert " 30), the last 0.782 (" in consequence
    assert "45), a difference of 0.015; the reported 0.797 is the best, so the " in consequence
    assert consequence.endswith(" was chosen on the test set.")
    assert severities(file, 0.782) == []
    assert severities(file) == severities(file, 0.75) == severities(file, 0.701) == ["warning"]


def test_a_compressed_log_has_the_same_findings(tmp_path):
    file = tmp_path / "table.csv.gz"
    file.write_bytes(gzip.compress(FORMATS["table.csv"].encode()))
    assert severities(file, 0.797) == ["error"]


def test_a_single_line_with_a_better_best_is_enough(tmp_path):
    file = written(tmp_path, "# [CSQ] epoch:65, bit:64, dataset:cifar10-1, MAP:0.787, Best MAP: 0.790\n", "log.txt")
    ((severity, consequence),) = judged(file, "0.790")
    assert severity == "error"
    assert consequence.startswith(
        "MAP (CSQ, 64 bits, cifar10-1) is evaluated on the test set once in this log: the best is 0.79 (tracked as "
        "Best MAP (CSQ, 64 bits, cifar10-1)), the last 0.787 (epoch 65), a difference of 0.003"
    )
    assert severities(file, "0.787") == []
    assert severities(file) == ["warning"]


def test_the_best_alone_is_a_warning_whatever_is_reported(tmp_path):
    file = written(tmp_path, "epoch,best_map\n1,0.5\n2,0.7\n")
    for reported in (None, 0.7, 0.5):
        ((severity, consequence),) = judged(file, reported)
        assert severity == "warning"
        assert "best_map is the best of several evaluations, 0.7; the log lacks the last one" in consequence


@pytest.mark.parametrize("reported", [None, 0.7, 0.1])
def test_a_single_evaluation_is_not_a_choice(tmp_path, reported):
    file = written(tmp_path, "epoch,val_map,test_map\n1,0.1,\n2,0.2,\n3,0.3,0.7\n")
    assert severities(file, reported) == []


def test_a_reported_score_that_is_missing_in_the_log_is_mentioned(tmp_path):
    file = written(tmp_path, "epoch,map\n1,0.7\n")
    line = "clean; not checked: the origin of the reported 0.8, which is not in this log"
    assert line in " ".join(str(audit(training_log=str(file), reported=0.8)).split())
    assert "Not checked" not in str(audit(training_log=str(file), reported=0.7))


def test_a_validation_set_chooses_within_its_run(tmp_path):
    text = "epoch,val_map,map\n1,0.5,0.8\n2,0.6,0.7\n1,0.9,0.1\n2,0.5,0.2\n"
    assert severities(written(tmp_path, text), 0.8) == ["error"]


def test_if_the_last_is_the_best_nothing_was_chosen(tmp_path):
    file = written(tmp_path, "epoch,map\n1,0.1\n2,0.2\n3,0.3\n")
    assert severities(file) == severities(file, 0.3) == []
    assert severities(file, 0.2) == ["warning"]


def test_choosing_by_a_validation_set_is_fine(tmp_path):
    file = written(tmp_path, "epoch,val_map,test_map\n1,0.5,0.6\n2,0.9,0.8\n3,0.7,0.7\n")
    assert severities(file, 0.8) == severities(file, 0.7) == []
    assert severities(file, 0.6) == ["warning"]
    assert severities(f"{file}:val_map", 0.9) == [
        "error"
    ]  # a column named by the user is assumed to contain test scores
    audited = audit(training_log=str(written(tmp_path, "epoch,val_map\n1,0.5\n2,0.4\n", "val.csv")))
    assert audited.n_errors + audited.n_warnings == 0
    assert "not checked: selection-on-test (needs a column of test scores: FILE:COLUMN)" in " ".join(
        str(audited).split()
    )
    assert "Assumed to be validation scores, by their names: val_map" in str(audited)


def test_several_code_lengths_are_several_scores(tmp_path):
    lines = [f"[X] epoch:{e}, bit:{b}, dataset:c, MAP:{m}" for b, e, m in ((16, 1, 0.6), (16, 2, 0.5))]
    lines += [f"[X] epoch:{e}, bit:{b}, dataset:c, MAP:{m}" for b, e, m in ((32, 1, 0.8), (32, 2, 0.7))]
    file = written(tmp_path, "\n".join(lines), "log.txt")
    assert severities(file) == ["warning", "warning"]
    ((severity, consequence),) = judged(file, 0.8)
    assert severity == "error"
    assert "32 bits" in consequence
    assert severities(file, 0.5) == severities(file, 0.7) == []


def test_the_best_of_one_score_and_the_last_of_another_is_ambiguous(tmp_path):
    file = written(tmp_path, "epoch,test_map,test_precision\n1,0.8,0.3\n2,0.7,0.8\n")
    ((severity, consequence),) = judged(file, 0.8)
    assert severity == "warning"
    assert consequence.endswith("unless it is the last value of another score: name the column.")
    assert severities(f"{file}:test_map", 0.8) == ["error"]
    assert severities(f"{file}:test_precision", 0.8) == []


def test_a_log_that_was_appended_to_has_several_runs(tmp_path):
    file = written(tmp_path, "epoch,map\n1,0.8\n2,0.7\n1,0.5\n2,0.6\n")
    names = [one.name for one in read_log(file).series]
    assert names == ["map", "map, run 2 of the log"]
    assert severities(file, 0.8) == ["error"]
    assert severities(file, 0.6) == severities(file, 0.7) == []


@pytest.mark.parametrize(
    ("reported", "score", "values", "expected"),
    [
        ("0.797", 0.797, SCORES, True),
        ("0.797", 0.7974, [0.7974, 0.7812], True),
        ("0.797", 0.7976, [0.7976, 0.7812], False),
        ("0.7971", 0.797, SCORES, True),
        ("0.80", 0.797, SCORES, True),
        ("0.800", 0.797, SCORES, False),
        ("79.7", 0.797, SCORES, True),
        ("79.7", 0.79684, [0.79684, 0.1], True),
        ("79.7", 0.782, SCORES, False),
        ("0.797", 79.7, [79.7, 78.2], True),
        (0.797, 0.797, SCORES, True),
        (np.float64(0.5), 0.5, [0.5], True),
        (1, 1.0, [1.0], True),
        ("8e-1", 0.8, [0.8], True),
    ],
)
def test_scores_are_compared_to_as_many_decimals_as_both_have(reported, score, values, expected):
    assert Reported(reported).matches(score, np.array(values)) is expected


TOO_FEW = [
    ([0.5, 0.7, 0.65], "0.7", "the reported 0.7 has", "the best (0.7, epoch 1) from the last (0.65)"),
    ([0.5, 0.7, 0.65], 0.70, "the reported 0.7 has", "the best (0.7, epoch 1) from the last (0.65)"),
    ([0.68, 0.71, 0.69], "0.7", "the reported 0.7 has", "the best (0.71, epoch 1) from the last (0.69)"),
    ([70.0, 65.2], "0.7", "the reported 0.7 has", "the best (70, epoch 0) from the last (65.2)"),
    ([0.8, 0.7], "0.75", "the log has", "the best (0.8, epoch 0) from the last (0.7)"),
]


@pytest.mark.parametrize(("scores", "reported", "which", "scored"), TOO_FEW)
def test_a_score_with_too_few_decimals_is_a_warning(tmp_path, scores, reported, which, scored):
    file = written(tmp_path, table(("epoch", "map"), *enumerate(scores)))
    ((severity, consequence),) = judged(file, reported)
    assert severity == "warning"
    assert f"{which} too few decimals to distinguish {scored}" in consequence


def test_more_decimals_distinguish_the_best_from_the_last(tmp_path):
    file = written(tmp_path, table(("epoch", "map"), *enumerate([0.5, 0.7, 0.65])))
    assert severities(file, "0.70") == ["error"]
    assert severities(file, "0.65") == []
    # The last score with all its decimals; only the best is rounded.
    assert severities(written(tmp_path, table(("epoch", "map"), *enumerate([0.74, 0.7]))), "0.7") == []
    assert severities(written(tmp_path, "epoch,val_map,map\n1,0.9,0.71\n2,0.5,0.68\n"), "0.7") == []
    ((_, consequence),) = judged(written(tmp_path, "epoch,val_map,map\n1,0.1,0.7\n2,0.5,0.65\n3,0.4,0.1\n"), "0.7")
    assert "from the epoch chosen on the validation set (0.65)" in consequence


@pytest.mark.parametrize("reported", ["abc", "", "nan", float("inf"), True, [0.5], None, "1e999999999"])
def test_a_reported_score_that_is_not_a_number_is_refused(reported):
    with pytest.raises(ProtocolError, match=r"^reported: expected a .*number.*, got "):
        Reported(reported)


ROLES = {
    "test": ["map", "mAP", "MAP", "mAP@5000", "test/mAP", "testmap", "test_map", "eval_map", "Precision", "P@100"],
    "validation": ["val_map", "valid mAP", "validation/recall@1", "dev_score", "valmap", "val_acc"],
    "best": ["best_map", "Best MAP", "max_test_map"],
    None: [
        "r1 - test_mAP__MIN",
        "test_map__MAX",
        "testloss",
        "train_map",
        "loss",
        "test_loss",
        "val_loss",
        "lr",
        "epoch",
        "timestamp",
        "best_val_map",
        "",
        "heat",
    ],
}


@pytest.mark.parametrize(("name", "role"), [(name, role) for role, names in ROLES.items() for name in names])
def test_columns_are_recognised_by_their_names(name, role):
    assert role_of(name) == role


# Order, runs, owners


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("name", ["log.csv", "log.txt"])
def test_the_last_score_is_that_of_the_last_step_in_any_order(tmp_path, order, name):
    rows = [[(1, 0.5), (2, 0.71), (3, 0.6)][place] for place in order]
    text = table(("epoch", "map"), *rows) if name == "log.csv" else "".join(f"epoch {e} mAP: {m}\n" for e, m in rows)
    file = written(tmp_path, text, name)
    (series,) = read_log(file).series
    assert (series.steps.tolist(), series.values.tolist()) == ([1, 2, 3], [0.5, 0.71, 0.6])
    assert severities(file, 0.71) == ["error"]
    assert severities(file, 0.6) == []


def test_a_log_without_steps_keeps_its_order(tmp_path):
    file = written(tmp_path, "map\n0.6\n0.71\n0.5\n")
    assert severities(file, 0.5) == []
    assert severities(file, 0.71) == ["error"]


def test_a_missing_step_is_that_of_the_previous_row(tmp_path):
    file = written(tmp_path, "epoch,map\n10,0.5\n,0.7\n20,0.6\n")
    assert read_log(file).series[0].steps.tolist() == [10, 10, 20]


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


def test_scores_of_one_run_belong_together(tmp_path):
    rows = ("1,0.5,", "2,0.4,", "3,0.3,0.7", "1,0.6,", "2,0.8,0.2", "3,0.7,0.1")
    series = read_log(written(tmp_path, "epoch,val_map,map\n" + "\n".join(rows) + "\n")).series
    assert [(one.name, one.run, len(one.values)) for one in series] == [
        ("val_map", 1, 3),
        ("map", 1, 1),
        ("val_map, run 2 of the log", 2, 3),
        ("map, run 2 of the log", 2, 2),
    ]


OWNED = [(16, "a", 1, 0.6), (32, "a", 1, 0.8), (16, "a", 2, 0.5), (32, "a", 2, 0.7)]


@pytest.mark.parametrize("name", ["bit", "bits", "n_bits", "Dataset", "method", "seed", "run"])
@pytest.mark.parametrize("is_table", [True, False])
def test_columns_with_the_owner_of_a_score_separate_scores(tmp_path, name, is_table):
    header = (name, "x", "epoch", "map")
    records = [dict(zip(header, row, strict=True)) for row in OWNED]
    text = table(header, *OWNED) if is_table else json.dumps(records)
    file = written(tmp_path, text, "log.csv" if is_table else "log.json")
    owner = {"seed": "seed {}", "run": "run {}", "Dataset": "{}", "method": "{}"}.get(name, "{} bits")
    assert [one.name for one in read_log(file).series] == [f"map ({owner.format(n)})" for n in (16, 32)]
    assert severities(file, 0.5) == severities(file, 0.7) == []
    assert severities(file, 0.8) == ["error"]


def test_a_validation_set_chooses_for_its_own_code_length(tmp_path):
    rows = ("1,16,0.9,0.6", "2,16,0.1,0.5", "1,32,0.1,0.8", "2,32,0.9,0.7")
    file = written(tmp_path, "epoch,bits,val_map,map\n" + "\n".join(rows) + "\n")
    assert severities(file, 0.6) == []
    assert severities(file, 0.8) == ["error"]


@pytest.mark.parametrize("column", ["loss", "test_loss", "error", "val-loss", "train_map"])
def test_a_named_column_in_which_lower_is_better_is_refused(tmp_path, column):
    file = written(tmp_path, f"epoch,{column},map\n1,0.5,0.1\n2,0.4,0.2\n")
    message = f"{file}: expected a column of test scores for which higher is better, got '{column}'."
    with pytest.raises(ProtocolError) as error:
        audit(training_log=f"{file}:{column}")
    assert str(error.value) == message


def test_a_group_of_runs_exported_by_wandb_is_found_once(tmp_path):
    header = '"Step","r1 - test_mAP","r1 - test_mAP__MIN","r1 - test_mAP__MAX"\n'
    rows = "".join(f'"{epoch}","{score}","{score}","{score}"\n' for epoch, score in ROWS)
    file = written(tmp_path, header + rows)
    assert [one.name for one in read_log(file).series] == ["r1 - test_mAP"]
    assert severities(file, 0.797) == ["error"]
    assert severities(f"{file}:r1 - test_mAP__MAX", 0.797) == ["error"]


PRINTED = {
    "brackets": "Epoch [{}/50] lr 0.1, mAP = {}\n",
    "parentheses": "epoch ({}/50): mAP {}\n",
    "no colon": "Epoch {} loss 0.1 mAP@5000 {}\n",
    "clock": "[12:0{}:30] epoch {}, mAP: {}\n",
    "two lines": "Epoch {}/50, loss: 0.5\nevaluating mAP of 100 queries\nmAP: {}\n",
    "three lines": "[X] epoch {}\nbit: 48, dataset: c\nloss 0.5\n\n  mAP@all 0{}\n",
}


@pytest.mark.parametrize("name", PRINTED)
def test_epochs_and_scores_are_found_as_programs_print_them(tmp_path, name):
    rows = [(i, *row) for i, row in enumerate(ROWS)] if name == "clock" else ROWS
    file = written(tmp_path, "".join(PRINTED[name].format(*row) for row in rows), "train.log")
    (series,) = read_log(file).series
    assert (series.steps.tolist(), series.values.tolist()) == (STEPS, SCORES)
    assert severities(file, 0.797) == ["error"]
    assert severities(file, 0.782) == []


def test_a_score_without_an_epoch_at_the_end_is_not_the_last_evaluation(tmp_path):
    for lines in ("epoch {}, mAP: {}\n", "epoch {}\nmAP: {}\n"):
        text = "".join(lines.format(*row) for row in ROWS) + "model of the best epoch\nmAP: 0.797\n"
        assert severities(written(tmp_path, text, "log.txt"), 0.797) == ["error"]


def test_options_are_not_scores(tmp_path):
    file = written(tmp_path, "epoch: 150\ntest_map: 15\nepoch 1\nMAP: 0.5\nepoch 2\nMAP: 0.4\n", "log.txt")
    assert [(one.name, one.values.tolist()) for one in read_log(file).series] == [("MAP", [0.5, 0.4])]


# Missing scores


def test_scores_that_are_not_numbers_are_omitted_and_reported(tmp_path):
    file = written(tmp_path, "epoch,map\n1,0.5\n2,NaN\n3,inf\n4,0.4\n5,nan\n")
    audited = audit(training_log=str(file))
    assert "map, 2 evaluations (epoch 1 to 4), 3 without a finite score omitted" in str(audited)
    assert severities(file, 0.5) == ["error"]
    both = audit(training_log=str(written(tmp_path, "epoch,map,val_map\n1,nan,0.5\n", "nan.csv")))
    assert "not checked: selection-on-test" in str(both)


@pytest.mark.parametrize(
    ("scores", "reported", "verdict"),
    [
        ("0.5 0.71 NaN", 0.71, "the last evaluation has no finite score, and the reported 0.71 is an earlier one."),
        ("0.5 0.71 NaN", None, "the last evaluation has no finite score, so an earlier one may be reported."),
        ("0.71 0.6 NaN", 0.6, "the last evaluation has no finite score, and the reported 0.6 is an earlier one."),
        ("0.71 0.6 NaN", 0.71, "the reported 0.71 is the best, so the epoch was chosen on the test set."),
        ("0.71 inf", 0.71, "the last evaluation has no finite score, and the reported 0.71 is an earlier one."),
        ("0.71 0.6 NaN", 0.5, "the reported 0.5 is not the last, and the log does not show how it was chosen."),
    ],
)
def test_an_evaluation_before_one_without_a_score_is_not_the_last(tmp_path, scores, reported, verdict):
    file = written(tmp_path, table(("epoch", "map"), *enumerate(scores.split())))
    ((severity, consequence),) = judged(file, reported)
    assert severity == ("error" if "is the best" in verdict else "warning")
    assert consequence.endswith(verdict)
    assert "the last with a finite score 0." in consequence


def test_a_validation_set_chooses_before_a_score_that_is_missing(tmp_path):
    file = written(tmp_path, "epoch,val_map,map\n1,0.9,0.7\n2,0.5,0.6\n3,0.4,NaN\n")
    assert severities(file, 0.7) == []


BAD = {
    "empty.csv": ("", "expected a header and rows of scores, got an empty file."),
    "none.csv": ("epoch,loss\n1,2\n", "expected a column of scores such as test_map or map, got epoch, loss. Name"),
    "word.csv": ("epoch,map\n1,high\n", "line 2: map: expected a number, got 'high'."),
    "step.csv": ("epoch,map\nfirst,0.5\n", "line 2: epoch: expected a number, got 'first'."),
    "long.csv": ("epoch,map\n1,0.5,7\n", "line 2: expected 2 fields, got 3."),
    "twice.csv": ("map,map\n1,2\n", "expected distinct columns, got 'map' more than once."),
    "header.csv": ("epoch,map\n", "expected at least one finite score, got no evaluation."),
    "blank.csv": ("epoch,map\n1,\n2,\n", "expected at least one finite score, got no evaluation."),
    "nan.csv": ("epoch,map\n1,nan\n2,inf\n", "expected at least one finite score, got none in map."),
    "nan.jsonl": ('{"map": NaN}\n', "expected at least one finite score, got none in map."),
    "none.json": ('{"epoch": [], "map": []}', "expected at least one finite score, got no evaluation."),
    "nan.log": ("epoch 1 mAP: nan\n", "expected at least one finite score, got none in mAP."),
    "empty.json": (" \n", "expected a training log, got an empty file."),
    "text.json": ("hello\n", "expected a list of records, lists by name, or one record per line, got text that is"),
    "number.json": ("5\n", "expected a list of records, lists by name, or one record per line, got int."),
    "rows.json": ("[[1, 2]]", "record 1: expected names and values, got list."),
    "lengths.json": ('{"epoch": [1, 2], "map": [0.5]}', "expected lists of the same length, got 2 in epoch, 1 in map."),
    "bool.json": ('[{"map": true}]', "record 1: map: expected a number, got 'True'."),
    "line.jsonl": ('{"map": 0.5}\n[1]\n', "record 2: expected names and values, got list."),
    "deep.json": ("[" * 100_000, "expected a list of records, lists by name, or one record per line, got text that"),
    "huge.json": (f'[{{"map": {"9" * 400}}}]', "record 1: map: expected a number, got '99999"),
    "pr_curve.json": (
        '{"index": [99, 199], "P": [0.5, 0.4], "R": [0.1, 0.2]}',  # DeepHash-pytorch's other file
        "expected a column of scores such as test_map or map, got index, P, R.",
    ),
    "empty.log": ("", "expected lines with an epoch and a score, such as `epoch:10, MAP:0.782`, got an empty file."),
    "noise.log": (NOISE, "expected lines with an epoch and a score, such as `epoch:10, MAP:0.782`, got 5 lines"),
    "line.log": ("a\n", "expected lines with an epoch and a score, such as `epoch:10, MAP:0.782`, got 1 line without "),
}


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_log_is_refused_in_one_line(tmp_path, name):
    text, message = BAD[name]
    file = written(tmp_path, text, name)
    with pytest.raises(ProtocolError) as error:
        audit(training_log=str(file))
    assert str(error.value).startswith(f"{file}: {message}")
    assert "\n" not in str(error.value)


def test_incompatible_arguments_are_refused(tmp_path):
    file = written(tmp_path, FORMATS["table.csv"])
    for given_, message in {
        "reported": ({"reported": 0.5}, "reported: expected a training log that contains it .*, got only 0.5."),
        "number": ({"training_log": 5}, "training_log: expected a file, or a list of files, got int."),
        "none": ({"training_log": []}, "training_log: expected a file, or a list of files, got none."),
        "missing": ({"training_log": "none.csv"}, "none.csv: expected a training log, got no such file."),
        "column": ({"training_log": f"{file}:mAP"}, ".*log.csv: expected a column 'mAP', got epoch, loss, test_map."),
        "folder": ({"training_log": str(tmp_path)}, ".*: expected a training log, got a folder."),
        "labels": (
            {"training_log": str(file), "labels": [0]},
            "audit: expected complete splits, .*, got none of them.",
        ),
    }.values():
        with pytest.raises(ProtocolError, match=f"^{message}"):
            audit(**given_)
    with pytest.raises(ProtocolError, match="expected a table or JSON with the column 'MAP', got printed text"):
        audit(training_log=f"{written(tmp_path, printed(), 'a.log')}:MAP")


def test_a_file_whose_name_has_a_colon_is_found(tmp_path):
    file = written(tmp_path, FORMATS["table.csv"], "12:30.csv")
    assert severities(file, 0.797) == ["error"]


# With a split, from the command, at scale


def one_line(audited):
    """Return the text without its line breaks."""
    return " ".join(str(audited).split())


def test_logs_are_audited_with_a_split_and_without(tmp_path):
    files = [str(written(tmp_path, FORMATS[name], name)) for name in ("table.csv", "printed.log")]
    alone = audit(training_log=files, reported=0.797)
    assert (list(alone.findings), alone.n_errors) == (files, 2)
    split = {"query": [0, 1], "database": [1, 2]}
    audited = audit(**split, training_log=[Path(file) for file in files], reported=0.797)
    assert (list(audited.findings), audited.n_errors) == (["query database", *files], 3)
    assert "selection-on-test (needs a training log)" not in one_line(audited)
    assert "selection-on-test (needs a training log)" in one_line(audit(**split))


def test_the_command_fails_if_the_best_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, printed(), "train.log")
    before = file.read_bytes()
    assert main(["audit", "--training-log", "train.log", "--reported", "0.797"]) == 1
    assert capsys.readouterr().out == f"{audit(training_log='train.log', reported='0.797')!r}\n"
    assert main(["audit", "--training-log", "train.log", "--reported", "0.782"]) == 0
    assert main(["audit", "--training-log", "train.log"]) == 0
    assert main(["audit", "--training-log", "train.log", "--fail-on", "warning"]) == 1
    assert main(["audit", "--training-log", "train.log", "--training-log", "train.log"]) == 0
    capsys.readouterr()
    assert main(["audit", "--training-log", "train.log", "--json", "train.log"]) == 2
    assert main(["audit", "--training-log", "none.log"]) == 2
    assert main(["audit", "--training-log", "train.log", "--reported", "high"]) == 2
    messages = capsys.readouterr().err.splitlines()
    assert "--json: expected a file that is not an input" in messages[0]
    assert messages[-1] == "protocol: reported: expected a number such as 0.797, got 'high'."
    assert file.read_bytes() == before


def test_a_long_log_is_read_in_seconds(tmp_path):
    rows = 50_000
    values = np.random.default_rng(0).random(rows).round(4)
    file = written(tmp_path, table(("step", "map"), *enumerate(values)))
    start = time.process_time()
    assert severities(file, f"{values.max():.4f}") == ["error"]
    assert time.process_time() - start < 10


@settings(max_examples=100, deadline=None)
@given(scores=st.lists(st.integers(0, 99), min_size=1, max_size=8), chosen=st.integers(0, 7))
def test_the_verdict_matches_a_plain_comparison(tmp_path_factory, scores, chosen):
    file = written(tmp_path_factory.mktemp("log"), table(("epoch", "map"), *enumerate(n / 100 for n in scores)))
    reported = scores[chosen % len(scores)]
    chose = len(scores) > 1 and reported != scores[-1]
    expected = ["error" if reported == max(scores) else "warning"] if chose else []
    assert severities(file, f"{reported / 100:.2f}") == expected
