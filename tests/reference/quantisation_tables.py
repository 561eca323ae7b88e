"""Write ``results/reference/quantisation/``: the loss of binary codes on three datasets, from three finished runs.

Run by hand after `snakemake metrics --cores all --configfile workflow/config/NAME.yaml` for each NAME of `EXPERIMENTS`,
with a mirror for wiki and, if the official archive can't be reached, for cifar10:
`python tests/reference/quantisation_tables.py [FOLDER]`, where FOLDER contains the results of the experiments.
"""

import sys
from pathlib import Path

import pandas as pd

from protocol import configuration
from protocol.provenance import storage
from protocol.report.reading import run_scores
from protocol.report.results import Results
from protocol.report.sections import loss
from protocol.scores import tables

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "quantisation"
PUBLISHED = ROOT / "workflow" / "published" / "quantisation.csv"
EXPERIMENTS = {
    "cifar10_quantisation": "CIFAR-10, 60,000 images: GIST",
    "wiki_quantisation": "Wiki, 2,866 pairs: SIFT bag of words of the images, LDA topics of the texts",
    "digits_quantisation": "Digits, 1,797 images: SIFT",
}
SPLIT, TRUTH, K = "improved", "nearest_10", 10
"""The split and the K that the page shows; the files also have the others."""
CURVE = (1, 2, 4, 8, 16)

INTRODUCTION = """\
# The loss of binary codes compared with their vectors

Made by `python tests/reference/quantisation_tables.py` from runs of {configs}
(seed 0), by `snakemake metrics --configfile ...` with a mirror of the data. The codes have 1, 0.5 and 0.25 bits for
each dimension of the vectors (the 10 topics of Wiki: 10, 5 and 3 bits).

The ground truth is the K nearest neighbours by Euclidean distance of the vectors. Features whose name ends in `_cosine`
have vectors of unit norm, so their Euclidean neighbours are those by cosine. The tables show the share of the K
neighbours that are among the K nearest items by Hamming distance, as the expected value over ties (P@K with the K
nearest as the relevant items); for K = 1 this is 1-recall@1. Re-ranking with factor c retrieves the c K nearest items
by code and ranks them by the vectors (R@cK). An item as far as the K-th neighbour counts as a neighbour.

`sign` and `median` threshold single features. With fewer bits than dimensions, they use the first features, which have
no special meaning in these vectors. All vectors are centred on the training set, so `sign` thresholds at the mean.

The tables show the split `{split}`, whose database has no training items; `runs.csv` has the share of each run for both
splits and every K, and `rescoring.csv` has the curves for K = {k}. Brackets are 95% intervals over the runs, which
differ in queries, database, training set and seeds of the hashers, by a corrected resampled t-test after Nadeau and
Bengio (2003): the runs are resamples of one dataset.

## The hasher with the smallest loss at equal bytes

For K = 10, on vectors with 128 dimensions or more, it is `pca_rr` or `itq` at every size, and `pca_rr` wherever there
is one bit for each dimension. Both rotate principal components, `pca_rr` at random. The best hasher is clearly better
than the second only on GIST with 512 bits (`pca_rr` before `itq`). For K = 100, `itq` is clearly the best on SIFT at
every size, and on dense SIFT with 128 and 256 bits.

On the same vectors, the signs of principal components without a rotation (`pcah`) find fewer neighbours with 1 bit for
each dimension than with 0.25, and `sign` and `median` find fewer than random hyperplanes (`lsh`) at every size.

On the 10 topics of Wiki's texts, no hasher is clearly the best for K = 10."""
CONTEXT = """\
## Published figures

These figures are given for context. They are for other data, other vectors and, for CoRECT, another metric, so the
numbers can't be compared directly with the tables above.

- ann-search-rs (GregorLueg/ann-search-rs, `docs/benchmarks_binary.md` at commit 0aee6d1): recall of the nearest
  neighbours with exhaustive search of binary codes, without re-ranking and with 10-fold and 20-fold re-ranking. K is
  not in that file; 15 is the default of the benchmark's code at the same commit. We omit its rows for `signed`, because
  all three equal those of the random hyperplanes in every digit, so they may be for the same codes.
- CoRECT (padas-lab-de/CoRECT, `share_results/*/arguana/` at commit 2151f1c; Caspari et al., arXiv:2510.19340): nDCG@10
  with ArguAna's relevance judgements, not with neighbours. Below 1,024 dimensions, the embeddings are truncated to
  their first dimensions. The first row of each model is that of its uncompressed vectors.
"""


