"""The precision-recall curves of the thesis's figure 3.8: makes ``results/reference/thesis/``.

Run by hand after `snakemake --cores all --configfile workflow/config/cifar10_thesis.yaml`, with a mirror where the
official archive can't be reached: `python tests/reference/thesis_tables.py`.
"""

import json

import pages
import pandas as pd

from protocol.provenance import storage

RUN = pages.RESULTS / "cifar10_thesis"
FOLDER = pages.REFERENCE / "thesis"
HASHERS = ["grh", "itq", "sh"]
RADII = list(range(0, 17, 2))
PLACE = {"dataset": "cifar10", "feature": "gist", "split": "standard"}


def main() -> None:
    if (RUN / "summary.csv").exists():
        pages.write(pd.read_csv(RUN / "summary.csv"), FOLDER / "summary.csv", "%.9g")
        radii = pd.read_csv(RUN / PLACE["feature"] / "examples" / PLACE["split"] / "radii.csv")
        shown = radii[radii["metric"].isin(["precision_micro", "recall_micro"])].assign(**PLACE)
        pages.write(shown, FOLDER / "radii.csv", "%.9g")
        recorded = {}
        for hasher in HASHERS:
            record = storage.read_provenance(RUN / "gist" / "thesis" / "run0" / hasher / "codes.h5")
            recorded[hasher] = pages.provenance_of_codes(record) | {"features": record["inputs"]["features"]}
        (FOLDER / "provenance.json").write_text(json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    pages.store("thesis", page())


def page() -> str:
    """Return the page that the stored tables make."""
    radii, summary = pages.read("thesis", "radii", "summary")
    curves = radii[radii["radius"].isin(RADII)].pivot_table("value", ["hasher", "radius"], "metric").reset_index()
    scores = summary[summary["metric"].isin(["AUPRC[sum]", "mAP"])].sort_values("metric")
    return pages.render("thesis", n_runs=summary["n_runs"].max(), curves=curves, scores=scores, hashers=HASHERS)


if __name__ == "__main__":
    main()
