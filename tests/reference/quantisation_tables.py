"""Write ``results/reference/quantisation/``: recall lost to binarisation on three datasets.

Run by hand after `snakemake metrics --cores all --configfile workflow/config/NAME.yaml` for each NAME of `EXPERIMENTS`,
with a mirror for wiki and, if the official archive can't be reached, for cifar10:
`python tests/reference/quantisation_tables.py [FOLDER]`, where FOLDER contains the results of the experiments.
"""

import sys
from pathlib import Path
from typing import Any

import pages
import pandas as pd
import runs as reference

from protocol.provenance import storage
from protocol.report.results import Results
from protocol.report.sections import binarisation
from protocol.scores import tables
from protocol.scores.summary import at

FOLDER = pages.REFERENCE / "quantisation"
PUBLISHED = pages.ROOT / "workflow" / "published" / "quantisation.csv"
EXPERIMENTS = {
    "cifar10_quantisation": "CIFAR-10, 60,000 images: GIST",
    "wiki_quantisation": "Wiki, 2,866 pairs: SIFT bag of words of the images, LDA topics of the texts",
    "digits_quantisation": "Digits, 1,797 images: SIFT",
}
SPLIT, TRUTH, K = "improved", "nearest_10", 10
"""The split and the K that the page shows; the files also have the others."""
CURVE = (1, 2, 4, 8, 16)


def results_of(name: str, folder: Path) -> Results:
    """Return the results of an experiment that the section on binarisation requires."""
    experiment = reference.experiment(name)
    return Results(
        config=experiment.config,
        provenance={},
        items={},
        images=None,
        summary=pd.read_csv(folder / name / "summary.csv"),
        run_scores=at(tables.read_table(folder / name / "metrics.csv"), extension="none"),
        findings=pd.DataFrame(),
        selection=None,
        duplicates=None,
        splits={},
        published=pd.DataFrame(),
        examples={},
        times=pd.DataFrame(),
        libraries={},
        content="",
        claims=[],
    )


def chapter(name: str, results: Results) -> dict[str, Any]:
    """Return the section on one experiment: the answer for each feature, and the tables."""
    best = binarisation.equal_bytes(binarisation.shares(results))
    at = {"ground_truth": TRUTH, "split": SPLIT}
    answers = [f"- {binarisation.answer(best, at | {'feature': feature})}" for feature in results.config["features"]]
    shown = [
        {"caption": table.caption, "markdown": tables.markdown(table.header, table.rows)}
        for table in binarisation.binarisation_section(results).tables
    ]
    return {"title": EXPERIMENTS[name], "answers": "\n".join(answers), "tables": shown}


def published() -> str:
    """Return the table of published figures."""
    rows = pd.read_csv(PUBLISHED, dtype=str, keep_default_na=False)
    columns = [column for column in rows if column != "provenance"]
    return pages.markdown(columns, rows[columns].to_numpy())


def main(results: str | Path = pages.RESULTS) -> None:
    folder, place = Path(results), ["dataset", "feature", "split", "n_bits", "hasher"]
    runs, curves, chapters = [], [], []
    for name in EXPERIMENTS:
        results = results_of(name, folder)
        shares, dataset = binarisation.shares(results), results.config["dataset"]
        alone = shares[shares["c"] == 1].assign(dataset=dataset, k="neighbours@" + shares["k"].astype(str))
        index = [*place, "shared", "run"]
        runs.append(alone.pivot_table(index=index, columns="k", values="value", sort=False).reset_index())
        curve = shares[(shares["ground_truth"] == TRUTH) & shares["c"].isin(CURVE)]
        means = binarisation.with_intervals(curve).assign(dataset=dataset)
        curves.append(means[[*place, "k", "c", "mean", "low", "high", "n_runs"]])
        chapters.append(chapter(name, results))
    for file, parts in (("runs", runs), ("rescoring", curves)):
        pages.write(pd.concat(parts, ignore_index=True), FOLDER / f"{file}.csv")
    records = [storage.read_provenance(next((folder / name).glob("*/counts/itq.h5"))) for name in EXPERIMENTS]
    page = pages.render(
        "quantisation",
        configs=", ".join(f"`workflow/config/{name}.yaml`" for name in EXPERIMENTS),
        split=SPLIT,
        k=K,
        chapters=chapters,
        published=published(),
        versions=pages.listed(records[0]["versions"]),
        notes=list(dict.fromkeys(note for record in records for note in record["notes"])),
    )
    pages.store("quantisation", page)


if __name__ == "__main__":
    main(*sys.argv[1:])
