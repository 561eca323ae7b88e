"""What the learned objectives gave on CIFAR-10: makes ``results/reference/learned/`` from finished runs.

Run by hand after `snakemake --cores all --configfile workflow/config/cifar10_learned.yaml`, and the same of
`cifar10_learned_images.yaml`, `cifar10_mlgap.yaml` and `cifar10_mlgap_images.yaml`, with a mirror where the official
archive can't be reached:
`python tests/reference/learned_tables.py`.
"""

import sys
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd

from protocol import codes, storage
from protocol.metrics import evaluate, mean
from protocol.ranking import lookup_time, unpack_counts

ROOT = Path(__file__).parents[2]
RUNS = [
    ROOT / "results" / name
    for name in ("cifar10_learned", "cifar10_learned_images", "cifar10_mlgap", "cifar10_mlgap_images")
]
RAMAP, RAMAP_IMAGES, MLGAP, MLGAP_IMAGES = RUNS
SQUARED = {"gist": RAMAP, "pixels": RAMAP_IMAGES}
FOLDER = ROOT / "results" / "reference" / "learned"
M = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}
RADII = (0, 1, 2, 4, 8, 12)
TIMED = 3
PUBLISHED = {  # mLGAP's paper, table 1, CIFAR-10; it does not say which radius
    ("deep_supervised", 12): ("0.6012", "0.2633"),
    ("deep_supervised", 24): ("0.6407", "0.2889"),
    ("buffer_zone", 12): ("0.3008", "0.2796"),
    ("buffer_zone", 24): ("0.3124", "0.3461"),
}
INTRODUCTION = """\
# CIFAR-10: the learned objectives of RAMAP's and mLGAP's papers

Made by `python tests/reference/learned_tables.py` from runs of `workflow/config/cifar10_learned.yaml`,
`cifar10_learned_images.yaml`, `cifar10_mlgap.yaml` and `cifar10_mlgap_images.yaml`, class labels; mean ± sample
standard deviation over the runs where there are several. `metrics.csv` and `summary.csv` have every metric of every
cell, as the pipeline writes them. **No number here is one of the papers' trained networks**: no pre-trained AlexNet can
be shipped, and these trainings took seconds to half an hour of a processor, not hundreds of epochs
of a GPU.

- RAMAP, section 5.2: 5,000 training images, split `cifar10_s1`; the paper fine-tunes a pre-trained AlexNet for 400
  epochs of gradient descent. `gist`: heads of two linear layers over 512-d GIST, {ramap[epochs]} epochs of Adam in
  batches of {ramap[batch_size]}, {n_runs[gist]} runs. `pixels`: the convolutional network of mLGAP's paper on images
  of 32 x 32, from nothing, {ramap_images[epochs]} epochs of Adam in batches of {ramap_images[batch_size]},
  {n_runs[pixels]} run.
- mLGAP, table 1: 50,000 training images, the official test images as queries (`cifar10_s2`), one run. `gist`: heads of
  two linear layers over 512-d GIST, {mlgap[epochs]} epochs of Adam in batches of {mlgap[batch_size]}. `pixels`: the
  network described, three convolutions and two linear layers, from nothing as there, {images[epochs]} epochs of Adam in
  batches of {images[batch_size]}; the paper has 750 epochs of gradient descent in batches of 200. mLGAP's radius is not
  printed in the paper: 0, 1 and 2 are shown. The margin of `buffer_zone` is m = 2k as printed.

`utilisation` is relative to min(2^bits, database). The runs recorded it relative to 2^bits; it was re-expressed from
the number of codes in use, which their nine digits determine."""


def main() -> None:
    for run in RUNS:
        if not (run / "summary.csv").exists():
            sys.exit(f"{run}: no finished run; snakemake --cores all --configfile workflow/config/{run.name}.yaml")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("metrics.csv", "summary.csv"):
        (header, *_), *_ = tables = [(run / name).read_text().splitlines(keepends=True) for run in RUNS]
        (FOLDER / name).write_text("".join([header, *(row for table in tables for row in table[1:])]))
    metrics, summary = (pd.read_csv(FOLDER / name) for name in ("metrics.csv", "summary.csv"))
    parts = [*_ramap(metrics, summary), *_mlgap(summary), *_without_empty_balls(), *_times(), *_provenance()]
    (FOLDER / "README.md").write_text("\n\n".join([_introduction(metrics), *parts]) + "\n")


