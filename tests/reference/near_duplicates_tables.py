"""Write ``results/reference/near_duplicates/``: CIFAR-10 without the queries that have a near-duplicate.

Run by hand after `snakemake duplicates --cores all --configfile workflow/config/NAME.yaml` for each NAME of
`EXPERIMENTS`, with a mirror if the official archive can't be reached:
`python tests/reference/near_duplicates_tables.py [FOLDER]`, where FOLDER contains the results of the experiments.
"""

import sys
from pathlib import Path
from typing import Any

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
    parts = dict(list(shown.groupby(["ground_truth", "split"])))
    every = [(truth, split) for truth in TRUTHS for split in SPLITS]
    return pages.render(
        "near_duplicates",
        metric=METRIC,
        truths=TRUTHS,
        splits=SPLITS,
        affected=_affected(shown),
        ranks=_ranks(shown),
        changes="\n".join(_range(parts[key], *key) for key in every),
        others=_others(table),
        by_length={
            key: pages.grid(
                parts[key], "hasher", "n_bits", "{all_queries:.4f} {difference:+.5f}", order=HASHERS, head="{} bits"
            )
            for key in every
        },
    )


def _affected(shown: pd.DataFrame) -> str:
    rows = []
    for split, first in shown.groupby("split").first().loc[SPLITS].iterrows():
        share = first["n_affected"] / first["n_queries"]
        rows.append(
            [split, f"{first['n_queries']:,.0f}", f"{first['n_affected']:.4g}", f"{share:.2%}", first["n_runs"]]
        )
    return pages.markdown(["split", "queries", "affected (mean over the runs)", "share", "runs"], rows)


def _ranks(shown: pd.DataFrame) -> str:
    moved = shown[shown["rank_all"] != shown["rank_without"]]
    if moved.empty:
        return (
            f"No hasher changes its rank by {METRIC}, in any split, ground truth and code length ({len(shown)} ranks)."
        )
    return f"{len(moved)} of {len(shown)} ranks by {METRIC} change: {'; '.join(map(_move, moved.itertuples()))}."


def _move(row: Any) -> str:
    where = f"{row.split}, {TRUTHS[row.ground_truth]}, {row.n_bits} bits"
    return f"{row.hasher} from {row.rank_all} to {row.rank_without} ({where})"


def _range(rows: pd.DataFrame, truth: str, split: str) -> str:
    largest = rows.loc[rows["difference"].abs().idxmax()]
    relative = largest["difference"] / largest["all_queries"]
    return (
        f"- {TRUTHS[truth]}, `{split}`: from {rows['difference'].min():+.5f} to {rows['difference'].max():+.5f}; the "
        f"largest change is that of {largest['hasher']} at {largest['n_bits']} bits, {largest['all_queries']:.5f} to "
        f"{largest['without']:.5f} ({relative:+.2%})."
    )


def _others(table: pd.DataFrame) -> str:
    others = table[(table["metric"] != METRIC) & table["rank_all"].notna() & table["rank_without"].notna()]
    moved = others["rank_all"] != others["rank_without"]
    counts = others.assign(moved=moved).groupby("metric", sort=False)["moved"].agg(["sum", "size"])
    return pages.markdown(["metric", "ranks that change", "of"], counts.reset_index().to_numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
