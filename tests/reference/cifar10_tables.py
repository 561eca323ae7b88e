"""Write ``results/reference/cifar10/``: the full reproduction on CIFAR-10, and the published protocols.

Run by hand after `snakemake --cores all --configfile workflow/config/cifar10_full.yaml` or `cifar10_matched.yaml`, with
a mirror if the official archive can't be reached: `python tests/reference/cifar10_tables.py`. It stores the tables of
each experiment that has been run, then writes the page from the stored tables.
"""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pages
import pandas as pd

from protocol.provenance import storage
from protocol.scores.tables import DIGITS

RUN = pages.RESULTS / "cifar10_full"
MATCHED_RUN = pages.RESULTS / "cifar10_matched"
FOLDER = pages.REFERENCE / "cifar10"
PUBLISHED = pages.ROOT / "workflow" / "published" / "cifar10_gist.csv"
FACTS = pages.ROOT / "workflow" / "published" / "cifar10_gist_facts.csv"
HASHERS = ["lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"]
TRUTHS = {"class_label": "class labels", "epsilon_ball": "epsilon-ball"}
SPLITS = ["standard", "improved"]
EXTENDED = ["mAP", *(f"{name}@r{radius}" for name in ("RAMAP", "mLGAP", "recall") for radius in (0, 1, 2))]
RECORDED, UNIT = "gist", "gist_unit"
"""The features of `cifar10_matched.yaml`: as the sources record them, and with vectors scaled to unit norm first."""
VARIANTS = {
    RECORDED: "as recorded",
    "gist_luma": "another greyscale: 0.299 R + 0.587 G + 0.114 B",
    UNIT: "unit norm",
    "gist_luma_unit": "unit norm and the other greyscale",
}
DATABASES = {"cifar10_5k": "the 5,000 training images", "cifar10_s1": "59,000"}
CELL = ["ground_truth", "split", "hasher", "n_bits"]
REBUILT = [
    *(1259, 1369, 1422, 2245, 2737, 2935, 3695, 3718, 4085, 4496),
    *(5791, 5896, 6286, 7580, 7707, 7724, 7832, 8117, 8551, 9254),
]
"""Numbers of the test images that are decoded JPEG in the mirror's archive; a test detects the same ones."""


def main() -> None:
    if (RUN / "summary.csv").exists():
        metrics, summary = (pd.read_csv(RUN / name) for name in ("metrics.csv", "summary.csv"))
        plain = summary["extension"] == "none"
        values = ["metric", "mean", "std", "n_runs", "n_queries", "n_database"]
        columns = ["dataset", "feature", *CELL, *values]
        pages.write(summary.loc[plain, columns], FOLDER / "summary.csv", DIGITS)
        extended = summary["metric"].isin(EXTENDED) & (summary["split"] == "standard")
        columns = ["dataset", "feature", *CELL, "extension", "extension_bits", *values]
        pages.write(summary.loc[extended, columns], FOLDER / "extensions.csv", DIGITS)
        shutil.copyfile(RUN / "runs.csv", FOLDER / "runs.csv")
        per_run = metrics[metrics["extension"] == "none"]
        columns = ["ground_truth", "split", "run", "hasher", "n_bits", "metric", "value"]
        pages.write(per_run.loc[per_run["metric"] == "mAP", columns], FOLDER / "map_by_run.csv", DIGITS)
        pages.write(per_run.loc[per_run["run"] == 0, columns], FOLDER / "run0.csv", DIGITS)
        _store_provenance("cifar10_full", RUN / "gist" / "thesis")
    if (MATCHED_RUN / "metrics.csv").exists():
        metrics = pd.read_csv(MATCHED_RUN / "metrics.csv")
        columns = ["feature", "ground_truth", "split", "run", "hasher", "n_bits", "metric", "value"]
        pages.write(metrics[columns], FOLDER / "matched.csv")
        features = sorted(metrics["feature"].unique())
        _store_provenance("cifar10_matched", *(MATCHED_RUN / name / "cifar10_1k_5k" for name in features))
    pages.store("cifar10", page())