def results_of(name: str, folder: Path) -> Results:
    """Return the results of an experiment that the section on the loss requires."""
    experiment = configuration.load(configuration.read(ROOT / "workflow" / "config" / f"{name}.yaml"))
    return Results(
        config=experiment.config,
        provenance={},
        items={},
        images=None,
        summary=pd.read_csv(folder / name / "summary.csv"),
        run_scores=run_scores(folder / name / "metrics.csv", experiment.config),
        dimensions={feature: experiment.dimensions(feature)[0] for feature in experiment.features},
        findings=pd.DataFrame(),
        selection=None,
        duplicates=None,
        splits={},
        published=pd.DataFrame(),
        published_losses=pd.read_csv(PUBLISHED),
        displayed={},
        times=pd.DataFrame(),
        libraries={},
        records={},
        claims=[],
    )


def chapter(name: str, results: Results) -> str:
    """Return the section on one experiment: the answer for each feature, and the tables."""
    best = loss.equal_bytes(loss.shares(results))
    made = loss.loss_section(results)
    at = {"ground_truth": TRUTH, "split": SPLIT}
    answers = [f"- {loss.answer(best, at | {'feature': feature})}" for feature in results.config["features"]]
    parts = [f"## {EXPERIMENTS[name]}", "\n".join(answers)]
    for table in made.tables[:-1]:
        parts += [table.caption, tables.markdown(table.header, table.rows)]
    return "\n\n".join(parts)


def published() -> str:
    """Return the table of published figures."""
    rows = pd.read_csv(PUBLISHED, dtype=str, keep_default_na=False)
    columns = [column for column in rows if column != "provenance"]
    return tables.markdown(columns, rows[columns].to_numpy().tolist())


def provenance(folder: Path) -> str:
    """Return the versions of the libraries, and the notes of the experiments about their data."""
    records = [storage.read_provenance(next((folder / name).glob("*/*/run0/itq/counts.h5"))) for name in EXPERIMENTS]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(records[0]["versions"].items()))
    notes = dict.fromkeys(note for record in records for note in record["notes"])
    return "\n".join(f"- {line}" for line in (f"versions: {versions}", *notes))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    FOLDER.mkdir(parents=True, exist_ok=True)
    runs, curves, chapters = [], [], []
    for name in EXPERIMENTS:
        results = results_of(name, folder)
        shares, dataset = loss.shares(results), results.config["dataset"]
        alone = shares[shares["c"] == 1].assign(dataset=dataset, k="neighbours@" + shares["k"].astype(str))
        place = ["dataset", "feature", "split", "n_bits", "hasher"]
        runs.append(
            alone.pivot_table(index=[*place, "shared", "run"], columns="k", values="value", sort=False).reset_index()
        )
        curve = shares[(shares["ground_truth"] == TRUTH) & shares["c"].isin(CURVE)]
        means = loss.with_intervals(curve).assign(dataset=dataset)
        curves.append(means[[*place, "k", "c", "mean", "low", "high", "n_runs"]])
        chapters.append(chapter(name, results))
    for file, parts in (("runs", runs), ("rescoring", curves)):
        table = pd.concat(parts, ignore_index=True)
        table.to_csv(FOLDER / f"{file}.csv", index=False, float_format="%.6g", lineterminator="\n")
    configs = ", ".join(f"`workflow/config/{name}.yaml`" for name in EXPERIMENTS)
    introduction = INTRODUCTION.format(configs=configs, split=SPLIT, k=K)
    page = [introduction, *chapters, CONTEXT + "\n" + published(), "## Provenance", provenance(folder)]
    (FOLDER / "README.md").write_text("\n\n".join(page) + "\n")


if __name__ == "__main__":
    main()
