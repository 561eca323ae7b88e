"""Supervised hashers, the trivial baseline and ITQ compared: makes ``results/reference/supervised/``.

Run by hand: `python tests/reference/supervised_tables.py run cifar10_supervised`, the same with `cifar10_supervised_s2`
and `digits_supervised`, then without arguments, which writes the tables. CIFAR-10 needs the GIST of its 60,000 images,
which `snakemake --cores all --configfile workflow/config/cifar10_supervised.yaml -- features` makes. Splits, seeds,
preprocessing, grids and options are those of these experiments, so a run is one of theirs; it is made here in one
process, since the pipeline starts a job for each of some hundred steps. A run that was interrupted resumes.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

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
    ("talr_ap", "mihash"),
    ("talr_ap", "dtsh"),
    ("talr_ap", "dpsh"),
    ("talr_ap", "hashnet"),
    ("talr_ap", "ksh"),
    ("talr_ap_network", "dtsh"),
    ("talr_ap_network", "dpsh"),
    ("dtsh", "dpsh"),
    ("dtsh", "hashnet"),
    ("dtsh", "ksh"),
    ("dtsh", "fasthash"),
    ("dtsh", "bre"),
]
BUCKETS_OVER_OTHERS = [
    ("buffer_zone", "deep_supervised"),
    ("buffer_zone_half", "deep_supervised"),
    ("m_dsh", "deep_squared"),
    ("m_dsh_2", "deep_squared"),
    ("buffer_zone", "talr_ap"),
    ("m_dsh", "talr_ap"),
    ("buffer_zone", "hashnet"),
    ("m_dsh", "hashnet"),
]


def grid_row(run: Run, hasher: str, n_bits: int, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points of a hasher's grid at one code length, with the test scores of those that are selected.

    `known` contains points of an earlier, smaller grid, which are not fitted again.
    """
    grid, models, row = run.experiment.hashers[hasher].grid, {}, []
    for options in points(grid):
        point = next((point for point in known if point["options"] == options), None)
        if point is None:
            model, seconds = run.fit(hasher, n_bits, **options)
            models[described(options)] = model
            parts = {"query": "validation_query", "database": "validation_database"}
            scores = run.scores(model, CRITERIA, **parts) if grid else {}
            validation = {metric: mean(values) for metric, values in scores.items()}
            point = {"options": options, "seconds": round(seconds, 2), "validation": validation}
        row.append(point)
    for criterion in criteria(hasher, grid):
        point = row[selected_point(row, criterion)]
        if "values" not in point:
            model = models.get(described(point["options"])) or run.fit(hasher, n_bits, **point["options"])[0]
            scores = run.scores(model, run.experiment.config["metrics"])
            point["values"] = {metric: mean(values) for metric, values in scores.items()}
            point["errors"] = {metric: standard_error(values) for metric, values in scores.items()}
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
    """Write the scores of an experiment's runs below `results`, a file for each run and hasher.

    Points that a file already contains are not fitted again, so that a grid can be extended.
    """
    of, folder = experiment(name), results / name
    folder.mkdir(parents=True, exist_ok=True)
    lengths = of.features["gist"].n_bits
    for number in range(of.config["runs"]) if numbers is None else numbers:
        run = None
        for hasher in hashers or of.features["gist"].hashers:
            path = folder / f"{number}_{hasher}.json"
            known = {row["n_bits"]: row["points"] for row in json.loads(path.read_text())} if path.exists() else {}
            have = [[point["options"] for point in known.get(n_bits, [])] for n_bits in lengths]
            if all(point in options for options in have for point in points(of.hashers[hasher].grid)):
                continue
            run = run or Run(name, number, results=results)
            rows = [
                {"run": number, "hasher": hasher, "n_bits": n, "points": grid_row(run, hasher, n, known.get(n, []))}
                for n in lengths
            ]
            path.with_suffix(".part").write_text(json.dumps(rows))
            path.with_suffix(".part").replace(path)
            shown = [row["points"][selected_point(row["points"], "mAP")] for row in rows]
            text = "; ".join(f"{point['options']}: {point['values']['mAP']:.4f}" for point in shown)
            sys.stderr.write(f"{name} run {number} {hasher}: {text}\n")


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
    return means.sort_values(CELL, ignore_index=True)


def shared_by_runs(runs: pd.DataFrame) -> float:
    """Return `shared_variance` of the runs of one dataset and split."""
    dataset, split = runs[["dataset", "split"]].iloc[0]
    for of in map(experiment, EXPERIMENTS.values()):
        if (dataset, split) == (of.config["dataset"], *of.config["splits"]):
            sizes = of.sizes(split)
            return shared_variance(sizes["query"], sizes["database"])
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