def _introduction(metrics: pd.DataFrame) -> str:
    options = {
        "ramap": _options(RAMAP, "gist", "deep_squared"),
        "ramap_images": _options(RAMAP_IMAGES, "pixels", "deep_squared"),
        "mlgap": _options(MLGAP, "gist", "buffer_zone"),
        "images": _options(MLGAP_IMAGES, "pixels", "buffer_zone"),
    }
    n_runs = metrics[metrics["split"] == "cifar10_s1"].groupby("feature")["run"].nunique()
    return INTRODUCTION.format(n_runs=n_runs, **options)


def _ramap(metrics: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    scores = summary[summary["split"] == "cifar10_s1"].set_index(["feature", "n_bits", "metric", "hasher"]).sort_index()
    parts = []
    for feature in SQUARED:
        parts += [f"## RAMAP, section 5.2: {feature}"]
        for n_bits in sorted(scores.index.unique("n_bits")):
            names = ["mAP", *(f"{metric}@r{radius}" for metric in ("RAMAP", "empty", "precision") for radius in RADII)]
            of = scores.loc[feature, n_bits]
            rows = [[name, *(_both(of.loc[name, hasher]) for hasher in ["itq", *M])] for name in names]
            parts += [f"{n_bits} bits:", _table(["", "itq", *M], rows), *_first_hits(feature, n_bits)]
        parts += ["What the paper says of them:", _verdicts(_by_run(metrics, feature))]
    return parts


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
            f"- {n_bits} bits. mAP close: the four differ by {spread.min():.4f} to {spread.max():.4f} within a run, "
            f"their mean is {of.loc['mAP'][list(M)].to_numpy().mean():.4f} (ITQ {of.loc['mAP']['itq'].mean():.4f})."
        )
        for metric, words, sign in (("RAMAP", "RAMAP falls", -1), ("empty", "empty balls grow", 1)):
            held = [_ordered(of.loc[f"{metric}@r{radius}"], sign) for radius in RADII]
            told = ", ".join(f"R = {radius}: {count}" for radius, count in zip(RADII, held, strict=True))
            lines.append(
                f"- {n_bits} bits. {words} in the order 0, 4, 8, 12; runs of {n_runs} in which it does: {told}."
            )
        top = of.loc["precision@r0"]["deep_squared"].mean()
        answered = top / (1 - of.loc["empty@r0"]["deep_squared"].mean())
        reached = ", ".join(f"{of.loc[f'precision@r{m}'][name].mean():.4f} (m = {m})" for name, m in M.items() if m)
        lines.append(
            f"- {n_bits} bits. precision@R=m of m-DSH beside precision@R=0 of deep squared hashing, {top:.4f} with "
            f"empty balls as 0 and {answered:.4f} over the queries that find something: {reached}."
        )
        higher = {r: of.loc[f"precision@r{r}"].eval("m_dsh_4 > deep_squared").sum() for r in (*range(4), *RADII[3:])}
        told = ", ".join(f"R = {radius}: {count}" for radius, count in higher.items())
        lines.append(
            f"- {n_bits} bits. precision of 4-DSH above that of deep squared hashing, in the paper from R = 3 on; "
            f"runs of {n_runs}: {told}."
        )
    return "\n".join(lines)


def _ordered(scores: pd.DataFrame, sign: int) -> int:
    """Return in how many runs scores strictly grow (1) or fall (-1) with m."""
    return int((sign * np.diff(scores[list(M)].to_numpy(), axis=1) > 0).all(axis=1).sum())


