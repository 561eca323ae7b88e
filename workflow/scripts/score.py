"""Compute every metric of the experiment from the counts of one hasher on one feature."""

from pathlib import Path

from protocol.counting import unpack_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, code length, extension, ground truth and metric."""
    wc, p, rows = job.wildcards, job.params, []
    for path in job.input.counts:
        run, described = Path(path).parents[1].name.removeprefix("run"), storage.read_provenance(path)["parameters"]
        for split, of_split in storage.grouped(storage.read(path)).items():
            for place, arrays in storage.grouped(of_split).items():
                for truth, counts in unpack_counts(arrays).items():
                    key = (p.dataset, wc.feature, truth, split, run, wc.hasher, *place.split())
                    own = described["ground_truths"][split][truth]
                    sizes = (own["relevance"], counts.n_queries, counts.n_database, own["items"])
                    scores = evaluate(counts, p.metrics, empty=p.empty)
                    rows += [(*key, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
