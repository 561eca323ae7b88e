"""Selected options by run, and the identities of RAMAP on computed results."""

import pandas as pd
import pytest

from protocol.report.sections.experiment import choices
from protocol.report.sections.extensions import check_identities
from protocol.scores.summary import COMBINATION
from protocol.selection import COLUMNS


def test_choices_are_counted_over_runs_and_scores_averaged():
    rows = [
        *((0, 8, "n_iter=5", False, True, 0.4), (0, 8, "n_iter=50", True, False, 0.3)),
        *((1, 8, "n_iter=5", False, False, 0.1), (1, 8, "n_iter=50", True, True, 0.2)),
        *((2, 8, "n_iter=5", False, False, 0.5), (2, 8, "n_iter=50", True, True, 0.6)),
        (0, 4, "n_iter=7", False, True, 0.2),  # without the default
    ]
    place = {"feature": "gist", "sample": "thesis", "hasher": "itq", "ground_truth": "class_label", "metric": "mAP"}
    table = [("digits", "gist", "class_label", "thesis", run, "itq", n_bits, "mAP", *own) for run, n_bits, *own in rows]
    shortest, longest = choices(pd.DataFrame(table, columns=COLUMNS))
    assert longest == place | {
        "n_bits": 8,
        "chosen": [("n_iter=50", 2), ("n_iter=5", 1)],
        "best": pytest.approx(1.2 / 3),
        "default": pytest.approx(1.1 / 3),
    }
    expected = {
        "n_bits": 4,
        "chosen": [("n_iter=7", 1)],
        "best": 0.2,
        "default": pytest.approx(float("nan"), nan_ok=True),
    }
    assert shortest == place | expected


MEANS = {(extension, "mAP"): 0.5 for extension in ("none", "same", "different")}
MEANS |= {("none", "RAMAP@r2"): 0.3, ("same", "RAMAP@r2"): 0.2, ("different", "RAMAP@r2"): 0.1}
MEANS |= {("none", "precision@r2"): 0.4, ("same", "precision@r2"): 0.4, ("different", "precision@r2"): 0.1}


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({}, []),
        ({("same", "mAP"): 0.5001}, ["mAP: plain = same"]),
        ({("different", "mAP"): 0.4}, ["mAP: plain = different"]),
        ({("same", "precision@r2"): 0.39}, ["precision at a radius: plain = same"]),
        ({("same", "RAMAP@r2"): 0.31}, ["RAMAP: plain >= same"]),
        ({("different", "RAMAP@r2"): 0.21}, ["RAMAP: same >= different"]),
    ],
)
def test_a_violated_identity_is_counted(change, violated):
    """For plain codes, and same- and different-extension codes of one bit."""
    place = ("digits", "gist", "class_label", "standard", "itq", 16)
    rows = [
        (*place, extension, int(extension != "none"), metric, mean, 0.0, 2)
        for (extension, metric), mean in (MEANS | change).items()
    ]
    checks = check_identities(pd.DataFrame(rows, columns=[*COMBINATION, "mean", "std", "n_runs"]))
    assert [check.statement for check in checks if check.n_violations] == violated
    assert [check.n_pairs for check in checks] == [1, 1, 1, 0, 1, 1]
