"""The precision-recall curves of the thesis's figure 3.8: makes ``results/reference/thesis/``.

Run by hand after `snakemake --cores all --configfile workflow/config/cifar10_thesis.yaml`, with a mirror where the
official archive can't be reached: `python tests/reference/thesis_tables.py`.
"""

import json
from pathlib import Path

import pandas as pd

from protocol.provenance import storage

ROOT = Path(__file__).parents[2]
RUN = ROOT / "results" / "cifar10_thesis"
FOLDER = ROOT / "results" / "reference" / "thesis"
HASHERS = ["grh", "itq", "sh"]
RADII = list(range(0, 17, 2))
PLACE = {"dataset": "cifar10", "feature": "gist", "split": "standard"}
PAGE = """\
# CIFAR-10, GIST: the precision-recall curves of the thesis's figure 3.8

Made by `python tests/reference/thesis_tables.py` from a run of `workflow/config/cifar10_thesis.yaml`: 1,000 queries,
59,000 database images and 2,000 training images of CIFAR-10, 512-d GIST, class labels, 32 bits, {n_runs} runs. GRH
learns from class labels; ITQ and SH don't. Precision and recall within a Hamming radius are those of all queries of a
run together, as in the thesis, and are means over the runs. `radii.csv` has every radius, `summary.csv` the scores with
their standard deviations, and `provenance.json` identifies the run. `protocol paper-figures` draws the figure.

The thesis prints no numbers of its figure, which is an example of such curves; claim S4-12 is that precision falls and
recall rises as the radius grows.

## Precision / recall

| hasher | {heads} |
|---{line}
{rows}

## Area and mAP

Mean ± sample standard deviation over the runs.

| hasher | AUPRC[sum] | mAP |
|---|---|---|
{scores}
"""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    if (RUN / "summary.csv").exists():
        _store()
    (FOLDER / "README.md").write_text(page())


def _store() -> None:
    _write("summary.csv", pd.read_csv(RUN / "summary.csv"))
    radii = pd.read_csv(RUN / PLACE["feature"] / "display" / PLACE["split"] / "radii.csv")
    _write("radii.csv", radii[radii["metric"].isin(["precision_micro", "recall_micro"])].assign(**PLACE))
    made = {name: storage.read_provenance(RUN / "gist" / "thesis" / "run0" / name / "codes.h5") for name in HASHERS}
    recorded = {
        name: {
            "features": one["inputs"]["features"],
            "seeds": {n_bits: fit["made_of"]["seed"] for n_bits, fit in one["fits"].items()},
            "versions": one["versions"],
            "notes": one["notes"],
        }
        for name, one in made.items()
    }
    (FOLDER / "provenance.json").write_text(json.dumps(recorded, indent=2, sort_keys=True) + "\n")


def _write(name: str, table: pd.DataFrame) -> None:
    table.to_csv(FOLDER / name, index=False, float_format="%.9g", lineterminator="\n")


def page() -> str:
    """Return the page that the stored tables make."""
    radii, summary = pd.read_csv(FOLDER / "radii.csv"), pd.read_csv(FOLDER / "summary.csv")
    value = radii.set_index(["metric", "hasher", "radius"])["value"]
    score = summary.set_index(["metric", "hasher"])
    rows = [
        f"| {name} | "
        + " | ".join(f"{value['precision_micro', name, r]:.3f} / {value['recall_micro', name, r]:.3f}" for r in RADII)
        + " |"
        for name in HASHERS
    ]
    areas = [
        f"| {name} | "
        + " | ".join(
            f"{score.loc[(metric, name), 'mean']:.4f} ± {score.loc[(metric, name), 'std']:.4f}"
            for metric in ("AUPRC[sum]", "mAP")
        )
        + " |"
        for name in HASHERS
    ]
    return PAGE.format(
        n_runs=summary["n_runs"].max(),
        heads=" | ".join(f"R = {radius}" for radius in RADII),
        line="|---" * len(RADII) + "|",
        rows="\n".join(rows),
        scores="\n".join(areas),
    )


if __name__ == "__main__":
    main()
