"""Supervised hashers, the trivial baseline and ITQ compared: makes ``results/reference/supervised/``.

Run by hand: `python tests/reference/supervised_tables.py run cifar10_supervised`, the same with `cifar10_supervised_s2`
and `digits_supervised`, then without arguments, which writes the tables. CIFAR-10 needs the GIST of its 60,000 images,
which `snakemake --cores all --configfile workflow/config/cifar10_supervised.yaml -- features` makes. Splits, seeds,
preprocessing, grids and options are those of these experiments, so a run is one of theirs; it is made here in one
process, since the pipeline starts a job for each of some hundred steps. A run that was interrupted resumes.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # the same bytes everywhere

import numpy as np
import pandas as pd
import yaml
from digits_table import digits
from numpy.typing import NDArray

from protocol import codes, configuration, registry
from protocol.configuration import Experiment
from protocol.counting import count
from protocol.features import Preprocessing
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.provenance.seeds import derive
from protocol.scores.statistics import mean_of, shared_variance
from protocol.selection import best, described, points
from protocol.truth.relevance import LabelRelevance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "supervised"
PARTITIONS = ("query", "database", "train", "validation_query", "validation_database")
PLACE = ["dataset", "feature", "ground_truth", "split"]
CELL = [*PLACE, "hasher", "n_bits", "metric"]
EXPERIMENTS = {"S1": "cifar10_supervised", "S2": "cifar10_supervised_s2", "digits": "digits_supervised"}
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
INTRODUCTION = """\
# Supervised hashers, a trivial baseline and ITQ

All hashers learn from the same features, 512-d GIST. ITQ is the reference without labels. The trivial baselines are
`classifier` (the Hadamard code of the class that logistic regression predicts) and `classifier_probabilities` (the sign
of the sum of the class codes, weighted by its probabilities). They are compared with the classical methods `ksh`,
`bre`, `fasthash`, `sdh` and `grh`, TALR's two objectives, and networks with one hidden layer. The papers fine-tune
convolutional networks, so our values are not comparable with theirs; this page examines the *order* of the methods.

The tuning effort is equal: every hasher has a grid of five values for its most important option, and the value with
the best mAP on 1,000 validation queries and 10,000 validation images is selected in every run and at every code length.
An objective that was made for RAMAP or mLGAP has a second row, such as `m_dsh by RAMAP@r2`, for the value that is best
by its own metric. Networks are trained for 20 epochs, and linear TALR for the number of minibatches that contains as
many images. No test query is used for the selection. The sizes are those of TALR's split S1: 1,000 queries and 5,000
training images, equally many of each class, and 59,000 images in the database. S1 itself has no validation partitions,
so the split is `standard`.

On S2 (10,000 queries, 50,000 training images, which are also the database) the options are fixed to those that were
selected most often at S1's sizes. A sixth of the validation images of these selections are queries of S2.

mAP is the expected value over ties, divided by all relevant items. Intervals are 95 % intervals. For a mean over three
or more runs, they are those of the corrected resampled t-test after Nadeau and Bengio (2003), because the runs are
resamples of one dataset; each run draws queries, training set and seeds. For one or two runs, as on S2, they are over
the queries, so they do not include the variance between training runs.
Differences are paired by run. The code of the predicted class gives the same ranking at every code length, because any
two class codes differ in half of the bits. `runs.csv` contains every metric of every run, `summary.csv` the means over
the runs that all supervised hashers have, and `selection.csv` every point of every grid."""
ABOUT_TALR = """\
TALR's paper finds list-wise objectives better than triplets (`dtsh`), and triplets better than pairs (`dpsh`,
`hashnet`, `ksh`, `fasthash`, `bre`); `mihash` is its closest competitor. Here `talr_ap` learns linear functions,
`talr_ap_network` has its objective, and all networks have a hidden layer."""
ABOUT_BUCKETS = """\
The mLGAP paper finds its buffer zone better than deep supervised hashing, and the RAMAP paper m-DSH better than deep
squared hashing. By their metrics, objectives that take buckets into account should be better than those that maximise
mAP. `buffer_zone` has the margin m = 2k as printed, and `buffer_zone_half` m = k, the other reading of the paper's "at
least k/2 apart". The RAMAP paper requires the margin of m-DSH to be much smaller than the code length. Its smallest
margin, 4, which is that of `m_dsh`, is a third of 12 bits, so the row for 12 bits is outside the paper's condition;
`m_dsh_2` has the margin 2."""


def experiment(name: str) -> Experiment:
    """Return a shipped experiment."""
    return configuration.load(yaml.safe_load((ROOT / "workflow" / "config" / f"{name}.yaml").read_text()))


def loaded(dataset: str, results: Path) -> tuple[NDArray[np.float32], NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Return the GIST of all images, not yet centred, their classes, and the row numbers of the official parts."""
    if dataset == "digits":
        return *digits(), {}
    # The folder's name also has a digest if the archive came from a mirror.
    (folder,) = (path for path in (results / "datasets").glob("*") if path.name.partition("-")[0] == dataset)
    items = storage.read(folder / "items.h5")
    official = {name.partition("/")[2]: rows for name, rows in items.items() if name.startswith("partitions/")}
    return storage.read(folder / "gist" / "features.h5", ["X"])["X"], items["labels"], official


