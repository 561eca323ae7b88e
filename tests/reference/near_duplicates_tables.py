"""Write ``results/reference/near_duplicates/``: CIFAR-10 without the queries that have a near-duplicate.

Run by hand after `snakemake duplicates --cores all --configfile workflow/config/NAME.yaml` for each NAME of
`EXPERIMENTS`, with a mirror if the official archive can't be reached:
`python tests/reference/near_duplicates_tables.py [FOLDER]`, where FOLDER contains the results of the experiments.
"""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "near_duplicates"
EXPERIMENTS = ("cifar10_duplicates", "cifar10_duplicates_s2")
HASHERS = ["lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"]
TRUTHS = {"class_label": "class labels", "epsilon_ball": "epsilon-ball"}
SPLITS = ["standard", "improved", "cifar10_s2"]
METRIC = "mAP"

INTRODUCTION = """\
# CIFAR-10 without the queries that have a near-duplicate

Made by `python tests/reference/near_duplicates_tables.py` from runs of `workflow/config/cifar10_duplicates.yaml` (the
reference experiment at 16, 32 and 64 bits) and `workflow/config/cifar10_duplicates_s2.yaml` (the official test images
are the queries), with `snakemake duplicates --configfile ...`. `duplicates.csv` has all numbers: each metric with all
queries and without the affected ones, the difference, and the ranks of the hashers, as means over the runs.

A query is affected if it is a near-duplicate of an image in the database or the training set, according to the pairs
that Barz and Denzler judged (ciFAIR, 2020): 249 pairs of an official test and an official training image, none of which
is an exact copy. Pairs that they call very similar (37) do not count. Pairs within the training images were not judged,
so the splits `standard` and `improved`, whose queries are drawn from all 60,000 images, have more affected queries than
are known.

The difference is the effect of excluding these queries on the mean. It does not show how much of this is due to the
near-duplicate itself, and how much to other properties of these queries. With the epsilon-ball, a near-duplicate is one
of few relevant items; with class labels, it is one of thousands."""


def main() -> None:
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pd.concat([pd.read_csv(results / name / "duplicates.csv") for name in EXPERIMENTS], ignore_index=True)
    made.to_csv(FOLDER / "duplicates.csv", index=False, float_format="%.6g", lineterminator="\n")
    (FOLDER / "README.md").write_text(page(pd.read_csv(FOLDER / "duplicates.csv")))


def page(table: pd.DataFrame) -> str:
    """Return the page, computed from the table alone."""
    own = table[table["metric"] == METRIC]
    parts = [INTRODUCTION, _affected(own), f"## Does it change {METRIC} or a rank?", *_answers(own), _others(table)]
    for truth, name in TRUTHS.items():
        parts.append(f"## {METRIC}, {name}: all queries, and the change without the affected queries")
        for split in SPLITS:
            here = own[(own["ground_truth"] == truth) & (own["split"] == split)]
            parts.append(f"Split `{split}`:\n\n{_by_length(here)}")
    return "\n\n".join(parts) + "\n"


def _affected(own: pd.DataFrame) -> str:
    rows = []
    for split in SPLITS:
        here = own[own["split"] == split].iloc[0]
        share = here["n_affected"] / here["n_queries"]
        rows.append([split, f"{here['n_queries']:,.0f}", f"{here['n_affected']:.4g}", f"{share:.2%}", here["n_runs"]])
    return _table(["split", "queries", "affected (mean over the runs)", "share", "runs"], rows)


def _answers(own: pd.DataFrame) -> list[str]:
    moved = own[own["rank_all"] != own["rank_without"]]
    ranks = (
        f"No hasher changes its rank by {METRIC}, in any split, ground truth and code length ({len(own)} ranks)."
        if moved.empty
        else f"{len(moved)} of {len(own)} ranks by {METRIC} change: {'; '.join(map(_move, moved.itertuples()))}."
    )
    changes = f"The change of {METRIC}, without these queries minus all, over the hashers and code lengths:"
    return [ranks, changes, "\n".join(_range(own, truth, split) for truth in TRUTHS for split in SPLITS)]


def _move(row: Any) -> str:
    place = f"{row.split}, {TRUTHS[row.ground_truth]}, {row.n_bits} bits"
    return f"{row.hasher} from {row.rank_all} to {row.rank_without} ({place})"


def _range(own: pd.DataFrame, truth: str, split: str) -> str:
    here = own[(own["ground_truth"] == truth) & (own["split"] == split)]
    largest = here.loc[here["difference"].abs().idxmax()]
    relative = largest["difference"] / largest["all_queries"]
    return (
        f"- {TRUTHS[truth]}, `{split}`: from {here['difference'].min():+.5f} to {here['difference'].max():+.5f}; the "
        f"largest change is that of {largest['hasher']} at {largest['n_bits']} bits, {largest['all_queries']:.5f} to "
        f"{largest['without']:.5f} ({relative:+.2%})."
    )


def _others(table: pd.DataFrame) -> str:
    others = table[(table["metric"] != METRIC) & table["rank_all"].notna() & table["rank_without"].notna()]
    moved = others["rank_all"] != others["rank_without"]
    counts = others.assign(moved=moved).groupby("metric", sort=False)["moved"].agg(["sum", "size"])
    rows = [[metric, row["sum"], row["size"]] for metric, row in counts.iterrows()]
    return "Ranks that change by the other metrics:\n\n" + _table(["metric", "ranks that change", "of"], rows)


def _by_length(here: pd.DataFrame) -> str:
    lengths = sorted(here["n_bits"].unique())
    cells = here.set_index(["hasher", "n_bits"])
    rows = [[hasher, *(_cell(cells.loc[hasher, n_bits]) for n_bits in lengths)] for hasher in HASHERS]
    return _table(["hasher", *(f"{n_bits} bits" for n_bits in lengths)], rows)


def _cell(cell: pd.Series) -> str:
    return f"{cell['all_queries']:.4f} {cell['difference']:+.5f}"


def _table(header: list, rows: list[list]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main()
