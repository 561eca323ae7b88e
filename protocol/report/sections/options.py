"""The options that were selected from grids on the validation partitions."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from protocol.report.figure import ABSENT, Section, Table
from protocol.report.results import Results

if TYPE_CHECKING:
    import pandas as pd


def section(results: Results) -> Section | None:
    """Return the selected options, how often each was selected, and the gain; None if no options were selected."""
    if results.selection is None:
        return None
    found = choices(results.selection)
    rows = [
        [
            row["feature"],
            row["ground_truth"],
            row["draw"],
            row["hasher"],
            str(row["n_bits"]),
            ", ".join(f"{options} ({n_runs})" for options, n_runs in row["chosen"]),
            f"{row['best']:.4f}",
            *(
                (f"{row['default']:.4f}", f"{row['best'] - row['default']:+.4f}")
                if row["default"] == row["default"]
                else ("not in the grid", ABSENT)
            ),
        ]
        for row in found
    ]
    header = [
        "feature",
        "ground truth",
        "draw",
        "hasher",
        "bits",
        "selected (number of runs)",
        "best",
        "defaults",
        "difference",
    ]
    text = (
        f"In every run, each hasher with a grid was trained with every combination of its options and scored by "
        f"{found[0]['metric']} on the validation queries and the validation database; the best was selected. "
        "The test queries were not used. The best of several validation scores is biased upwards, so only the test "
        "scores measure the gain. Split protocols that differ only in their database share the selection. The file "
        "selection.csv contains every score."
    )
    table = Table(
        "options",
        "Validation scores of the best options and of the defaults, means over the runs.",
        header,
        rows,
        n_labels=6,
    )
    return Section("options", "Selected options", [text], tables=[table])


def choices(selection: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return one row per feature, draw, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.selection.write_table` writes it.

    Returns
    -------
    list of dict
        The combination (``feature``, ``draw``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``,
        ``metric``); ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and
        mean scores over the runs: ``best``, and ``default``, which is NaN if the grid lacks the default.
    """
    cell = ["feature", "draw", "hasher", "n_bits", "ground_truth", "metric"]
    rows = []
    for key, own in selection.groupby(cell, sort=True):
        chosen = own[own["chosen"]]
        rows.append(
            dict(zip(cell, key, strict=True))
            | {
                "chosen": Counter(chosen["options"]).most_common(),
                "default": own.loc[own["default"], "score"].mean(),
                "best": chosen["score"].mean(),
            }
        )
    return rows