class Comparison(NamedTuple):
    """How much higher one hasher scores than another, over the runs that both have."""

    above: str
    below: str
    differences: dict[int, tuple[float, float]]

    @property
    def sure(self) -> tuple[int, int]:
        """The numbers of code lengths at which the 95 % interval is above 0, and below 0."""
        values = self.differences.values()
        return sum(mean - half > 0 for mean, half in values), sum(mean + half < 0 for mean, half in values)

    def sentence(self) -> str:
        """Return the comparison in words."""
        means = [mean for mean, _ in self.differences.values()]
        higher, (surely, not_at_all) = sum(mean > 0 for mean in means), self.sure
        lengths = ", ".join(with_interval(mean, half, "+") for mean, half in self.differences.values())
        return (
            f"- `{self.above}` minus `{self.below}`: positive at {higher} of {len(means)} code lengths; the interval "
            f"is above 0 at {surely} and below 0 at {not_at_all} ({lengths})."
        )


def compared(runs: pd.DataFrame, metric: str, above: str, below: str) -> Comparison | None:
    """Return the paired differences of two hashers by code length; None if they share no run."""
    rows = runs[(runs["metric"] == metric) & runs["hasher"].isin([above, below])]
    values = rows.pivot_table("value", ["n_bits", "run"], "hasher")
    errors = rows.pivot_table("error", ["n_bits", "run"], "hasher", dropna=False)
    if not {above, below} <= set(values):
        return None
    differences, intervals = (values[above] - values[below]).dropna(), {}
    for n_bits, paired in differences.groupby("n_bits"):
        # The errors over the same queries are treated as independent: too wide if hashers agree on which are hard.
        error = np.hypot(errors.loc[paired.index, above], errors.loc[paired.index, below])
        intervals[int(n_bits)] = (float(paired.mean()), interval(paired, error, shared=shared_by_runs(rows)))
    return Comparison(above, below, intervals) if intervals else None


def ordering(runs: pd.DataFrame, metric: str, pairs: list[tuple[str, str]]) -> str:
    """Return a sentence on each pair, after one on all of them."""
    by_pair = {pair: compared(runs, metric, *pair) for pair in pairs}
    were_run = [comparison for comparison in by_pair.values() if comparison is not None]
    missing = [f"`{above}` over `{below}`" for (above, below), comparison in by_pair.items() if comparison is None]
    if not were_run:
        return "Not run."
    cells = [mean for comparison in were_run for mean, _ in comparison.differences.values()]
    sure = [comparison.sure for comparison in were_run]
    higher = sum(value > 0 for value in cells)
    verdict = "holds" if higher == len(cells) else "does not hold" if higher <= len(cells) / 2 else "holds in part"
    total = (
        f"By {metric}, the order **{verdict}** ({len(were_run)} of {len(pairs)} pairs of hashers were run): of "
        f"{len(cells)} differences, {higher} are positive; {sum(up for up, _ in sure)} intervals are above 0 and "
        f"{sum(down for _, down in sure)} below 0."
    )
    lines = [comparison.sentence() for comparison in were_run] + [f"- not run: {pair}" for pair in missing]
    return "\n".join([total, "", *lines])


def against_baseline(runs: pd.DataFrame, data: str) -> str:
    """Return a sentence on whether TALR beats the trivial baseline, and lines on this and on the other hashers."""
    if not (runs["hasher"] == "talr_ap").any():
        return ""
    verdicts, lines = [], []
    for code in BASELINES:
        comparison = compared(runs, "mAP", "talr_ap", code)
        if comparison is not None:
            higher, n = sum(mean > 0 for mean, _ in comparison.differences.values()), len(comparison.differences)
            verdict = {n: "beats", 0: "loses to"}.get(higher, f"beats at only {higher} of {n} code lengths")
            verdicts.append(f"**{verdict}** `{code}`")
            lines.append(comparison.sentence())
    others = {name: compared(runs, "mAP", name, BASELINES[-1]) for name in sorted(set(runs["hasher"]) - set(BASELINES))}
    better = [
        f"`{name}`"
        for name, other in others.items()
        if other and all(mean > 0 for mean, _ in other.differences.values())
    ]
    lines.append(
        f"- better than `{BASELINES[-1]}` at every code length, over the runs of both: "
        f"{', '.join(better) or 'no hasher'}"
    )
    return "\n".join([f"On {data}, `talr_ap` {' and '.join(verdicts)} by mAP.", "", *lines])


def page(folder: Path = FOLDER) -> str:
    """Return the conclusions from the tables."""
    runs, searched = (pd.read_csv(folder / f"{name}.csv") for name in ("runs", "selection"))
    hashers = list(experiment(EXPERIMENTS["S1"]).features["gist"].hashers)
    order = [label for name in hashers for label in (name, f"{name} by {OWN_METRIC.get(name)}")]
    parts = {
        name: runs[(runs["dataset"] == dataset) & (runs["split"] == split)] for name, (dataset, split) in PARTS.items()
    }
    pairs = {"mAP": LIST_OVER_TRIPLET_OVER_PAIR}
    fits = searched.drop_duplicates([*PLACE, "run", "hasher", "n_bits", "options"])
    fits = fits[~fits["hasher"].str.contains(" by ")]
    return pages.render(
        "supervised",
        s2=len(parts["s2"]),
        table=lambda part, metric: table(parts[part], metric, order),
        ordering=lambda part, metric: ordering(parts[part], metric, pairs.get(metric, BUCKETS_OVER_OTHERS)),
        against_baseline=lambda part, name: against_baseline(parts[part], name),
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
