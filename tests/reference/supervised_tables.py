"""Supervised hashers, the trivial baseline and ITQ compared: makes ``results/reference/supervised/``.

Run by hand: `python tests/reference/supervised_tables.py run cifar10_supervised`, the same with `cifar10_supervised_s2`
and `digits_supervised`, then without arguments, which writes the tables. CIFAR-10 needs the GIST of its 60,000 images,
which `snakemake --cores all --configfile workflow/config/cifar10_supervised.yaml -- features` makes. Splits, seeds,
preprocessing, grids and options are those of these experiments, so a run is one of theirs; it is made here in one
process, since the pipeline starts a job for each of some hundred steps. A run that was interrupted resumes.
"""

import argparse
import functools
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import runs as reference  # isort: skip - before NumPy
import numpy as np
import pages
import pandas as pd
from numpy.typing import NDArray
from runs import Run, experiment

from protocol.metrics import mean
from protocol.provenance import storage
from protocol.scores.statistics import mean_of, shared_variance
from protocol.selection import best, described, points

FOLDER = pages.REFERENCE / "supervised"
PLACE = ["dataset", "feature", "ground_truth", "split"]
CELL = [*PLACE, "hasher", "n_bits", "metric"]
EXPERIMENTS = {"S1": "cifar10_supervised", "S2": "cifar10_supervised_s2", "digits": "digits_supervised"}
PARTS = {"s1": ("cifar10", "standard"), "s2": ("cifar10", "cifar10_s2"), "digits": ("digits", "standard")}
CRITERIA = ("mAP", "RAMAP@r2", "mLGAP@r2")
OWN_METRIC = dict.fromkeys(("m_dsh", "m_dsh_2"), "RAMAP@r2") | dict.fromkeys(
    ("buffer_zone", "buffer_zone_half"), "mLGAP@r2"
)
"""The metric for which an objective was made; its options are also selected by it."""
BASELINES = ("classifier", "classifier_probabilities")
LIST_OVER_TRIPLET_OVER_PAIR = [
    *(("talr_ap", name) for name in ("mihash", "dtsh", "dpsh", "hashnet", "ksh")),
    *(("talr_ap_network", name) for name in ("dtsh", "dpsh")),
    *(("dtsh", name) for name in ("dpsh", "hashnet", "ksh", "fasthash", "bre")),
]
BUCKETS_OVER_OTHERS = [
    *((name, "deep_supervised") for name in ("buffer_zone", "buffer_zone_half")),
    *((name, "deep_squared") for name in ("m_dsh", "m_dsh_2")),
    *((name, other) for other in ("talr_ap", "hashnet") for name in ("buffer_zone", "m_dsh")),
]


def grid_row(run: Run, hasher: str, n_bits: int) -> list[dict[str, Any]]:
    """Return the points of a hasher's grid at one code length, with the test scores of those that are selected."""
    grid, models, row = run.experiment.hashers[hasher].grid, [], []
    for options in points(grid):
        model, seconds = run.fit(hasher, n_bits, **options)
        parts = {"query": "validation_query", "database": "validation_database"}
        scores = run.scores(model, CRITERIA, **parts) if grid else {}
        validation = {metric: mean(values) for metric, values in scores.items()}
        row.append({"options": options, "seconds": round(seconds, 2), "validation": validation})
        models.append(model)
    for number in {selected_point(row, criterion) for criterion in criteria(hasher, grid)}:
        scores = run.scores(models[number], run.experiment.config["metrics"])
        row[number]["values"] = {metric: mean(values) for metric, values in scores.items()}
        row[number]["errors"] = {metric: standard_error(values) for metric, values in scores.items()}
    return row


def criteria(hasher: str, grid: Any) -> list[str]:
    """Return the metrics by which a hasher's options are selected: mAP, and the metric for which it was made."""
    return list(dict.fromkeys(["mAP", OWN_METRIC.get(hasher, "mAP")])) if grid else ["mAP"]


def selected_point(row: list[dict[str, Any]], criterion: str) -> int:
    """Return the index of the point with the best validation score."""
    return best([point["validation"].get(criterion, 0.0) for point in row])


