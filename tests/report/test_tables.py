"""The identities of RAMAP on computed results."""

import pandas as pd
import pytest

from protocol.report.sections.extensions import check_identities
from protocol.scores.summary import COMBINATION

CELL = ("digits", "gist", "class_label", "standard")


def summary_of(**means):
    """A summary of one cell with plain, same- and different-extension codes of one bit."""
    extensions = {"none": 0, "same": 1, "different": 1}
    table = [
        (*CELL, "itq", 16, extension, s, metric, means[f"{extension}_{metric}"], 0.0, 2)
        for metric in ("mAP", "RAMAP@r2", "precision@r2")
        for extension, s in extensions.items()
    ]
    return pd.DataFrame(table, columns=[*COMBINATION, "mean", "std", "n_runs"])


GOOD = {
    **{f"{extension}_mAP": 0.5 for extension in ("none", "same", "different")},
    "none_RAMAP@r2": 0.3,
    "same_RAMAP@r2": 0.2,
    "different_RAMAP@r2": 0.1,
    "none_precision@r2": 0.4,
    "same_precision@r2": 0.4,
    "different_precision@r2": 0.1,
}


def test_identities_hold_on_a_good_summary():
    checks = check_identities(summary_of(**GOOD))
    assert [check.n_violations for check in checks] == [0] * 6
    assert [check.n_pairs for check in checks] == [1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({"same_mAP": 0.5001}, "mAP: none = same"),
        ({"different_mAP": 0.4}, "mAP: none = different"),
        ({"same_precision@r2": 0.39}, "precision at a radius: none = same"),
        ({"same_RAMAP@r2": 0.31}, "RAMAP: none >= same"),
        ({"different_RAMAP@r2": 0.21}, "RAMAP: same >= different"),
    ],
)
def test_a_violated_identity_is_counted(change, violated):
    assert [check.statement for check in check_identities(summary_of(**GOOD | change)) if check.n_violations] == [
        violated
    ]
