"""What the searches chose: how often over the runs, and what it gained on the validation partitions."""

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def choices(selection: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return one row per feature, split, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.selection.write_table` writes it.

    Returns
    -------
    list of dict
        The cell (``feature``, ``split``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``, ``metric``);
        ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and mean scores
        over the runs: ``best``, and ``default``, NaN where the grid lacks the default.
    """
    cell = ["feature", "split", "hasher", "n_bits", "ground_truth", "metric"]
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
