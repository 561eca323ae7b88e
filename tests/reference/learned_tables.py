"""Scores of the learned objectives on CIFAR-10: makes ``results/reference/learned/`` from finished runs.

Run by hand after any of the experiments `cifar10_learned`, `cifar10_learned_images`, `cifar10_mlgap` and
`cifar10_mlgap_images` (`snakemake --cores all --configfile workflow/config/NAME.yaml`), and after `mlgap_curves.py`:
`python tests/reference/learned_tables.py [--curves FOLDER]`, the folder to which `mlgap_curves.py` wrote. The rows of
experiments that are not in the folder of results stay as they are stored; the page is made from the stored tables.
"""

import argparse
import json
import shutil
import sys
from math import comb
from pathlib import Path
from typing import Any

import altair
import mlgap_curves
import numpy as np
import pages
import pandas as pd
import runs

from protocol import codes, registry
from protocol.counting import lookup_time, read_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.report.examples import histogram_rows
from protocol.scores.tables import DIGITS

FOLDER = pages.REFERENCE / "learned"
EXPERIMENTS = {
    "cifar10_learned": ("gist", "cifar10_s1"),
    "cifar10_learned_images": ("pixels", "cifar10_s1"),
    "cifar10_mlgap": ("gist", "cifar10_s2"),
    "cifar10_mlgap_images": ("pixels", "cifar10_s2"),
}
"""The feature and the split of each experiment: the first two are RAMAP's, section 5.2, the others mLGAP's, table 1."""
FOLLOWED = {f"{name}_{mlgap_curves.EPOCHS}": name for name in mlgap_curves.NETWORKS}
"""Names in the tables of the networks that `mlgap_curves.py` trains; they differ from those of the experiments."""
CODES = {"dataset": "cifar10", "feature": "pixels", "split": "cifar10_s2"}
CURVES = f"mLGAP, table 1: {mlgap_curves.N_BITS} bits on images, epoch by epoch"
M = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
RADII = (0, 1, 2, 4, 8, 12)
GAPS = ["mAP", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2"]
TIMED = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--curves", type=Path, default=mlgap_curves.OUTPUT)
    folder = parser.parse_args().curves
    finished = [name for name in EXPERIMENTS if (pages.RESULTS / name / "summary.csv").exists()]
    numbers = sorted({int(path.stem.rpartition("-")[2]) for path in folder.glob("*-*.csv")})
    complete = [run for run in numbers if all(mlgap_curves.complete(folder, name, run) for name in FOLLOWED.values())]
    if not finished and not complete:
        sys.exit(f"{pages.RESULTS}: no finished run; snakemake --cores all --configfile workflow/config/NAME.yaml")
    if complete:
        _store_curves(folder, complete)
    for name in finished:
        _store_experiment(name, pages.RESULTS / name)
    pages.store("learned", page())


def read_text(*names: str) -> list[pd.DataFrame]:
    """Return stored tables whose cells are text, so that they are written as they are."""
    return pages.read("learned", *names, dtype=str, keep_default_na=False)


def store(name: str, part: str, rows: pd.DataFrame) -> None:
    """Replace the rows of an experiment, or of the networks of `mlgap_curves.py`, in a stored table."""

    def parts(table: pd.DataFrame) -> pd.Series:
        if "experiment" in table:
            return table["experiment"]
        names = {place: experiment for experiment, place in EXPERIMENTS.items()}
        of = pd.Series(list(map(names.get, zip(table["feature"], table["split"], strict=True))), table.index)
        return of.mask(table["hasher"].isin(FOLLOWED), "curves")

    (stored,) = read_text(name)
    table = pd.concat([stored[parts(stored) != part], rows[stored.columns].astype(str)], ignore_index=True)
    order = parts(table).map([*EXPERIMENTS, "curves"].index)
    pages.write(table.loc[order.sort_values(kind="stable").index], FOLDER / f"{name}.csv")


def _store_experiment(name: str, run: Path) -> None:
    feature, split = EXPERIMENTS[name]
    for table in ("metrics", "summary"):
        scores = pd.read_csv(run / f"{table}.csv", dtype=str, keep_default_na=False)
        store(table, name, scores[(scores["feature"] == feature) & (scores["split"] == split)])
    (draw,) = (path.parent for path in run.glob(f"{feature}/*/run0"))
    store("training", name, pd.DataFrame(_times(run, feature, draw)).assign(experiment=name))
    if split == "cifar10_s1":
        hits, times = _first_hits(run, draw)
        place = {"experiment": name, "dataset": "cifar10", "feature": feature, "split": split}
        store("first_hits", name, pd.DataFrame(hits).assign(**place))
        store("lookups", name, pd.DataFrame(times).assign(**place).drop(columns="experiment"))
    else:
        rows = pd.DataFrame(_without_empty_balls(draw)).assign(experiment=name, feature=feature)
        store("without_empty_balls", name, rows)
    if name == "cifar10_learned":
        record = storage.read_provenance(draw / "run0" / "deep_squared" / "codes.h5")
        text = json.dumps({key: record[key] for key in ("notes", "versions")}, indent=2)
        (FOLDER / "provenance.json").write_text(text + "\n")


def _times(run: Path, feature: str, draw: Path) -> list[dict[str, Any]]:
    """Return the seconds, epochs and losses of each hasher in run 0."""
    rows = []
    for path in sorted(run.glob("benchmarks/*/*/run0/*/model.tsv")):
        hasher = path.parent.name
        fits = storage.read_provenance(draw / "run0" / hasher / "models.h5")["fits"]
        (epochs,) = {fit.get("epochs", "") for fit in fits.values()}
        losses = [
            f"{n_bits} bits: {fit['loss'][0]:.4g} to {fit['loss'][1]:.4g}"
            for n_bits, fit in fits.items()
            if "loss" in fit
        ]
        seconds = f"{pd.read_csv(path, sep=chr(9))['cpu_time'].iloc[0]:.0f}"
        row = {"hasher": hasher, "feature": feature, "sample": draw.name}
        rows.append(row | {"epochs": epochs, "seconds": seconds, "losses": "; ".join(losses)})
    return rows


def _first_hits(run: Path, draw: Path) -> tuple[list[dict], list[dict]]:
    """Return the median radius at which a search first finds an item, and the times of an inverted index."""
    hits, times = [], []
    database = storage.read(run / "splits" / "cifar10_s1" / "run0" / "splits.h5", ["database"])["database"]
    for hasher in M:
        packed = codes.of_split(storage.read(draw / "run0" / hasher / "codes.h5"), database)
        counts = list(read_counts(draw.parent / "counts" / f"{hasher}.h5"))
        for n_bits, of_length in packed.items():
            within = [stored.counts.retrieved_within for stored in counts if stored.n_bits == n_bits]
            cell = {"n_bits": n_bits, "hasher": hasher}
            radius = np.concatenate([(retrieved > 0).argmax(axis=1) for retrieved in within])
            hits.append(cell | {"median_radius": int(np.median(radius))})
            seconds = lookup_time(of_length["query"][:100], of_length["database"], n_bits, radius=TIMED)
            times += [cell | {"radius": r, "milliseconds": f"{1000 * s:.3g}"} for r, s in enumerate(seconds)]
    return tuple(sorted(rows, key=lambda row: row["n_bits"]) for rows in (hits, times))


def _without_empty_balls(draw: Path) -> list[dict[str, Any]]:
    """Return mLGAP where a radius with an empty ball is left out of a query's mean, which the paper leaves open."""
    rows = []
    for path in (draw.parent / "counts").glob("*.h5"):
        for stored in read_counts(path):
            if stored.run == 0:
                scores = evaluate(stored.counts, GAPS[1:], empty="drop")
                means = {name: f"{mean(values):.4f}" for name, values in scores.items()}
                rows.append({"n_bits": stored.n_bits, "hasher": path.stem} | means)
    return sorted(rows, key=lambda row: (row["n_bits"], row["hasher"]))


def _store_curves(folder: Path, numbers: list[int]) -> None:
    """Store the tables, figure and codes of the runs of `mlgap_curves.py` in which every network is complete."""
    parts = [pd.read_csv(folder / f"{name}-{run}.csv", dtype=str) for name in FOLLOWED.values() for run in numbers]
    pages.write(pd.concat(parts), FOLDER / "curves.csv")
    if (folder / "precisions.csv").exists():
        shutil.copy(folder / "precisions.csv", FOLDER / "precisions.csv")
    _draw(pd.read_csv(FOLDER / "curves.csv"))
    for name, rows in followed_rows().items():
        store(name, "curves", rows)
    codes_of = {
        hasher: storage.read(folder / f"{name}-{numbers[0]}.h5", ["train"]) for hasher, name in FOLLOWED.items()
    }
    rows = [
        CODES | {"hasher": hasher} | row
        for hasher, packed in codes_of.items()
        for row in histogram_rows(packed["train"], mlgap_curves.N_BITS)
    ]
    pages.write(pd.DataFrame(rows), FOLDER / "histogram.csv")


def _draw(curves: pd.DataFrame) -> None:
    long = curves.melt(id_vars=["network", "run", "epoch"], value_vars=GAPS, var_name="metric")
    long["metric"] = long["metric"].str.replace("@r", " at radius ")
    base = altair.Chart(long).encode(
        x=altair.X("epoch:Q"), color=altair.Color("network:N", sort=list(FOLLOWED.values()))
    )
    lines = base.mark_line(opacity=0.5).encode(y=altair.Y("value:Q", title=None), detail="run:N")
    points = base.mark_point(filled=True, size=25).encode(y=altair.Y("mean(value):Q", title=None))
    titles = [*dict.fromkeys(long["metric"])]
    (lines + points).properties(width=200, height=200).facet(
        column=altair.Column("metric:N", title=None, sort=titles)
    ).resolve_scale(y="independent").save(FOLDER / "curves.svg")


def followed_rows() -> dict[str, pd.DataFrame]:
    """Return the last rows of the curves as rows of `metrics.csv` and `summary.csv`."""
    (curves,) = pages.read("learned", "curves", dtype=str)
    last = curves[curves["epoch"] == str(mlgap_curves.EPOCHS)]
    names = {network: name for name, network in FOLLOWED.items()}
    rows = last.melt(["network", "run"], mlgap_curves.METRICS, "metric").assign(
        **CODES, ground_truth="class_label", n_bits=mlgap_curves.N_BITS, extension="none", extension_bits=0
    )
    order = rows["network"].map([*mlgap_curves.NETWORKS].index).sort_values(kind="stable").index
    metrics = rows.loc[order].assign(hasher=rows["network"].map(names)).drop(columns="network")
    cell = [name for name in metrics if name not in ("run", "value")]
    values = metrics.astype({"value": float}).groupby(cell, sort=False)["value"]
    summary = values.agg(mean="mean", std="std", n_runs="size").reset_index()
    sizes = runs.experiment("cifar10_mlgap_images").sizes(CODES["split"])
    summary = summary.assign(n_queries=sizes["query"], n_database=sizes["database"])
    for name in ("mean", "std"):
        summary[name] = ["" if np.isnan(value) else DIGITS % value for value in summary[name]]
    return {"metrics": metrics, "summary": summary}


def page() -> str:
    """Return the page that the stored tables make."""
    metrics, summary, curves, precisions = pages.read("learned", "metrics", "summary", "curves", "precisions")
    training, without_empty = read_text("training", "without_empty_balls")
    record = json.loads((FOLDER / "provenance.json").read_text())
    per_run = metrics[metrics["split"] == "cifar10_s1"]
    hashers = [("cifar10_learned", "deep_squared"), ("cifar10_learned_images", "deep_squared")]
    hashers += [("cifar10_mlgap", "buffer_zone"), ("cifar10_mlgap_images", "buffer_zone")]
    names = ("ramap", "ramap_images", "mlgap", "images")
    columns = {"hasher": "", "seconds": "s of one core", "losses": "mean loss, first to last epoch"}
    training = training.drop(columns="experiment").rename(columns=columns)
    without_empty = without_empty.drop(columns="experiment").rename(columns={"n_bits": "bits", "hasher": ""})
    return pages.render(
        "learned",
        **{name: _hasher(*hasher) for name, hasher in zip(names, hashers, strict=True)},
        n_runs=per_run.groupby("feature")["run"].nunique(),
        followed=", ".join(f"`{name}`" for name in FOLLOWED),
        parts={feature: _ramap(feature, per_run, summary) for feature in per_run["feature"].unique()},
        **_mlgap(summary),
        without_empty=pages.markdown(list(without_empty), without_empty.to_numpy()),
        **_curves(curves),
        compared_images=mlgap_curves.PRECISION_IMAGES,
        compared_runs=precisions["run"].nunique(),
        precisions=_means(precisions, "precision", ["seconds", "loss", *GAPS]),
        training=pages.markdown(list(training), training.to_numpy()),
        experiments=list(EXPERIMENTS),
        versions=pages.listed(record["versions"]),
        notes=record["notes"],
    )


def _hasher(experiment: str, name: str) -> Any:
    """Return an untrained hasher with the options of an experiment."""
    variant = runs.experiment(experiment).hashers[name]
    return registry.get("hasher", variant.plugin)(**variant.options)


def _ramap(feature: str, per_run: pd.DataFrame, summary: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """Return the tables of RAMAP's methods over a feature, and what its paper states about them, by code length."""
    names = ["mAP", *(f"{metric}@r{radius}" for metric in ("RAMAP", "empty", "precision") for radius in RADII)]
    hashers = ["itq", *M]
    scores = summary[(summary["split"] == "cifar10_s1") & (summary["feature"] == feature)]
    scores = scores[scores["hasher"].isin(hashers)].sort_values("hasher", key=lambda c: c.map(hashers.index))
    values = per_run[per_run["feature"] == feature].pivot_table("value", ["n_bits", "metric", "run"], "hasher")
    tables = pages.read("learned", "first_hits", "lookups", dtype={"milliseconds": str})
    hits, times = (table[table["feature"] == feature] for table in tables)
    lengths = {}
    for n_bits, part in scores.groupby("n_bits"):
        by_metric = pages.grid(part.rename(columns={"metric": ""}), "", "hasher", "{mean:.4f} ± {std:.4f}", order=names)
        found = times[times["n_bits"] == n_bits].merge(hits, on=["hasher", "n_bits"])
        radius = found["median_radius"]
        found["lookups to it"] = [f"{sum(comb(n_bits, d) for d in range(median + 1)):,}" for median in radius]
        found = found.rename(columns={"hasher": "", "median_radius": "median radius of the first item"})
        rows = ["", "median radius of the first item", "lookups to it"]
        of = values.loc[n_bits]
        precision = of.loc["mAP"][list(M)]
        first = of.loc[["precision@r0", "empty@r0"], "deep_squared"].groupby("metric").mean()
        lengths[n_bits] = {
            "scores": by_metric,
            "hits": pages.grid(found, rows, "radius", "{milliseconds}", head="ms at R = {}"),
            "n_runs": len(precision),
            "spread": (precision.max(axis=1) - precision.min(axis=1)).agg(["min", "max"]),
            "answered": first["precision@r0"] / (1 - first["empty@r0"]),
            "holds": pages.grid(holding(of), "in the paper", "radius", "{runs}", head="R = {}"),
        }
    return lengths


def holding(scores: pd.DataFrame) -> pd.DataFrame:
    """Return in how many runs each ordering of RAMAP's paper holds, from scores by metric and run."""
    rows = []
    for radius in (*range(4), *RADII[3:]):
        precision = scores.loc[f"precision@r{radius}"]
        above = (precision["m_dsh_4"] > precision["deep_squared"]).sum()
        rows.append(["precision of 4-DSH above that of deep squared hashing (from R = 3 on)", radius, above])
        for metric, sign, statement in (("RAMAP", -1, "RAMAP falls with m"), ("empty", 1, "empty balls grow with m")):
            if radius in RADII:
                steps = sign * np.diff(scores.loc[f"{metric}@r{radius}"][list(M)].to_numpy(), axis=1)
                rows.append([statement, radius, (steps > 0).all(axis=1).sum()])
    return pd.DataFrame(rows, columns=["in the paper", "radius", "runs"])


def _mlgap(summary: pd.DataFrame) -> dict[str, str]:
    names = ["mAP", "mAP[best]", "mAP[worst]", *GAPS[1:], "precision@r0", "utilisation"]
    scores = summary[(summary["split"] == "cifar10_s2") & ~summary["hasher"].isin([*FOLLOWED, "itq"])]
    scores = scores[scores["metric"].isin(names)].sort_values(["feature", "n_bits", "hasher"])
    scores = scores.sort_values("metric", key=lambda c: c.map(names.index), kind="stable")
    place = ["feature", "n_bits", "metric"]
    by_hasher = scores.pivot_table("mean", place, "hasher", sort=False)
    changes = (by_hasher["buffer_zone"] - by_hasher["deep_supervised"]).rename("change").reset_index()
    return {
        "mlgap_table": pages.grid(scores, ["feature", "n_bits", "hasher"], "metric", "{mean:.4g}"),
        "mlgap_changes": pages.grid(changes, ["feature", "n_bits"], "metric", "{change:+.4f}"),
    }


def _curves(curves: pd.DataFrame) -> dict[str, Any]:
    """Return the section on the networks that were scored as they learned."""
    names = ["mAP", "mAP[best]", "mAP[worst]", *GAPS[1:], "precision@r0", "empty@r0", "utilisation"]
    seconds = curves.loc[curves["epoch"] > 1, "seconds"]
    means = curves.groupby(["network", "epoch"])[GAPS].mean()
    gaps = {name: means.loc[name] - means.loc["deep_supervised"] for name in ("buffer_zone", "buffer_zone_half")}
    differences = pd.concat(gaps, names=["network"]).reset_index().melt(["network", "epoch"])
    return {
        "curves": CURVES,
        "epochs": mlgap_curves.EPOCHS,
        "learning_rate": f"{registry.get('hasher', 'buffer_zone')().learning_rate:g}",
        "batch_size": mlgap_curves.OPTIONS["batch_size"],
        "n_curves": curves["run"].nunique(),
        "fastest": f"{seconds.min():.0f}",
        "median": f"{seconds.median():.0f}",
        "last_epoch": _means(curves[curves["epoch"] == mlgap_curves.EPOCHS], "network", names),
        "differences": pages.grid(differences, ["network", "epoch"], "variable", "{value:+.4f}"),
    }


def _means(runs: pd.DataFrame, row: str, names: list[str]) -> str:
    """Return means ± standard deviations over runs as Markdown, in the order of the rows and of `names`."""
    values = runs.melt(row, names, "metric").groupby([row, "metric"], sort=False)["value"]
    return pages.grid(values.agg(["mean", "std"]).reset_index(), row, "metric", "{mean:.4f} ± {std:.4f}")


if __name__ == "__main__":
    main()