def _store_provenance(experiment: str, *draws: Path) -> None:
    """Record how the codes of ITQ in run 0 were made: seeds, versions, and the features of each sampled split."""
    path = FOLDER / "provenance.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    extracted = [storage.read_provenance(file) for file in (pages.RESULTS / "datasets").glob("*/*/features.h5")]
    records = [storage.read_provenance(draw / "run0" / "itq" / "codes.h5") for draw in draws]
    digests = {record["inputs"]["features"] for record in records}
    features = {record["digest"]: record["parameters"] for record in extracted if record["digest"] in digests}
    stored[experiment] = pages.provenance_of_codes(records[0]) | {"features": features}
    path.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")


def page() -> str:
    """Return the page, computed from the stored tables."""
    summary, per_run, matched = pages.read("cifar10", "summary", "map_by_run", "matched")
    short = per_run[(per_run["n_bits"] == 12) & (per_run["ground_truth"] == "class_label")]
    facts = pd.read_csv(FACTS)
    facts["where (commit)"] = facts["repository"] + ": " + facts["files"] + " (" + facts["commits"] + ")"
    facts = facts.rename(columns={"value": "as recorded"})[["hasher", "fact", "as recorded", "where (commit)"]]
    return pages.render(
        "cifar10",
        truths=TRUTHS,
        splits=SPLITS,
        hashers=HASHERS,
        means=dict(list(summary[summary["metric"] == "mAP"].groupby(["ground_truth", "split"]))),
        **_improved(per_run),
        n_best=len(short),
        best=short.loc[short["value"].idxmax()],
        **_published(compared(summary, matched), matched),
        facts=pages.markdown(list(facts), facts.to_numpy()),
        rebuilt=REBUILT,
        provenance=json.loads((FOLDER / "provenance.json").read_text()),
    )


def _improved(per_run: pd.DataFrame) -> dict[str, Any]:
    """Return the differences between the improved and the standard split, and what the leak study says of them."""
    cell = ["ground_truth", "hasher", "n_bits"]
    by_split = per_run.pivot_table(index=[*cell, "run"], columns="split", values="value")
    change = (by_split["improved"] - by_split["standard"]).groupby(cell).agg(["mean", "sem"]).reset_index()
    balls = change[change["ground_truth"] == "epsilon_ball"]
    (leak,) = pages.read("leak", "leak_summary")
    leak = leak.query("not control and n_train == 2000 and ground_truth == 'epsilon_ball'")
    largest = balls.loc[balls["mean"].idxmax()]
    return {"changes": dict(list(change.groupby("ground_truth"))), "largest": largest, "leak": leak}


def compared(summary: pd.DataFrame, matched: pd.DataFrame) -> pd.DataFrame:
    """Return each published figure with our mean and standard deviation, under the default protocol and each variant.

    The columns are ``default`` and ``default_std``, then ``<feature>/<split>`` and ``<feature>/<split>_std``; NaN if a
    code length was not run.
    """
    on = ["ground_truth", "hasher", "n_bits", "metric"]
    table = pd.read_csv(PUBLISHED)
    default = summary[summary["split"] == "standard"].rename(columns={"mean": "default", "std": "default_std"})
    table = table.merge(default[[*on, "default", "default_std"]], on=on, how="left")
    for (feature, split), runs in matched.groupby(["feature", "split"]):
        name = f"{feature}/{split}"
        ours = runs.groupby(on)["value"].agg(["mean", "std"]).rename(columns={"mean": name, "std": f"{name}_std"})
        table = table.merge(ours, on=on, how="left")
    return table


def off(table: pd.DataFrame, variant: str) -> pd.Series:
    """Return ours minus published, in standard deviations of one of our runs."""
    return (table[variant] - table["value"]) / table[f"{variant}_std"]


def _published(table: pd.DataFrame, matched: pd.DataFrame) -> dict[str, Any]:
    """Return the comparison with each published figure, and for each variant of the features and each database."""
    shown = {name: f"{feature}/cifar10_5k" for name, feature in (("recorded", RECORDED), ("unit", UNIT))}
    rows = []
    for at, row in table.iterrows():
        cells = [row["hasher"], row["n_bits"], f"{row['value']:.4f}"]
        for variant in ("default", *shown.values()):
            ours = f"{row[variant]:.4f} ± {row[f'{variant}_std']:.4f}"
            cells += [ours, f"{off(table, variant)[at]:+.1f}"] if row[variant] == row[variant] else ["", ""]
        rows.append(cells)
    header = ["hasher", "bits", "published"]
    for protocol in ("default protocol", "as recorded", "also unit norm"):
        header += [f"ours, {protocol}", "off"]
    variants = []
    hashers = list(dict.fromkeys(table["hasher"]))
    n_runs = matched.groupby("feature")["run"].nunique()
    for (feature, called), (split, database) in itertools.product(VARIANTS.items(), DATABASES.items()):
        variant = f"{feature}/{split}"
        mean = (table[variant] - table["value"]).groupby(table["hasher"]).mean()
        within = f"{(off(table, variant).abs() <= 1).sum()} of {len(table)}"
        variants.append([called, database, n_runs[feature], *(f"{mean[hasher]:+.4f}" for hasher in hashers), within])
    farthest = off(table, shown["unit"]).abs().idxmax()
    return {
        "published": pages.markdown(header, rows),
        "default": (table["default"] - table["value"]).dropna(),
        "off": {name: off(table, variant) for name, variant in shown.items()},
        "differences": {name: table[variant] - table["value"] for name, variant in shown.items()},
        "far": {"ours": table.loc[farthest, shown["unit"]], "std": table.loc[farthest, f"{shown['unit']}_std"]}
        | table.loc[farthest, ["hasher", "n_bits", "value"]].to_dict(),
        "earlier": earlier_run(),
        "variants": pages.markdown(
            ["features", "database", "runs", *hashers, "within one standard deviation"], variants
        ),
    }


def earlier_run() -> dict[int, float]:
    """Return the figures of LSH in an earlier README, by code length."""
    facts = pd.read_csv(FACTS).set_index(["hasher", "fact"])["value"]
    pairs = (pair.split(": ") for pair in facts["lsh", "numbers of an earlier run"].split(", "))
    return {int(n_bits): float(value) for n_bits, value in pairs}


if __name__ == "__main__":
    main()
