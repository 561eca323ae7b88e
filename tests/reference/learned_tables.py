"""Scores of the learned objectives on CIFAR-10: makes ``results/reference/learned/`` from finished runs.

Run by hand after any of the experiments `cifar10_learned`, `cifar10_learned_images`, `cifar10_mlgap` and
`cifar10_mlgap_images` (`snakemake --cores all --configfile workflow/config/NAME.yaml`), and after `mlgap_curves.py`:
`python tests/reference/learned_tables.py [--curves FOLDER]`, the folder to which `mlgap_curves.py` wrote. The rows and
the sections of experiments that are not in the folder of results stay as they are stored.
"""

import argparse
import itertools
import shutil
import sys
from collections.abc import Iterable
from math import comb
from pathlib import Path
from typing import Any

import altair
import mlgap_curves
import numpy as np
import pandas as pd
import yaml

from protocol import codes, registry
from protocol.counting import lookup_time, unpack_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.report.display import histogram_rows
from protocol.scores.tables import DIGITS

ROOT = Path(__file__).parents[2]
RUNS = [
    ROOT / "results" / name
    for name in ("cifar10_learned", "cifar10_learned_images", "cifar10_mlgap", "cifar10_mlgap_images")
]
RAMAP, RAMAP_IMAGES, MLGAP, MLGAP_IMAGES = RUNS
SQUARED = {"gist": RAMAP, "pixels": RAMAP_IMAGES}
PARTS = {
    RAMAP: ("gist", "cifar10_s1"),
    RAMAP_IMAGES: ("pixels", "cifar10_s1"),
    MLGAP: ("gist", "cifar10_s2"),
    MLGAP_IMAGES: ("pixels", "cifar10_s2"),
}
FOLDER = ROOT / "results" / "reference" / "learned"
FOLLOWED = {f"{name}_{mlgap_curves.EPOCHS}": name for name in mlgap_curves.NETWORKS}
"""Names in the tables of the networks that `mlgap_curves.py` trains; they differ from those of the experiments."""
CODES = {"dataset": "cifar10", "feature": "pixels", "split": "cifar10_s2"}
CURVES = f"mLGAP, table 1: {mlgap_curves.N_BITS} bits on images, epoch by epoch"
M = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
RADII = (0, 1, 2, 4, 8, 12)
TIMED = 3
PUBLISHED = {  # mLGAP's paper, table 1, CIFAR-10; which does not state the radius
    ("deep_supervised", 12): ("0.6012", "0.2633"),
    ("deep_supervised", 24): ("0.6407", "0.2889"),
    ("buffer_zone", 12): ("0.3008", "0.2796"),
    ("buffer_zone", 24): ("0.3124", "0.3461"),
}
INTRODUCTION = """\
# CIFAR-10: the objectives of the RAMAP and mLGAP papers

Made by `python tests/reference/learned_tables.py` from runs of `workflow/config/cifar10_learned.yaml`,
`cifar10_learned_images.yaml`, `cifar10_mlgap.yaml` and `cifar10_mlgap_images.yaml`, and of
`tests/reference/mlgap_curves.py`; class labels; mean ± sample standard deviation over the runs where there are several.
`lookups.csv` contains the times per query of an inverted index.
`metrics.csv` and `summary.csv` contain every metric of every combination. **Every network here is a substitute for one
of the papers' networks**: no pre-trained AlexNet can be shipped, and these networks were trained for seconds to half an
hour on one core, not for hundreds of epochs on a GPU.

- RAMAP, section 5.2: 5,000 training images, split `cifar10_s1`; the paper fine-tunes a pre-trained AlexNet for 400
  epochs of gradient descent. `gist`: heads of two linear layers over 512-d GIST, {ramap.epochs} epochs of Adam in
  batches of {ramap.batch_size}, {n_runs[gist]} runs. `pixels`: the convolutional network of mLGAP's paper on images
  of 32 x 32, from random weights, {ramap_images.epochs} epochs of Adam in batches of {ramap_images.batch_size}, in
  {ramap_images.precision}, {n_runs[pixels]} runs.
- mLGAP, table 1: 50,000 training images, the official test images as queries (`cifar10_s2`), one run. `gist`: heads of
  two linear layers over 512-d GIST, {mlgap.epochs} epochs of Adam in batches of {mlgap.batch_size}. `pixels`: the
  network described, three convolutions and two linear layers, from random weights as there, {images.epochs} epochs of
  Adam in batches of {images.batch_size}; the paper has 750 epochs in batches of 200. mLGAP's radius is not
  printed in the paper: 0, 1 and 2 are shown. The margin of `buffer_zone` is m = 2k as printed.
- The section "{curves}" contains the scores of both readings of the margin at 12 bits on images while the networks
  learn. Once their training is complete, these networks are in the tables as {followed}.
- CIFAR-100 was not run, because its images were not available.

`utilisation` is relative to min(2^bits, database). The first runs recorded it relative to 2^bits; it was computed again
from the number of codes in use, which the nine recorded digits determine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--curves", type=Path, default=mlgap_curves.OUTPUT)
    folder = parser.parse_args().curves
    found = [run for run in RUNS if (run / "summary.csv").exists()]
    curves = sorted(folder.glob("*-*.csv"))
    if not found and not curves:
        sys.exit(f"{ROOT / 'results'}: no finished run; snakemake --cores all --configfile workflow/config/NAME.yaml")
    FOLDER.mkdir(parents=True, exist_ok=True)
    if curves:
        _store_curves(curves, folder / "precisions.csv")
    for name in ("metrics.csv", "summary.csv"):
        stored = (FOLDER / name).read_text().splitlines(keepends=True)
        columns = stored[0].strip().split(",")
        parts = [_rows(run / name if run in found else FOLDER / name, columns, *PARTS[run]) for run in RUNS]
        followed = _followed_rows(name)
        (FOLDER / name).write_text("".join([stored[0], *itertools.chain(*parts, followed)]))
    metrics, summary = (pd.read_csv(FOLDER / name) for name in ("metrics.csv", "summary.csv"))
    stored_page = _sections((FOLDER / "README.md").read_text())
    made = {
        **{f"RAMAP, section 5.2: {feature}": _ramap for feature, run in SQUARED.items() if run in found},
        **({"mLGAP, table 1": _mlgap_section} if {MLGAP, MLGAP_IMAGES} <= set(found) else {}),
        CURVES: _curves_section,
        **({"Provenance": _provenance} if RAMAP in found else {}),
    }
    order = [*(f"RAMAP, section 5.2: {feature}" for feature in SQUARED), "mLGAP, table 1", CURVES]
    texts = {
        title: "\n\n".join(made[title](title, metrics, summary)) if title in made else stored_page[title]
        for title in [*order, "Provenance"]
    }
    texts["Training"] = _times(found, stored_page["Training"])
    body = [f"## {title}\n\n{texts[title].strip()}" for title in [*order, "Training", "Provenance"]]
    (FOLDER / "README.md").write_text("\n\n".join([_introduction(metrics), *body]) + "\n")


def _rows(path: Path, columns: list[str], feature: str, split: str) -> list[str]:
    """Return the lines of a table for a feature and a split, without those of the networks of `FOLLOWED`.

    The `summary.csv` of an experiment has more columns than the stored one.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = table[(table["feature"] == feature) & (table["split"] == split) & ~table["hasher"].isin(FOLLOWED)]
    return rows[columns].to_csv(index=False, header=False, lineterminator="\n").splitlines(keepends=True)


