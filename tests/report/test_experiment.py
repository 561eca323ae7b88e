"""Selected options by run."""

import pandas as pd
import pytest

from protocol.hashers.selection import COLUMNS
from protocol.report.sections import choices


def test_choices_are_counted_over_runs_and_scores_averaged():
    rows = [
        *((0, 8, "n_iter=5", False, True, 0.4), (0, 8, "n_iter=50", True, False, 0.3)),
        *((1, 8, "n_iter=5", False, False, 0.1), (1, 8, "n_iter=50", True, True, 0.2)),
        *((2, 8, "n_iter=5", False, False, 0.5), (2, 8, "n_iter=50", True, True, 0.6)),
        (0, 4, "n_iter=7", False, True, 0.2),  # without the default
    ]
    place = {"feature": "gist", "sample": "random", "hasher": "itq", "ground_truth": "class_label", "metric": "mAP"}
    table = [("digits", "gist", "class_label", "random", run, "itq", n_bits, "mAP", *own) for run, n_bits, *own in rows]
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