def standard_error(values: NDArray[np.float64]) -> float | None:
    """Return the standard error of a mean over queries; None of a metric of the database, which has one value."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None


def make(name: str, results: Path, numbers: list[int] | None, hashers: list[str] | None) -> None:
    """Write the scores of an experiment's runs below `results`, a file for each run and hasher that has none."""
    of, folder = experiment(name), results / name
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(of.config["runs"]) if numbers is None else numbers:
        run = None
        for hasher in hashers or of.features["gist"].hashers:
            path = folder / f"{number}_{hasher}.json"
            if path.exists():
                continue
            run = run or Run(name, number, results=results)
            rows = [
                {"run": number, "hasher": hasher, "n_bits": n_bits, "points": grid_row(run, hasher, n_bits)}
                for n_bits in of.features["gist"].n_bits
            ]
            path.with_suffix(".part").write_text(json.dumps(rows))
            path.with_suffix(".part").replace(path)
            sys.stderr.write(f"{name} run {number} {hasher}\n")


def collected(name: str, results: Path) -> tuple[list[dict], list[dict]]:
    """Return the scores of an experiment's runs, and the points of the grids.

    A hasher whose options were also selected by its own metric has a second row, named `HASHER by METRIC`.
    """
    of, scores, searched = experiment(name), [], []
    (split,) = of.config["splits"]
    place = dict(zip(PLACE, (of.config["dataset"], "gist", "class_label", split), strict=True))
    rows = [row for path in sorted((results / name).glob("*.json")) for row in json.loads(path.read_text())]
    every = [(row, how) for row in rows for how in criteria(row["hasher"], of.hashers[row["hasher"]].grid)]
    for row, criterion in every:
        label = row["hasher"] if criterion == "mAP" else f"{row['hasher']} by {criterion}"
        combination = {**place, "run": row["run"], "hasher": label, "n_bits": row["n_bits"]}
        best_point = row["points"][selected_point(row["points"], criterion)]
        for metric, value in best_point["values"].items():
            scores.append({**combination, "metric": metric, "value": value, "error": best_point["errors"][metric]})
        for point in row["points"]:
            about = {"options": described(point["options"]), "chosen": point is best_point}
            result = {"score": point["validation"].get(criterion), "seconds": point["seconds"]}
            searched.append(combination | about | result)
    return scores, searched


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations with the columns of an experiment's ``summary.csv``, for the ledger.

    They are over the runs that all hashers of a split have, so that means can be compared. ITQ is left out: its rows
    on the standard split are those of `results/reference/cifar10`, which has 2,000 training images.
    """
    supervised = runs[runs["hasher"] != "itq"]
    n_hashers = supervised.groupby(PLACE)["hasher"].transform("nunique")
    common = supervised[supervised.groupby([*PLACE, "run"])["hasher"].transform("nunique") == n_hashers]
    means = common.groupby(CELL, as_index=False)["value"].agg(mean="mean", std="std", n_runs="size")
    sizes = [sizes_of(*place) for place in means[["dataset", "split"]].itertuples(index=False)]
    means["n_queries"], means["n_database"] = ([own[part] for own in sizes] for part in ("query", "database"))
    return means.sort_values(CELL, ignore_index=True)


def shared_by_runs(runs: pd.DataFrame) -> float:
    """Return `shared_variance` of the runs of one dataset and split."""
    sizes = sizes_of(*runs[["dataset", "split"]].iloc[0])
    return shared_variance(sizes["query"], sizes["database"])


@functools.cache
def sizes_of(dataset: str, split: str) -> dict[str, int]:
    """Return the numbers of items of the parts of a split."""
    for of in map(experiment, EXPERIMENTS.values()):
        if (dataset, split) == (of.config["dataset"], *of.config["splits"]):
            return of.sizes(split)
    raise ValueError(f"no experiment has the dataset {dataset} and the split {split}")


def interval(values: pd.Series, errors: pd.Series, *, shared: float) -> float:
    """Return half of a 95 % interval: of a mean over runs that share items; of one or two runs, over the queries."""
    if len(values) > 2:
        low, high = mean_of(values, shared=shared).interval()
        return (high - low) / 2
    return float(1.96 * errors.mean())


def with_interval(mean: float, half: float, sign: str = "") -> str:
    """Return a mean with half of its interval, if it has one."""
    return f"{mean:{sign}.4f}" + ("" if np.isnan(half) else f" ± {half:.4f}")


def table(runs: pd.DataFrame, metric: str, order: list[str]) -> str:
    """Return the means of a metric with their intervals as Markdown: a row per hasher, a column per code length."""
    rows, shared, cells = runs[runs["metric"] == metric], shared_by_runs(runs), []
    n_runs = rows.groupby("hasher")["run"].nunique()
    for (hasher, n_bits), part in rows.groupby(["hasher", "n_bits"]):
        text = with_interval(part["value"].mean(), interval(part["value"], part["error"], shared=shared))
        cells.append({"runs": n_runs[hasher], "hasher": hasher, "n_bits": n_bits, "text": text})
    return pages.grid(pd.DataFrame(cells), ["hasher", "runs"], "n_bits", "{text}", order=order, head="{} bits")


def compared(runs: pd.DataFrame, metric: str, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return how much higher the first hasher of each pair scores than the second, over the runs that both have.

    There is a row for each pair and code length, with the mean of the paired differences and half of its 95 % interval;
    pairs without a common run have none.
    """
    rows = runs[runs["metric"] == metric]
    values, errors = (rows.pivot_table(name, ["n_bits", "run"], "hasher", dropna=False) for name in ("value", "error"))
    cells = []
    for above, below in pairs:
        differences = (values[above] - values[below]).dropna() if {above, below} <= set(values) else pd.Series()
        for n_bits, paired in differences.groupby("n_bits") if len(differences) else ():
            # The errors over the same queries are treated as independent: too wide if hashers agree on which are hard.
            error = np.hypot(errors.loc[paired.index, above], errors.loc[paired.index, below])
            half = interval(paired, error, shared=shared_by_runs(rows))
            cells.append([above, below, n_bits, paired.mean(), half, with_interval(paired.mean(), half, "+")])
    return pd.DataFrame(cells, columns=["hasher", "minus", "n_bits", "mean", "half", "text"])