def _first_hits(feature: str, n_bits: int) -> list[str]:
    """Return how far a search has to go until it finds anything, and how long an inverted index takes."""
    cells, rows = _of_draw(SQUARED[feature], feature), []
    splits = storage.read(SQUARED[feature] / "splits" / "cifar10_s1" / "run0" / "splits.h5", ["database"])
    for hasher in M:
        radius = np.concatenate([_first_radius(path, n_bits) for path in sorted(cells.glob(f"run*/{hasher}"))])
        median = int(np.median(radius))
        packed = codes.of_split(storage.read(cells / "run0" / hasher / "codes.h5"), splits["database"])[n_bits]
        seconds = lookup_time(packed["query"][:100], packed["database"], n_bits, radius=TIMED)
        lookups = sum(comb(n_bits, distance) for distance in range(median + 1))
        rows.append([hasher, median, f"{lookups:,}", *(f"{1000 * second:.3g}" for second in seconds)])
    header = ["", "median radius of the first item", "lookups to it", *(f"ms at R = {r}" for r in range(TIMED + 1))]
    return ["Until a search finds anything; and milliseconds a query of an inverted index:", _table(header, rows)]


def _first_radius(folder: Path, n_bits: int) -> np.ndarray:
    (arrays,) = (arrays for place, arrays in _counts(folder / "counts.h5").items() if place.split()[0] == str(n_bits))
    return (unpack_counts(arrays)["class_label"].retrieved_within > 0).argmax(axis=1)


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
        told = ", ".join(f"{name} {change[name]:+.4f}" for name in names if name.startswith(("mAP", "mLGAP")))
        lines.append(f"- {feature}, {n_bits} bits, buffer zone minus deep supervised hashing: {told}.")
    header = ["feature", "bits", "", *names, "published mAP", "published mLGAP"]
    claim = "The paper: the buffer zone lowers mAP and raises mLGAP."
    return ["## mLGAP, table 1", _table(header, rows), claim, "\n".join(lines)]


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
    return ["The same with empty balls left out, where they count 0 above (the paper does not say):", table]


def _times() -> list[str]:
    rows = []
    for path in (path for run in RUNS for path in sorted(run.glob("benchmarks/*/*/run0/*/model.tsv"))):
        run, (feature, draw, number, hasher) = path.parents[5], path.parts[-5:-1]
        fits = _fits(run / feature / draw / number / hasher)
        seconds = pd.read_csv(path, sep="\t")["cpu_time"].iloc[0]
        epochs = {fit.get("epochs", "") for fit in fits.values()}
        losses = "; ".join(
            f"{n_bits} bits: {fit['loss'][0]:.4g} to {fit['loss'][1]:.4g}"
            for n_bits, fit in fits.items()
            if "loss" in fit
        )
        rows.append([hasher, feature, draw, *epochs, f"{seconds:.0f}", losses])
    header = ["", "feature", "draw", "epochs", "s of one core", "mean loss, first to last epoch"]
    explained = "Seconds of one core that it took to train both lengths of code and to encode all images, in run 0:"
    return ["## Training", explained, _table(header, rows)]


def _provenance() -> list[str]:
    provenance = storage.read_provenance(_of_draw(RAMAP, "gist") / "run0" / "deep_squared" / "codes.h5")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(provenance["versions"].items()))
    notes = "\n".join(f"- {note}" for note in provenance["notes"])
    configurations = "- configurations: " + ", ".join(f"`workflow/config/{run.name}.yaml`" for run in RUNS) + ", seed 0"
    return ["## Provenance", f"{configurations}\n- versions: {versions}\n{notes}"]


def _of_draw(run: Path, feature: str) -> Path:
    """Return the folder of a feature's only draw."""
    (path,) = run.glob(f"{feature}/*/run0")
    return path.parent


def _counts(path: Path) -> dict:
    """Return the counts of the only split in a file, by code length and extension."""
    (of_split,) = storage.grouped(storage.read(path)).values()
    return storage.grouped(of_split)


def _options(run: Path, feature: str, hasher: str) -> dict:
    fits = _fits(_of_draw(run, feature) / "run0" / hasher)
    return next(iter(fits.values()))["made_of"]["options"]


def _fits(folder: Path) -> dict:
    return storage.read_provenance(folder / "models.h5")["fits"]


def _both(cell: pd.Series) -> str:
    return f"{cell['mean']:.4f}" + (f" ± {cell['std']:.4f}" if cell["n_runs"] > 1 else "")


def _table(header: list, rows: list[list]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main()
