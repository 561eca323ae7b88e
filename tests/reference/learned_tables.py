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
from protocol.counting import lookup_time, unpack_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.report.display import histogram_rows
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
PUBLISHED = {  # mLGAP's paper, table 1, CIFAR-10; which does not state the radius
    ("deep_supervised", 12): ("0.6012", "0.2633"),
    ("deep_supervised", 24): ("0.6407", "0.2889"),
    ("buffer_zone", 12): ("0.3008", "0.2796"),
    ("buffer_zone", 24): ("0.3124", "0.3461"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--curves", type=Path, default=mlgap_curves.OUTPUT)
    folder = parser.parse_args().curves
    finished = [name for name in EXPERIMENTS if (pages.RESULTS / name / "summary.csv").exists()]
    curves = sorted(folder.glob("*-*.csv"))
    if not finished and not curves:
        sys.exit(f"{pages.RESULTS}: no finished run; snakemake --cores all --configfile workflow/config/NAME.yaml")
    if curves:
        _store_curves(curves, folder / "precisions.csv")
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
        row = {"hasher": hasher, "feature": feature, "draw": draw.name}
        rows.append(row | {"epochs": epochs, "seconds": seconds, "losses": "; ".join(losses)})
    return rows


def _first_hits(run: Path, draw: Path) -> tuple[list[dict], list[dict]]:
    """Return the median radius at which a search first finds an item, and the times of an inverted index."""
    hits, times = [], []
    database = storage.read(run / "splits" / "cifar10_s1" / "run0" / "splits.h5", ["database"])["database"]
    for hasher in M:
        packed = codes.of_split(storage.read(draw / "run0" / hasher / "codes.h5"), database)
        counts = [_counts(path / "counts.h5") for path in sorted(draw.glob(f"run*/{hasher}"))]
        for n_bits, of_length in packed.items():
            within = [unpack_counts(one[str(n_bits)])["class_label"].retrieved_within for one in counts]
            cell = {"n_bits": n_bits, "hasher": hasher}
            radius = np.concatenate([(retrieved > 0).argmax(axis=1) for retrieved in within])
            hits.append(cell | {"median_radius": int(np.median(radius))})
            seconds = lookup_time(of_length["query"][:100], of_length["database"], n_bits, radius=TIMED)
            times += [cell | {"radius": r, "milliseconds": f"{1000 * s:.3g}"} for r, s in enumerate(seconds)]
    return tuple(sorted(rows, key=lambda row: row["n_bits"]) for rows in (hits, times))


def _counts(path: Path) -> dict[str, dict]:
    """Return the counts of the only split in a file, by code length."""
    (of_split,) = storage.grouped(storage.read(path)).values()
    return {key.split()[0]: arrays for key, arrays in storage.grouped(of_split).items()}


def _without_empty_balls(draw: Path) -> list[dict[str, Any]]:
    """Return mLGAP where a radius with an empty ball is left out of a query's mean, which the paper leaves open."""
    rows = []
    for path in draw.glob("run0/*/counts.h5"):
        for n_bits, arrays in _counts(path).items():
            scores = evaluate(unpack_counts(arrays)["class_label"], GAPS[1:], empty="drop")
            means = {name: f"{mean(values):.4f}" for name, values in scores.items()}
            rows.append({"n_bits": int(n_bits), "hasher": path.parent.name} | means)
    return sorted(rows, key=lambda row: (row["n_bits"], row["hasher"]))


def _store_curves(paths: list[Path], precisions: Path) -> None:
    """Store the tables of `mlgap_curves.py`, as far as they can be compared, the figure, and the codes of run 0.

    The networks are in the other tables as well once their training is complete.
    """
    table = _comparable(pd.concat([pd.read_csv(path, dtype=str) for path in paths]))
    pages.write(table, FOLDER / "curves.csv")
    if precisions.exists():
        shutil.copy(precisions, FOLDER / "precisions.csv")
    _draw(pd.read_csv(FOLDER / "curves.csv"))
    for name, rows in followed_rows().items():
        store(name, "curves", rows)
    rows = []
    for hasher in followed_rows()["metrics"]["hasher"].unique():
        database = storage.read(paths[0].parent / f"{FOLLOWED[hasher]}-0.h5", ["train"])["train"]
        rows += [CODES | {"hasher": hasher} | row for row in histogram_rows(database, mlgap_curves.N_BITS)]
    if rows:
        pages.write(pd.DataFrame(rows), FOLDER / "histogram.csv")


def _comparable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the runs with the most epochs, up to the last epoch that all their networks reached."""
    order = {name: number for number, name in enumerate(mlgap_curves.NETWORKS)}
    keys = pd.DataFrame({"network": table["network"].map(order), "run": table["run"], "epoch": table["epoch"]})
    keys = keys.astype(int)
    reached = keys.pivot_table(index="run", columns="network", values="epoch", aggfunc="max")
    reached = reached.reindex(columns=list(order.values()))
    last = reached.min(axis=1, skipna=False)
    runs = last.index[last == last.max()]
    keys = keys.reset_index(drop=True)
    keys = keys[keys["run"].isin(runs) & (keys["epoch"] <= last.max())]
    return table.iloc[keys.sort_values(["network", "run", "epoch"]).index]


def _draw(curves: pd.DataFrame) -> None:
    shown = ["mAP", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2"]
    long = curves.melt(id_vars=["network", "run", "epoch"], value_vars=shown, var_name="metric")
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
    """Return the last rows of the curves as rows of `metrics.csv` and `summary.csv`; none before the last epoch."""
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
    for name in ("mean", "std"):
        summary[name] = ["" if np.isnan(value) else DIGITS % value for value in summary[name]]
    return {"metrics": metrics, "summary": summary}


def page() -> str:
    """Return the page that the stored tables make."""
    metrics, summary, curves = pages.read("learned", "metrics", "summary", "curves")
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
        **_precisions(),
        training=pages.markdown(list(training), training.to_numpy()),
        experiments=list(EXPERIMENTS),
        versions=pages.listed(record["versions"]),
        notes=record["notes"],
    )


def _hasher(experiment: str, name: str) -> Any:
    """Return an untrained hasher with the options of an experiment."""
    use = runs.experiment(experiment).hashers[name]
    return registry.get("hasher", use.plugin)(**use.options)


def _ramap(feature: str, per_run: pd.DataFrame, summary: pd.DataFrame) -> dict[str, Any]:
    """Return the tables of RAMAP's methods over a feature, by code length, and the paper's statements about them."""
    names = ["mAP", *(f"{metric}@r{radius}" for metric in ("RAMAP", "empty", "precision") for radius in RADII)]
    hashers = ["itq", *M]
    scores = summary[(summary["split"] == "cifar10_s1") & (summary["feature"] == feature)]
    scores = scores[scores["hasher"].isin(hashers)].sort_values("hasher", key=lambda c: c.map(hashers.index))
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
        lengths[n_bits] = by_metric, pages.grid(found, rows, "radius", "{milliseconds}", head="ms at R = {}")
    return {"lengths": lengths, "verdicts": verdicts(by_run(per_run, feature))}


def by_run(metrics: pd.DataFrame, feature: str) -> pd.DataFrame:
    """Return the scores of RAMAP's methods over a feature, a row for every length, metric and run."""
    ours = metrics[(metrics["split"] == "cifar10_s1") & (metrics["feature"] == feature)]
    return ours.pivot_table(index=["n_bits", "metric", "run"], columns="hasher", values="value")


def verdicts(per_run: pd.DataFrame) -> str:
    """Return each of the paper's orderings, and in how many runs it holds."""
    lines = []
    for n_bits in sorted(per_run.index.unique("n_bits")):
        of = per_run.loc[n_bits]
        n_runs = len(of.loc["mAP"])
        spread = of.loc["mAP"][list(M)].agg(lambda row: row.max() - row.min(), axis=1)
        lines.append(
            f"- {n_bits} bits, similar mAP: the four differ by {spread.min():.4f} to {spread.max():.4f} within a run; "
            f"their mean is {of.loc['mAP'][list(M)].to_numpy().mean():.4f} (ITQ {of.loc['mAP']['itq'].mean():.4f})."
        )
        for metric, words, sign in (("RAMAP", "RAMAP falls", -1), ("empty", "the share of empty balls grows", 1)):
            counts = [_ordered(of.loc[f"{metric}@r{radius}"], sign) for radius in RADII]
            shown = ", ".join(f"R = {radius}: {count}" for radius, count in zip(RADII, counts, strict=True))
            lines.append(
                f"- {n_bits} bits, {words} in the order m = 0, 4, 8, 12. Runs in which it does, out of {n_runs}: "
                f"{shown}."
            )
        top = of.loc["precision@r0"]["deep_squared"].mean()
        answered = top / (1 - of.loc["empty@r0"]["deep_squared"].mean())
        reached = ", ".join(f"{of.loc[f'precision@r{m}'][name].mean():.4f} (m = {m})" for name, m in M.items() if m)
        lines.append(
            f"- {n_bits} bits, precision of m-DSH at R = m: {reached}. That of deep squared hashing at R = 0 is "
            f"{top:.4f} if empty balls count as 0, and {answered:.4f} over the queries that find an item."
        )
        higher = {r: of.loc[f"precision@r{r}"].eval("m_dsh_4 > deep_squared").sum() for r in (*range(4), *RADII[3:])}
        shown = ", ".join(f"R = {radius}: {count}" for radius, count in higher.items())
        lines.append(
            f"- {n_bits} bits, 4-DSH has a higher precision than deep squared hashing, in the paper from R = 3 on. "
            f"Runs in which it has, out of {n_runs}: {shown}."
        )
    return "\n".join(lines)


def _ordered(scores: pd.DataFrame, sign: int) -> int:
    """Return in how many runs scores strictly grow (1) or fall (-1) with m."""
    return int((sign * np.diff(scores[list(M)].to_numpy(), axis=1) > 0).all(axis=1).sum())


def _mlgap(summary: pd.DataFrame) -> dict[str, str]:
    scores = summary[(summary["split"] == "cifar10_s2") & ~summary["hasher"].isin(FOLLOWED)]
    scores = scores.pivot_table(index=["feature", "n_bits", "hasher"], columns="metric", values="mean")
    names = ["mAP", "mAP[best]", "mAP[worst]", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2", "precision@r0", "utilisation"]
    rows, lines = [], []
    for (feature, n_bits), of in scores.groupby(level=["feature", "n_bits"]):
        of = of.loc[feature, n_bits]
        for hasher in ("deep_supervised", "buffer_zone"):
            ours = [f"{of.loc[hasher, name]:.4g}" for name in names]
            rows.append([feature, n_bits, hasher, *ours, *PUBLISHED[hasher, n_bits]])
        change = of.loc["buffer_zone"] - of.loc["deep_supervised"]
        shown = ", ".join(f"{name} {change[name]:+.4f}" for name in names if name.startswith(("mAP", "mLGAP")))
        lines.append(f"- {feature}, {n_bits} bits, buffer zone minus deep supervised hashing: {shown}.")
    header = ["feature", "bits", "", *names, "published mAP", "published mLGAP"]
    return {"mlgap_table": pages.markdown(header, rows), "mlgap_changes": "\n".join(lines)}


def _curves(curves: pd.DataFrame) -> dict[str, Any]:
    """Return the section on the networks that were scored as they learned."""
    names = ["mAP", "mAP[best]", "mAP[worst]", *GAPS[1:], "precision@r0", "empty@r0", "utilisation"]
    last, rows = curves[curves["epoch"] == curves["epoch"].max()].set_index("network"), []
    for network, (hasher, _) in mlgap_curves.NETWORKS.items():
        ours = [_mean_and_std(last.loc[[network], name]) for name in names]
        rows.append([network, *ours, *PUBLISHED[hasher, mlgap_curves.N_BITS]])
    seconds = curves.loc[curves["epoch"] > 1, "seconds"]
    gaps = pd.concat(
        {f"{network}: {name}": gap[name] for network, gap in _gaps(curves).items() for name in GAPS}, axis=1
    )
    differences = [[epoch, *(f"{value:+.4f}" for value in row)] for epoch, row in gaps.iterrows()]
    return {
        "curves": CURVES,
        "reached": curves["epoch"].max(),
        "epochs": mlgap_curves.EPOCHS,
        "learning_rate": f"{registry.get('hasher', 'buffer_zone')().learning_rate:g}",
        "batch_size": mlgap_curves.OPTIONS["batch_size"],
        "n_curves": curves["run"].nunique(),
        "fastest": f"{seconds.min():.0f}",
        "median": f"{seconds.median():.0f}",
        "last_epoch": pages.markdown(["", *names, "published mAP", "published mLGAP"], rows),
        "differences": pages.markdown(["epoch", *gaps], differences),
        "moving": moving(curves),
    }


def _gaps(curves: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return by how much each buffer zone is above deep supervised hashing, by epoch, as a mean over the runs."""
    means = curves.drop(columns=["run"]).groupby(["network", "epoch"]).mean()
    base = means.loc["deep_supervised"]
    return {network: means.loc[network] - base for network in mlgap_curves.NETWORKS if network != "deep_supervised"}


def moving(curves: pd.DataFrame) -> str:
    """Return whether the orderings of table 1 hold at the end, and how they moved since two thirds of the epochs."""
    lines = []
    epochs = sorted(curves["epoch"].unique())
    third = next(epoch for epoch in epochs if 3 * epoch >= 2 * epochs[-1] or epoch == epochs[-2])
    for network, gap in _gaps(curves).items():
        for name, sign in zip(GAPS, (-1, 1, 1, 1), strict=True):
            before, after = gap.loc[third, name], gap.loc[epochs[-1], name]
            holds = "as in the paper" if sign * after > 0 else "against the paper"
            moved = "the gap narrowed" if abs(after) < abs(before) else "the gap widened"
            moved = "the ordering changed" if before * after < 0 else moved
            lines.append(
                f"- {network}, {name}: {after:+.4f}, {holds}. At epoch {third} it was {before:+.4f}, so {moved}."
            )
    return "\n".join(lines)


def _precisions() -> dict[str, Any]:
    """Return the comparison of training in float32 and in bfloat16, if it was made."""
    if not (FOLDER / "precisions.csv").exists():
        return {"precisions": ""}
    (table,) = pages.read("learned", "precisions")
    table = table[table.groupby("run")["precision"].transform("nunique") == 2]
    names = ["seconds", "loss", "mAP", "mLGAP@r0", "mLGAP@r2"]
    rows = [
        [precision, *(_mean_and_std(part[name]) for name in names)]
        for precision, part in table.groupby("precision", sort=False)
    ]
    return {
        "compared_images": mlgap_curves.PRECISION_IMAGES,
        "compared_runs": table["run"].nunique(),
        "precisions": pages.markdown(["", *names], rows),
    }


def _mean_and_std(values: pd.Series) -> str:
    return f"{values.mean():.4f}" + (f" ± {values.std():.4f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