def differences(comparisons: pd.DataFrame) -> str:
    """Return the differences between hashers with their intervals as Markdown."""
    return pages.grid(comparisons, ["hasher", "minus"], "n_bits", "{text}", head="{} bits")


def ordering(runs: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Return whether an order that a paper states holds, and the differences of its pairs of hashers."""
    pairs = LIST_OVER_TRIPLET_OVER_PAIR if metric == "mAP" else BUCKETS_OVER_OTHERS
    found = compared(runs, metric, pairs)
    mean, half = found["mean"], found["half"]
    higher = (mean > 0).sum()
    return {
        "verdict": "holds" if higher == len(mean) else "does not hold" if higher <= len(mean) / 2 else "holds in part",
        "n_pairs": f"{len(found.groupby(['hasher', 'minus']))} of {len(pairs)}",
        "n": len(mean),
        "positive": higher,
        "above": (mean - half > 0).sum(),
        "below": (mean + half < 0).sum(),
        "table": differences(found),
    }


def against_baseline(runs: pd.DataFrame) -> dict[str, Any]:
    """Return how TALR compares with the trivial baselines, and the hashers that are better than the second one."""
    found, verdicts = compared(runs, "mAP", [("talr_ap", code) for code in BASELINES]), {}
    for code, gains in found.groupby("minus")["mean"]:
        higher, n = (gains > 0).sum(), len(gains)
        verdicts[code] = {n: "beats", 0: "loses to"}.get(higher, f"beats at only {higher} of {n} code lengths")
    others = compared(runs, "mAP", [(name, BASELINES[-1]) for name in sorted(set(runs["hasher"]) - set(BASELINES))])
    always = others.groupby("hasher")["mean"].min() > 0
    return {"verdicts": verdicts, "better": list(always.index[always]), "table": differences(found)}


def page(folder: Path = FOLDER) -> str:
    """Return the conclusions from the tables."""
    runs, searched = (pd.read_csv(folder / f"{name}.csv") for name in ("runs", "selection"))
    hashers = list(experiment(EXPERIMENTS["S1"]).features["gist"].hashers)
    order = [label for name in hashers for label in (name, f"{name} by {OWN_METRIC.get(name)}")]
    parts = {
        name: runs[(runs["dataset"] == dataset) & (runs["split"] == split)] for name, (dataset, split) in PARTS.items()
    }
    fits = searched.drop_duplicates([*PLACE, "run", "hasher", "n_bits", "options"])
    fits = fits[~fits["hasher"].str.contains(" by ")]
    return pages.render(
        "supervised",
        s2=len(parts["s2"]),
        table=lambda part, metric: table(parts[part], metric, order),
        ordering=lambda part, metric: ordering(parts[part], metric),
        against_baseline=lambda part: against_baseline(parts[part]),
        baseline=BASELINES[-1],
        selected=selected(searched, order),
        n_fits=len(fits),
        hours=fits["seconds"].sum() / 3600,
        seconds=seconds(searched, order),
        provenance=json.loads((folder / "provenance.json").read_text()),
    )


def selected(searched: pd.DataFrame, order: list[str]) -> str:
    """Return how often each point of a grid was selected, over runs and code lengths, and how often it was an end."""
    parts, lines = dict(list(searched[searched["options"].notna()].groupby("hasher"))), []
    for hasher in filter(parts.__contains__, order):
        rows = parts[hasher]
        times, gains = rows.groupby("options", sort=False)["chosen"].sum(), []
        for _, grid in rows.groupby(["run", "n_bits"]):
            scores, chosen = grid["score"].to_numpy(), int(np.flatnonzero(grid["chosen"])[0])
            if chosen in (0, len(scores) - 1):
                gains.append(scores[chosen] - scores[1 if chosen == 0 else -2])
        counts = ", ".join(f"{point}: {count}" for point, count in times.items())
        lines.append([hasher, counts, f"{len(gains)} of {times.sum()}", f"{max(gains):.4f}" if gains else ""])
    return pages.markdown(["hasher", "points", "end selected", "gain of the last step"], lines)


def seconds(searched: pd.DataFrame, order: list[str]) -> str:
    """Return the median CPU seconds of a fit."""
    median = searched.groupby(["dataset", "split", "hasher"], as_index=False)["seconds"].median()
    median["where"] = median["dataset"] + " " + median["split"]
    own = [name for name in order if " by " not in name]
    return pages.grid(median, "hasher", "where", "{seconds:.1f}", order=own)


def write(results: Path, folder: Path = FOLDER) -> None:
    """Write the tables of all runs that exist, and the page."""
    every = [collected(name, results) for name in EXPERIMENTS.values()]
    runs, searched = (pd.DataFrame([row for part in parts for row in part]) for parts in zip(*every, strict=True))
    runs = runs.sort_values([*CELL[:5], "run", *CELL[5:]], ignore_index=True)
    order = [*PLACE, "run", "hasher", "n_bits"]
    pages.write(runs[[*order, "metric", "value", "error"]], folder / "runs.csv", "%.9g")
    pages.write(summary(runs), folder / "summary.csv", "%.9g")
    columns = [*order, "options", "chosen", "score", "seconds"]
    pages.write(searched.sort_values(order, kind="stable")[columns], folder / "selection.csv")
    (folder / "provenance.json").write_text(json.dumps(provenance(results), indent=2) + "\n")
    (folder / "README.md").write_text(page(folder))


def provenance(results: Path) -> dict[str, str]:
    """Return how the tables were made."""
    record = storage.read_provenance(reference.extracted("cifar10", results) / "gist" / "features.h5")
    configs = ", ".join(f"`workflow/config/{name}.yaml`" for name in EXPERIMENTS.values())
    return {
        "made by": "`python tests/reference/supervised_tables.py`, one thread for each process",
        "experiments": f"{configs}, seed 0; every other seed derives from it as in the pipeline",
        "features of CIFAR-10": f"digest `{record['digest']}`, options {json.dumps(record['parameters'])}",
        "data": "; ".join(record["notes"]) or "the official archive",
        "versions": reference.versions("numpy", "scipy", "scikit-learn", "torch", "hashing-protocol"),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", nargs="?", choices=["run"])
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--results", type=Path, default=pages.RESULTS)
    parser.add_argument("--runs", type=int, nargs="*")
    parser.add_argument("--hashers", nargs="*")
    arguments = parser.parse_args()
    if arguments.step:
        make(arguments.experiment, arguments.results, arguments.runs, arguments.hashers)
    else:
        write(arguments.results)
