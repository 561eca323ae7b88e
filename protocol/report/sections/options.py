"""The options that were chosen from grids on the validation partitions."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from protocol.report.figure import ABSENT, Section, Table
from protocol.report.results import Results

if TYPE_CHECKING:
    import pandas as pd


def section(results: Results) -> Section | None:
    """Return what was chosen, how often and what it gained; None where nothing was searched."""
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
        "chosen, in how many runs",
        "best",
        "defaults",
        "difference",
    ]
    text = (
        f"In every run, each hasher with a grid was trained with every combination of its values and scored by "
        f"{found[0]['metric']} on the validation queries and the validation database; the best was taken. Test queries "
        "had no part in it; nor had the rest of the database, of which the validation items are a part under the "
        "standard split. The largest of several is flattered by being picked: what a choice is worth, the test queries "
        "say. Split protocols that differ only in their database share a draw, and so the choice. Every score stands "
        "in selection.csv."
    )
    table = Table(
        "options", "Validation scores, means over the runs: of the best, and of the defaults.", header, rows, n_labels=6
    )
    return Section("options", "Chosen options", [text], tables=[table])


def choices(selection: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return one row per feature, draw, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.selection.write_table` writes it.

    Returns
    -------
    list of dict
        The cell (``feature``, ``draw``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``, ``metric``);
        ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and mean scores
        over the runs: ``best``, and ``default``, NaN where the grid lacks the default.
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