class Run:
    """The partitions of one run: prepared features, labels, and what is relevant to the queries."""

    def __init__(self, of: Experiment, run: int, results: Path) -> None:
        self._experiment, self._run, self._seed = of, run, of.config["seed"]
        self._dataset = of.config["dataset"]
        raw, y, official = loaded(self._dataset, results)
        (self.split,) = of.config["splits"]
        split = registry.get("split", self.split).split(
            len(raw),
            y,
            seed=derive(self._seed, self._dataset, "split", run),
            sizes=of.config["split_sizes"],
            official=official,
        )
        steps = of.config["features"]["gist"]["preprocessing"]
        fitted = Preprocessing.fit(registry.get("feature", "gist")(), raw[split["train"]], steps, seed=0)
        self.X = {part: fitted.transform(raw[split[part]]) for part in PARTITIONS if len(split[part])}
        self._y = {part: y[split[part]] for part in self.X}
        self.training = TrainingSet(self.X["train"], self._y["train"])

    def row(self, hasher: str, n_bits: int, known: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the points of a hasher's grid at one code length, with the test scores of those that are selected.

        `known` contains points of an earlier, smaller grid, which are not fitted again.
        """
        use, fitted, points_of_row = self._experiment.hashers[hasher], {}, []
        for options in points(use.grid):
            point = next((point for point in known if point["options"] == options), None)
            if point is None:
                model, seconds = self._fit(use, hasher, n_bits, options)
                fitted[described(options)] = model
                scores = self._scores(model, "validation_query", "validation_database", CRITERIA) if use.grid else {}
                validation = {metric: mean(values) for metric, values in scores.items()}
                point = {"options": options, "seconds": seconds, "validation": validation}
            points_of_row.append(point)
        for criterion in criteria(hasher, use.grid):
            point = points_of_row[selected_point(points_of_row, criterion)]
            if "values" not in point:
                model = fitted.get(described(point["options"])) or self._fit(use, hasher, n_bits, point["options"])[0]
                scores = self._scores(model, "query", "database", self._experiment.config["metrics"])
                point["values"] = {metric: mean(values) for metric, values in scores.items()}
                point["errors"] = {metric: standard_error(values) for metric, values in scores.items()}
        return {"run": self._run, "hasher": hasher, "n_bits": n_bits, "points": points_of_row}

    def _fit(self, use: Any, hasher: str, n_bits: int, options: dict[str, Any]) -> tuple[Any, float]:
        seed = derive(self._seed, self._dataset, "gist", hasher, n_bits, self._run)
        model = registry.get("hasher", use.plugin)(n_bits=n_bits, seed=seed, **use.options | options)
        began = time.process_time()
        return model.fit(self.training), round(time.process_time() - began, 2)

    def _scores(self, model: Any, query: str, database: str, metrics: Iterable[str]) -> dict[str, NDArray[np.float64]]:
        packed = [codes.pack(model.transform(self.X[part])) for part in (query, database)]
        relevance = LabelRelevance(self._y[query], self._y[database])
        return evaluate(count(*packed, model.n_bits, {"": relevance}, calls=100)[""], list(metrics))


def criteria(hasher: str, grid: Any) -> list[str]:
    """Return the metrics by which a hasher's options are selected: mAP, and the metric for which it was made."""
    return list(dict.fromkeys(["mAP", OWN_METRIC.get(hasher, "mAP")])) if grid else ["mAP"]


def selected_point(row: list[dict[str, Any]], criterion: str) -> int:
    """Return the index of the point with the best validation score."""
    return best([point["validation"].get(criterion, 0.0) for point in row])


def standard_error(values: NDArray[np.float64]) -> float | None:
    """Return the standard error of a mean over queries; None of a metric of the database, which has one value."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None


def make(name: str, results: Path, runs: list[int] | None, hashers: list[str] | None) -> None:
    """Write the scores of an experiment's runs below `results`, a file for each run and hasher.

    Points that a file already contains are not fitted again, so that a grid can be extended.
    """
    of, folder = experiment(name), results / name
    folder.mkdir(parents=True, exist_ok=True)
    for run in range(of.config["runs"]) if runs is None else runs:
        prepared_run = None
        for hasher in hashers or of.features["gist"].hashers:
            path = folder / f"{run}_{hasher}.json"
            known = {row["n_bits"]: row["points"] for row in json.loads(path.read_text())} if path.exists() else {}
            grid = points(of.hashers[hasher].grid)
            lengths = of.features["gist"].n_bits
            if all(all(any(p["options"] == point for p in known.get(n, [])) for point in grid) for n in lengths):
                continue
            prepared_run = prepared_run or Run(of, run, results)
            rows = [prepared_run.row(hasher, n_bits, known.get(n_bits, [])) for n_bits in lengths]
            path.with_suffix(".part").write_text(json.dumps(rows))
            path.with_suffix(".part").replace(path)
            shown = [
                f"{point['options']}: {point['values']['mAP']:.4f}"
                for row in rows
                for point in [row["points"][selected_point(row["points"], "mAP")]]
            ]
            sys.stderr.write(f"{name} run {run} {hasher}: {'; '.join(shown)}\n")


def collected(name: str, results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scores of an experiment's runs, and the points of the grids; empty if there are none.

    A hasher whose options were also selected by its own metric has a second row, named `HASHER by METRIC`.
    """
    of, scores, searched = experiment(name), [], []
    (split,) = of.config["splits"]
    place = dict(zip(PLACE, (of.config["dataset"], "gist", "class_label", split), strict=True))
    for path in sorted((results / name).glob("*.json")):
        for row in json.loads(path.read_text()):
            grid = of.hashers[row["hasher"]].grid
            for criterion in criteria(row["hasher"], grid):
                label = row["hasher"] if criterion == "mAP" else f"{row['hasher']} by {criterion}"
                combination = {**place, "run": row["run"], "hasher": label, "n_bits": row["n_bits"]}
                chosen = selected_point(row["points"], criterion)
                for metric, value in row["points"][chosen]["values"].items():
                    error = row["points"][chosen]["errors"][metric]
                    scores.append({**combination, "metric": metric, "value": value, "error": error})
                for number, point in enumerate(row["points"]):
                    searched.append(
                        {
                            **combination,
                            "options": described(point["options"]),
                            "chosen": number == chosen,
                            "score": point["validation"].get(criterion),
                            "seconds": point["seconds"],
                        }
                    )
    return pd.DataFrame(scores), pd.DataFrame(searched)


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations with the columns of an experiment's ``summary.csv``, for the ledger.

    They are over the runs that all hashers of a split have, so that means can be compared. ITQ is left out: its rows
    on the standard split are those of `results/reference/cifar10`, which has 2,000 training images.
    """
    supervised = runs[runs["hasher"] != "itq"]
    n_hashers = supervised.groupby(PLACE)["hasher"].transform("nunique")
    common = supervised[supervised.groupby([*PLACE, "run"])["hasher"].transform("nunique") == n_hashers]
    found = common.groupby(CELL, as_index=False)["value"].agg(mean="mean", std="std", n_runs="size")
    return found.sort_values(CELL, ignore_index=True)


def shared_by_runs(runs: pd.DataFrame) -> float:
    """Return `shared_variance` of the runs of one dataset and split."""
    place = tuple(runs[["dataset", "split"]].iloc[0])
    for of in map(experiment, EXPERIMENTS.values()):
        if place == (of.config["dataset"], *of.config["splits"]):
            sizes = of.sizes(place[1])
            return shared_variance(sizes["query"], sizes["database"])
    raise ValueError(f"no experiment has the dataset and the split {place}")


def interval(values: pd.Series, errors: pd.Series | None = None, *, shared: float) -> float:
    """Return half of a 95 % interval: of a mean over runs that share items; of one or two runs, over the queries."""
    if len(values) > 2:
        low, high = mean_of(values, shared=shared).interval()
        return (high - low) / 2
    return float("nan") if errors is None else float(1.96 * errors.mean())


def with_interval(mean: float, half: float, sign: str = "") -> str:
    """Return a mean with half of its interval, if it has one."""
    return f"{mean:{sign}.4f}" + ("" if np.isnan(half) else f" ± {half:.4f}")


def table(runs: pd.DataFrame, metric: str, order: list[str]) -> str:
    """Return the means of a metric with their intervals as Markdown: a row per hasher, a column per code length."""
    own = runs[runs["metric"] == metric]
    lengths, shared = sorted(own["n_bits"].unique()), shared_by_runs(own)
    lines = [f"| hasher | runs | {' | '.join(f'{n} bits' for n in lengths)} |", "|---" * (2 + len(lengths)) + "|"]
    for hasher in (name for name in with_own_metric(order) if (own["hasher"] == name).any()):
        of_hasher = own[own["hasher"] == hasher]
        cells = []
        for n_bits in lengths:
            rows = of_hasher[of_hasher["n_bits"] == n_bits]
            cells.append(with_interval(rows["value"].mean(), interval(rows["value"], rows["error"], shared=shared)))
        lines.append(f"| {hasher} | {of_hasher['run'].nunique()} | {' | '.join(cells)} |")
    return "\n".join(lines)


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
    own = runs[(runs["metric"] == metric) & runs["hasher"].isin([above, below])]
    values = own.pivot_table("value", ["n_bits", "run"], "hasher")
    errors = own.pivot_table("error", ["n_bits", "run"], "hasher", dropna=False)
    if not {above, below} <= set(values):
        return None
    differences = (values[above] - values[below]).dropna()
    found = {}
    for n_bits, rows in differences.groupby("n_bits"):
        # The errors over the same queries are treated as independent: too wide if hashers agree on which are hard.
        error = np.hypot(errors.loc[rows.index, above], errors.loc[rows.index, below])
        found[int(n_bits)] = (float(rows.mean()), interval(rows, error, shared=shared_by_runs(own)))
    return Comparison(above, below, found) if found else None


def ordering(runs: pd.DataFrame, metric: str, pairs: list[tuple[str, str]]) -> str:
    """Return a sentence on each pair, after one on all of them."""
    all_pairs = {pair: compared(runs, metric, *pair) for pair in pairs}
    found = [own for own in all_pairs.values() if own is not None]
    missing = [f"`{above}` over `{below}`" for (above, below), own in all_pairs.items() if own is None]
    if not found:
        return "Not run."
    cells = [mean for own in found for mean, _ in own.differences.values()]
    sure = [own.sure for own in found]
    higher = sum(value > 0 for value in cells)
    verdict = "holds" if higher == len(cells) else "does not hold" if higher <= len(cells) / 2 else "holds in part"
    total = (
        f"By {metric}, the order **{verdict}** ({len(found)} of {len(pairs)} pairs of hashers were run): of "
        f"{len(cells)} differences, {higher} are positive; {sum(up for up, _ in sure)} intervals are above 0 and "
        f"{sum(down for _, down in sure)} below 0."
    )
    return "\n".join([total, "", *(own.sentence() for own in found), *(f"- not run: {pair}" for pair in missing)])


def against_baseline(runs: pd.DataFrame, data: str) -> tuple[str, str]:
    """Return a sentence on whether TALR beats the trivial baseline, and lines on this and on the other hashers."""
    verdicts, lines = [], []
    for code in BASELINES:
        found = compared(runs, "mAP", "talr_ap", code)
        if found is not None:
            higher, n = sum(mean > 0 for mean, _ in found.differences.values()), len(found.differences)
            verdict = {n: "beats", 0: "loses to"}.get(higher, f"beats at only {higher} of {n} code lengths")
            verdicts.append(f"**{verdict}** `{code}`")
            lines.append(found.sentence())
    others = {name: compared(runs, "mAP", name, BASELINES[-1]) for name in sorted(set(runs["hasher"]) - set(BASELINES))}
    names = [
        f"`{name}`"
        for name, found in others.items()
        if found and all(mean > 0 for mean, _ in found.differences.values())
    ]
    better = ", ".join(names) or "no hasher"
    lines.append(f"- better than `{BASELINES[-1]}` at every code length, over the runs of both: {better}")
    return f"On {data}, `talr_ap` {' and '.join(verdicts)} by mAP.", "\n".join(lines)


def of_split(runs: pd.DataFrame, dataset: str, split: str) -> pd.DataFrame:
    return runs[(runs["dataset"] == dataset) & (runs["split"] == split)]


def page(folder: Path) -> str:
    """Return the conclusions from the tables."""
    runs, searched = (pd.read_csv(folder / f"{name}.csv") for name in ("runs", "selection"))
    made = json.loads((folder / "provenance.json").read_text())
    order = list(experiment(EXPERIMENTS["S1"]).features["gist"].hashers)
    s1, s2 = of_split(runs, "cifar10", "standard"), of_split(runs, "cifar10", "cifar10_s2")
    small = of_split(runs, "digits", "standard")
    parts = [INTRODUCTION]
    parts += ["## mAP", f"CIFAR-10, sizes of S1:\n\n{table(s1, 'mAP', order)}"]
    parts += [f"CIFAR-10, S2:\n\n{table(s2, 'mAP', order)}" if len(s2) else "S2 was not run."]
    parts += [f"Digits, each hasher with its default options:\n\n{table(small, 'mAP', order)}"]
    parts += ["## Does TALR beat the trivial baseline?"]
    for own, name in ((s1, "CIFAR-10 with the sizes of S1"), (s2, "CIFAR-10 with S2"), (small, "the digits")):
        parts += against_baseline(own, name) if (own["hasher"] == "talr_ap").any() else []
    parts += ["## The order of TALR's paper: list-wise, then triplets, then pairs", ABOUT_TALR]
    parts += [ordering(s1, "mAP", LIST_OVER_TRIPLET_OVER_PAIR)]
    if len(s2):
        parts += [
            "On S2, with intervals over the queries of two runs:",
            ordering(s2, "mAP", LIST_OVER_TRIPLET_OVER_PAIR),
        ]
    parts += ["## Bucket-aware objectives and others", ABOUT_BUCKETS]
    for metric in ("RAMAP@r2", "mLGAP@r2"):
        parts += [f"### {metric}", table(s1, metric, order), ordering(s1, metric, BUCKETS_OVER_OTHERS)]
        if len(s2):
            parts += [f"S2:\n\n{table(s2, metric, order)}", ordering(s2, metric, BUCKETS_OVER_OTHERS)]
    for metric, name in (("precision@r2", "Precision within radius 2"), ("utilisation", "Utilisation")):
        parts += [f"## {name}", f"CIFAR-10, sizes of S1:\n\n{table(s1, metric, order)}"]
    parts += ["## Selected options", selected(searched, order), "## Training time", seconds(searched, order)]
    parts += ["## Provenance", "\n".join(f"- {name}: {text}" for name, text in made.items())]
    return "\n\n".join(part for part in parts if part) + "\n"


def selected(searched: pd.DataFrame, order: list[str]) -> str:
    """Return how often each point of a grid was selected, over runs and code lengths, and how often it was an end."""
    own = searched[searched["options"].notna()]
    lines = [
        "How often each point was selected, over runs and code lengths. If an end of a grid was selected, the last",
        "column contains the largest gain of a selected end over its neighbour, in the metric of the selection. The",
        "grid of `grh` ends at the bound of its option.",
        "",
        "| hasher | points | end selected | gain of the last step |",
        "|---|---|---|---|",
    ]
    for hasher in (name for name in with_own_metric(order) if (own["hasher"] == name).any()):
        rows = own[own["hasher"] == hasher]
        times = rows.groupby("options", sort=False)["chosen"].sum()
        ends, gains = 0, []
        for _, grid in rows.groupby(["run", "n_bits"]):
            scores, chosen = grid["score"].to_numpy(), int(np.flatnonzero(grid["chosen"])[0])
            if chosen in (0, len(scores) - 1):
                ends += 1
                gains.append(scores[chosen] - scores[1 if chosen == 0 else -2])
        counts = ", ".join(f"{point}: {count}" for point, count in times.items())
        lines.append(f"| {hasher} | {counts} | {ends} of {times.sum()} | {f'{max(gains):.4f}' if gains else ''} |")
    return "\n".join(lines)


def with_own_metric(order: list[str]) -> list[str]:
    """Return hashers, each with the name of its row that was selected by its own metric."""
    return [label for name in order for label in (name, f"{name} by {OWN_METRIC.get(name)}")]


def seconds(searched: pd.DataFrame, order: list[str]) -> str:
    """Return the median CPU seconds of a fit."""
    median = searched.pivot_table("seconds", "hasher", ["dataset", "split"], "median")
    median = median.reindex([name for name in order if name in median.index])
    fits = searched.drop_duplicates([*PLACE, "run", "hasher", "n_bits", "options"])
    fits = fits[~fits["hasher"].str.contains(" by ")]
    lines = [
        f"{len(fits):,} fits took {fits['seconds'].sum() / 3600:.1f} hours of one core, without scoring. CPU seconds",
        "of a fit, medians over runs, code lengths and points of the grids:",
        "",
    ]
    lines += [
        f"| hasher | {' | '.join(' '.join(column) for column in median)} |",
        "|---" * (1 + len(median.columns)) + "|",
    ]
    for hasher, values in median.iterrows():
        lines.append(f"| {hasher} | {' | '.join('' if np.isnan(x) else f'{x:.1f}' for x in values)} |")
    return "\n".join(lines)


def write(results: Path, folder: Path = FOLDER) -> None:
    """Write the tables of all runs that exist, and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    found = [collected(name, results) for name in EXPERIMENTS.values()]
    runs = pd.concat([scores for scores, _ in found if len(scores)], ignore_index=True)
    searched = pd.concat([rows for _, rows in found if len(rows)], ignore_index=True)
    runs = runs.sort_values([*CELL[:5], "run", *CELL[5:]], ignore_index=True)
    order = [*PLACE, "run", "hasher", "n_bits"]
    runs[[*order, "metric", "value", "error"]].to_csv(
        folder / "runs.csv", index=False, float_format="%.9g", lineterminator="\n"
    )
    summary(runs).to_csv(folder / "summary.csv", index=False, float_format="%.9g", lineterminator="\n")
    columns = [*order, "options", "chosen", "score", "seconds"]
    searched.sort_values(order, kind="stable")[columns].to_csv(
        folder / "selection.csv", index=False, float_format="%.6g", lineterminator="\n"
    )
    (folder / "provenance.json").write_text(json.dumps(provenance(results), indent=2) + "\n")
    (folder / "README.md").write_text(page(folder))


def provenance(results: Path) -> dict[str, str]:
    """Return how the tables were made."""
    (features,) = (results / "datasets").glob("cifar10*/gist/features.h5")
    record = storage.read_provenance(features)
    libraries = ("numpy", "scipy", "scikit-learn", "torch", "hashing-protocol")
    configs = ", ".join(f"`workflow/config/{name}.yaml`" for name in EXPERIMENTS.values())
    return {
        "made by": "`python tests/reference/supervised_tables.py`, one thread for each process",
        "experiments": f"{configs}, seed 0; every other seed derives from it as in the pipeline",
        "features of CIFAR-10": f"digest `{record['digest']}`, options {json.dumps(record['parameters'])}",
        "data": "; ".join(record["notes"]) or "the official archive",
        "versions": f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in libraries)}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", nargs="?", choices=["run"])
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--runs", type=int, nargs="*")
    parser.add_argument("--hashers", nargs="*")
    given = parser.parse_args()
    if given.step:
        make(given.experiment, given.results, given.runs, given.hashers)
    else:
        write(given.results)