def _sections(page: str) -> dict[str, str]:
    """Return the text of each section of a page under its title."""
    parts = (part.partition("\n") for part in ("\n" + page).split("\n## ")[1:])
    return {title: text.strip() for title, _, text in parts}


def _introduction(metrics: pd.DataFrame) -> str:
    options = {
        "ramap": _hasher(RAMAP, "deep_squared"),
        "ramap_images": _hasher(RAMAP_IMAGES, "deep_squared"),
        "mlgap": _hasher(MLGAP, "buffer_zone"),
        "images": _hasher(MLGAP_IMAGES, "buffer_zone"),
    }
    n_runs = metrics[metrics["split"] == "cifar10_s1"].groupby("feature")["run"].nunique()
    followed = ", ".join(f"`{name}`" for name in FOLLOWED)
    return INTRODUCTION.format(n_runs=n_runs, curves=CURVES, followed=followed, **options)


def _hasher(run: Path, name: str) -> Any:
    """Return an untrained hasher with the options of an experiment."""
    config = yaml.safe_load((ROOT / "workflow" / "config" / f"{run.name}.yaml").read_text())
    return registry.get("hasher", name)(**config.get("hasher_options", {}).get(name, {}))


def _ramap(title: str, metrics: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    scores = summary[summary["split"] == "cifar10_s1"].set_index(["feature", "n_bits", "metric", "hasher"]).sort_index()
    feature, parts = title.rpartition(" ")[2], []
    for n_bits in sorted(scores.index.unique("n_bits")):
        names = ["mAP", *(f"{metric}@r{radius}" for metric in ("RAMAP", "empty", "precision") for radius in RADII)]
        of = scores.loc[feature, n_bits]
        rows = [[name, *(_both(of.loc[name, hasher]) for hasher in ["itq", *M])] for name in names]
        parts += [f"{n_bits} bits:", _table(["", "itq", *M], rows), *_first_hits(feature, n_bits)]
    return [*parts, "The paper's statements about these methods, and our runs:", _verdicts(_by_run(metrics, feature))]


def _by_run(metrics: pd.DataFrame, feature: str) -> pd.DataFrame:
    """Return the scores of RAMAP's methods over a feature, a row for every length, metric and run."""
    ours = metrics[(metrics["split"] == "cifar10_s1") & (metrics["feature"] == feature)]
    return ours.pivot_table(index=["n_bits", "metric", "run"], columns="hasher", values="value")


def _verdicts(per_run: pd.DataFrame) -> str:
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


def _first_hits(feature: str, n_bits: int) -> list[str]:
    """Return the radius at which a search first finds an item, and the time of an inverted index."""
    cells, rows = _of_draw(SQUARED[feature], feature), []
    splits = storage.read(SQUARED[feature] / "splits" / "cifar10_s1" / "run0" / "splits.h5", ["database"])
    for hasher in M:
        radius = np.concatenate([_first_radius(path, n_bits) for path in sorted(cells.glob(f"run*/{hasher}"))])
        median = int(np.median(radius))
        packed = codes.of_split(storage.read(cells / "run0" / hasher / "codes.h5"), splits["database"])[n_bits]
        seconds = lookup_time(packed["query"][:100], packed["database"], n_bits, radius=TIMED)
        lookups = sum(comb(n_bits, distance) for distance in range(median + 1))
        rows.append([hasher, median, f"{lookups:,}", *(f"{1000 * second:.3g}" for second in seconds)])
    _store_times(feature, n_bits, rows)
    header = ["", "median radius of the first item", "lookups to it", *(f"ms at R = {r}" for r in range(TIMED + 1))]
    text = "Radius and lookups at which a search finds its first item, and milliseconds per query of an inverted index:"
    return [text, _table(header, rows)]


def _store_times(feature: str, n_bits: int, rows: list[list]) -> None:
    """Replace the times of a feature and a code length in `lookups.csv` by those of the page."""
    stored = pd.read_csv(FOLDER / "lookups.csv", dtype=str)
    place = {"dataset": "cifar10", "feature": feature, "split": "cifar10_s1", "n_bits": str(n_bits)}
    times = [
        place | {"hasher": hasher, "radius": radius, "milliseconds": time}
        for hasher, _, _, *row in rows
        for radius, time in enumerate(row)
    ]
    others = stored[(stored["feature"] != feature) | (stored["n_bits"] != str(n_bits))]
    table = pd.concat([others, pd.DataFrame(times)]).sort_values(["feature", "n_bits"], kind="stable")
    table.to_csv(FOLDER / "lookups.csv", index=False, lineterminator="\n")


def _first_radius(folder: Path, n_bits: int) -> np.ndarray:
    (arrays,) = (arrays for place, arrays in _counts(folder / "counts.h5").items() if place.split()[0] == str(n_bits))
    return (unpack_counts(arrays)["class_label"].retrieved_within > 0).argmax(axis=1)


def _mlgap_section(title: str, metrics: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    return [*_mlgap(summary), *_without_empty_balls()]


def _mlgap(summary: pd.DataFrame) -> list[str]:
    scores = summary[summary["split"] == "cifar10_s2"]
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
    claim = "According to the paper, the buffer zone lowers mAP and raises mLGAP. Here:"
    return [_table(header, rows), claim, "\n".join(lines)]


def _without_empty_balls() -> list[str]:
    """Return mLGAP where a radius with an empty ball is left out of a query's mean, which the paper leaves open."""
    names = [f"mLGAP@r{radius}" for radius in range(3)]
    rows = []
    for path in (path for run in (MLGAP, MLGAP_IMAGES) for path in run.glob("*/*/run0/*/counts.h5")):
        for place, arrays in _counts(path).items():
            scores = evaluate(unpack_counts(arrays)["class_label"], names, empty="drop")
            means = [f"{mean(scores[name]):.4f}" for name in names]
            rows.append([path.parts[-5], int(place.split()[0]), path.parts[-2], *means])
    table = _table(["feature", "bits", "", *names], sorted(rows))
    text = "The same, with empty balls left out. They count as 0 above; the paper does not state how it treats them."
    return [text, table]


def _store_curves(paths: list[Path], precisions: Path) -> None:
    """Store the tables of `mlgap_curves.py`, as far as they can be compared, and the figure."""
    table = _comparable(pd.concat([pd.read_csv(path, dtype=str) for path in paths]))
    table.to_csv(FOLDER / "curves.csv", index=False, lineterminator="\n")
    if precisions.exists():
        shutil.copy(precisions, FOLDER / "precisions.csv")
    _draw(pd.read_csv(FOLDER / "curves.csv"))
    _store_histogram(paths[0].parent)


def _store_histogram(folder: Path) -> None:
    """Store how many training images have each code of the networks of run 0, if their training is complete."""
    rows = []
    for hasher in _complete(pd.read_csv(FOLDER / "curves.csv", dtype=str))["network"].unique():
        database = storage.read(folder / f"{hasher}-0.h5", ["train"])["train"]
        rows += [CODES | {"hasher": hasher} | row for row in histogram_rows(database, mlgap_curves.N_BITS)]
    if rows:
        table = pd.DataFrame(rows).replace({"hasher": {network: name for name, network in FOLLOWED.items()}})
        table.to_csv(FOLDER / "histogram.csv", index=False, lineterminator="\n")


def _complete(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the last epoch."""
    return curves[curves["epoch"] == str(mlgap_curves.EPOCHS)]


def _comparable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the runs with the most epochs, up to the last epoch that all their networks reached."""
    order = {name: place for place, name in enumerate(mlgap_curves.NETWORKS)}
    keys = pd.DataFrame({"network": table["network"].map(order), "run": table["run"], "epoch": table["epoch"]})
    keys = keys.astype(int)
    reached = keys.pivot_table(index="run", columns="network", values="epoch", aggfunc="max")
    reached = reached.reindex(columns=list(order.values()))
    last = reached.min(axis=1, skipna=False)
    runs = last.index[last == last.max()]
    chosen = (keys["run"].isin(runs) & (keys["epoch"] <= last.max())).to_numpy()
    places = np.lexsort([keys["epoch"], keys["run"], keys["network"]])
    return table.iloc[places[chosen[places]]]


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


def _followed_rows(name: str) -> list[str]:
    """Return the last rows of the curves as lines of `metrics.csv` or of `summary.csv`; none before the last epoch."""
    curves = pd.read_csv(FOLDER / "curves.csv", dtype=str)
    last = _complete(curves)
    lines = []
    for hasher, network in FOLLOWED.items():
        own = last[last["network"] == network]
        for metric in mlgap_curves.METRICS if len(own) else ():
            before, after = "cifar10,pixels,class_label,cifar10_s2", f"{hasher},{mlgap_curves.N_BITS},none,0,{metric}"
            values = own[metric].astype(float)
            if name == "metrics.csv":
                lines += [
                    f"{before},{run},{after},{value}\n" for run, value in zip(own["run"], own[metric], strict=True)
                ]
            else:
                std = DIGITS % values.std() if len(values) > 1 else ""
                lines.append(f"{before},{after},{DIGITS % values.mean()},{std},{len(values)}\n")
    return lines


def _curves_section(title: str, metrics: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    return _curves(pd.read_csv(FOLDER / "curves.csv"))


def _curves(curves: pd.DataFrame) -> list[str]:
    """Return the section on the networks that were scored as they learned."""
    names = ["mAP", "mAP[best]", "mAP[worst]", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2", "precision@r0", "empty@r0"]
    names += ["utilisation"]
    reached = curves["epoch"].max()
    last = curves[curves["epoch"] == reached].set_index("network")
    rows = []
    for network, (hasher, _) in mlgap_curves.NETWORKS.items():
        own = last.loc[[network]]
        rows.append([network, *(_mean_and_std(own[name]) for name in names), *PUBLISHED[hasher, mlgap_curves.N_BITS]])
    seconds = curves.loc[curves["epoch"] > 1, "seconds"]
    unfinished = UNFINISHED.format(reached=reached, epochs=mlgap_curves.EPOCHS)
    text = CURVES_TEXT.format(
        unfinished=unfinished if reached < mlgap_curves.EPOCHS else "",
        epochs=mlgap_curves.EPOCHS,
        learning_rate=f"{registry.get('hasher', 'buffer_zone')().learning_rate:g}",
        batch_size=mlgap_curves.OPTIONS["batch_size"],
        n_runs=curves["run"].nunique(),
        fastest=f"{seconds.min():.0f}",
        median=f"{seconds.median():.0f}",
    )
    header = ["", *names, "published mAP", "published mLGAP"]
    return [
        text,
        _table(header, rows),
        "![mAP and mLGAP of the test images, epoch by epoch](curves.svg)",
        "The buffer zone minus deep supervised hashing after each epoch that was scored (means over the runs):",
        _differences(curves),
        _moving(curves),
        *_precisions(),
    ]


UNFINISHED = """\
**The training is not complete: these are the scores after {reached} of {epochs} epochs.** The learning rate has fallen
only as far as the schedule of {epochs} epochs had reached, and `metrics.csv` and `summary.csv` have no rows of these
networks yet.

"""
CURVES_TEXT = """\
Made by `python tests/reference/mlgap_curves.py`: the networks of table 1 for CIFAR-10 at 12 bits, which are deep
supervised hashing and the buffer zone in both readings of its margin. `buffer_zone` has m = 2k, as printed, and
`buffer_zone_half` m = k, with which codes are "at least k/2 apart" by the L1 distance, as the paper's text requires. In
each run (their number is {n_runs}), all are trained for {epochs} epochs, from the same initial weights and on the same
batches. Unlike in the paper, there are {epochs} epochs instead of 750, Adam with a learning rate of {learning_rate}
replaces an optimiser that the paper does not name, with 0.01, and convolutions are computed in bfloat16. As in the
paper, batches have {batch_size} images, the learning rate falls by 40 % after every fifth of the epochs, and the
partitions are the official ones. `curves.csv` contains all metrics of all epochs that were scored.

{unfinished}Test images were scored during training only to show whether an ordering still changes. Nothing was selected
by these scores; the table is that of the last epoch scored. The fastest epoch took {fastest} CPU seconds, the median
{median}; other work on the machine slowed the training."""


def _differences(curves: pd.DataFrame) -> str:
    names = ["mAP", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2"]
    gaps = _gaps(curves)
    header = ["epoch", *(f"{network}: {name}" for network in gaps for name in names)]
    epochs = sorted(curves["epoch"].unique())
    rows = [
        [epoch, *(f"{gaps[network].loc[epoch, name]:+.4f}" for network in gaps for name in names)] for epoch in epochs
    ]
    return _table(header, rows)


def _gaps(curves: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return by how much each buffer zone is above deep supervised hashing, by epoch, as a mean over the runs."""
    means = curves.drop(columns=["run"]).groupby(["network", "epoch"]).mean()
    base = means.loc["deep_supervised"]
    return {network: means.loc[network] - base for network in mlgap_curves.NETWORKS if network != "deep_supervised"}


def _moving(curves: pd.DataFrame) -> str:
    """Return whether the orderings of table 1 hold at the end, and how they moved since two thirds of the epochs."""
    lines = []
    epochs = sorted(curves["epoch"].unique())
    third = next(epoch for epoch in epochs if 3 * epoch >= 2 * epochs[-1] or epoch == epochs[-2])
    for network, gap in _gaps(curves).items():
        for name, sign in (("mAP", -1), *((f"mLGAP@r{r}", 1) for r in range(3))):
            before, after = gap.loc[third, name], gap.loc[epochs[-1], name]
            holds = "as in the paper" if sign * after > 0 else "against the paper"
            if sign * before * sign * after < 0:
                moved = "the ordering changed"
            else:
                moved = "the gap narrowed" if abs(after) < abs(before) else "the gap widened"
            lines.append(
                f"- {network}, {name}: {after:+.4f}, {holds}. At epoch {third} it was {before:+.4f}, so {moved}."
            )
    return "\n".join(lines)


def _precisions() -> list[str]:
    """Return the comparison of training in float32 and in bfloat16, if it was made."""
    path = FOLDER / "precisions.csv"
    if not path.exists():
        return []
    table = pd.read_csv(path)
    table = table[table.groupby("run")["precision"].transform("nunique") == 2]
    names = ["seconds", "loss", "mAP", "mLGAP@r0", "mLGAP@r2"]
    rows = [
        [precision, *(_mean_and_std(table.loc[table["precision"] == precision, name]) for name in names)]
        for precision in ("float32", "bfloat16")
    ]
    images, runs = mlgap_curves.PRECISION_IMAGES, table["run"].nunique()
    images, runs = mlgap_curves.PRECISION_IMAGES, table["run"].nunique()
    text = (
        "Training in bfloat16 compared with float32 (`mlgap_curves.py --precisions`, `precisions.csv`): deep\n"
        f"supervised hashing, ten epochs on {images['train']:,} images, scored with {images['test']:,} test images as\n"
        f"queries; runs: {runs}; CPU seconds per epoch, while other work shared the machine."
    )
    return [text, _table(["", *names], rows)]


def _mean_and_std(values: pd.Series) -> str:
    return f"{values.mean():.4f}" + (f" ± {values.std():.4f}" if len(values) > 1 else "")


def _times(found: Iterable[Path], stored: str) -> str:
    """Return the table of training times: new rows of the experiments that were found, the stored ones of others."""
    rows: dict[tuple[str, str], list[str]] = {}
    for line in stored.splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if len(cells) == 6 and cells[1] in SQUARED:
            rows.setdefault((cells[1], cells[2]), []).append("| " + " | ".join(cells) + " |")
    for run in found:
        lines = _table([], _times_of(run)).splitlines()[2:]
        feature = PARTS[run][0]
        rows[feature, _of_draw(run, feature).name] = lines
    header = ["", "feature", "draw", "epochs", "s of one core", "mean loss, first to last epoch"]
    explained = "Seconds on one core for training both code lengths and encoding all images, in run 0:"
    return "\n\n".join([explained, "\n".join([_table(header, []), *itertools.chain(*rows.values())])])


def _times_of(run: Path) -> list[list]:
    rows = []
    for path in sorted(run.glob("benchmarks/*/*/run0/*/model.tsv")):
        feature, draw, number, hasher = path.parts[-5:-1]
        fits = _fits(run / feature / draw / number / hasher)
        seconds = pd.read_csv(path, sep="\t")["cpu_time"].iloc[0]
        epochs = {fit.get("epochs", "") for fit in fits.values()}
        losses = "; ".join(
            f"{n_bits} bits: {fit['loss'][0]:.4g} to {fit['loss'][1]:.4g}"
            for n_bits, fit in fits.items()
            if "loss" in fit
        )
        rows.append([hasher, feature, draw, *epochs, f"{seconds:.0f}", losses])
    return rows


def _provenance(title: str, metrics: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    provenance = storage.read_provenance(_of_draw(RAMAP, "gist") / "run0" / "deep_squared" / "codes.h5")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(provenance["versions"].items()))
    notes = "\n".join(f"- {note}" for note in provenance["notes"])
    configurations = "- configurations: " + ", ".join(f"`workflow/config/{run.name}.yaml`" for run in RUNS) + ", seed 0"
    return [f"{configurations}\n- versions: {versions}\n{notes}"]


def _of_draw(run: Path, feature: str) -> Path:
    """Return the folder of a feature's only draw."""
    (path,) = run.glob(f"{feature}/*/run0")
    return path.parent


def _counts(path: Path) -> dict:
    """Return the counts of the only split in a file, by code length and extension."""
    (of_split,) = storage.grouped(storage.read(path)).values()
    return storage.grouped(of_split)


def _fits(folder: Path) -> dict:
    return storage.read_provenance(folder / "models.h5")["fits"]


def _both(cell: pd.Series) -> str:
    return f"{cell['mean']:.4f}" + (f" ± {cell['std']:.4f}" if cell["n_runs"] > 1 else "")


def _table(header: list, rows: list[list]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main()
