"""Write ``results/reference/near_duplicates/``: CIFAR-10 without the queries that have a near-duplicate.

Run by hand after `snakemake duplicates --cores all --configfile workflow/config/NAME.yaml` for each NAME of
`EXPERIMENTS`, with a mirror if the official archive can't be reached:
`python tests/reference/near_duplicates_tables.py [FOLDER]`, where FOLDER contains the results of the experiments.
"""

import sys
from pathlib import Path

import pages
import pandas as pd

FOLDER = pages.REFERENCE / "near_duplicates"
EXPERIMENTS = ("cifar10_duplicates", "cifar10_duplicates_s2")
HASHERS = ["lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"]
TRUTHS = {"class_label": "class labels", "epsilon_ball": "epsilon-ball"}
SPLITS = ["standard", "improved", "cifar10_s2"]
METRIC = "mAP"


def main(results: str | Path = pages.RESULTS) -> None:
    parts = [pd.read_csv(Path(results) / name / "duplicates.csv") for name in EXPERIMENTS]
    pages.write(pd.concat(parts, ignore_index=True), FOLDER / "duplicates.csv")
    pages.store("near_duplicates", page())


def page() -> str:
    """Return the page, computed from the table alone."""
    (table,) = pages.read("near_duplicates", "duplicates")
    shown = table[table["metric"] == METRIC]
    others = table[table["metric"] != METRIC].dropna(subset=["rank_all", "rank_without"])
    others = others.assign(moved=others["rank_all"] != others["rank_without"]).groupby("metric", sort=False)["moved"]
    return pages.render(
        "near_duplicates",
        metric=METRIC,
        truths=TRUTHS,
        splits=SPLITS,
        hashers=HASHERS,
        n_ranks=len(shown),
        moved=shown[shown["rank_all"] != shown["rank_without"]].to_dict("records"),
        affected=shown.groupby("split").first().to_dict("index"),
        parts=dict(list(shown.groupby(["ground_truth", "split"]))),
        others=others.agg(["sum", "size"]).reset_index().to_numpy(),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
