import math

import pandas as pd
import pytest

from protocol.report.sections.experiment import choices
from protocol.selection import COLUMNS

CELL = ("digits", "gist", "class_label", "thesis")


def table(*rows):
    """Rows of (run, n_bits, options, default, chosen, score)."""
    made = [(*CELL, run, "itq", n_bits, "mAP", *rest) for run, n_bits, *rest in rows]
    return pd.DataFrame(made, columns=COLUMNS)


def test_choices_are_counted_over_runs_and_scores_averaged():
    (row,) = choices(
        table(
            (0, 8, "n_iter=5", False, True, 0.4),
            (0, 8, "n_iter=50", True, False, 0.3),
            (1, 8, "n_iter=5", False, False, 0.1),
            (1, 8, "n_iter=50", True, True, 0.2),
            (2, 8, "n_iter=5", False, False, 0.5),
            (2, 8, "n_iter=50", True, True, 0.6),
        )
    )
    assert row["chosen"] == [("n_iter=50", 2), ("n_iter=5", 1)]
    assert row["best"] == pytest.approx(1.2 / 3)
    assert row["default"] == pytest.approx(1.1 / 3)
    assert {key: row[key] for key in ("feature", "draw", "hasher", "n_bits", "ground_truth", "metric")} == {
        "feature": "gist",
        "draw": "thesis",
        "hasher": "itq",
        "n_bits": 8,
        "ground_truth": "class_label",
        "metric": "mAP",
    }


def test_a_grid_without_the_default_has_no_score_for_it_and_lengths_stand_apart():
    rows = choices(table((0, 16, "n_iter=5", False, True, 0.4), (0, 8, "n_iter=7", False, True, 0.2)))
    assert [(row["n_bits"], row["best"]) for row in rows] == [(8, 0.2), (16, 0.4)]
    assert all(math.isnan(row["default"]) for row in rows)
