"""Compute every metric of the experiment from the counts of one hasher on one feature."""

from protocol.counting import read_counts
from protocol.evaluation.exclusion import read_positions
from protocol.metrics import evaluate_extended, mean
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, code length, ground truth, extension and metric."""
    wc, p, rows = job.wildcards, job.params, []
    for stored in read_counts(job.input.counts, without=read_positions(job.input.excluded)):
        key = (p.dataset, wc.feature, stored.ground_truth, stored.split, stored.run, wc.hasher, stored.n_bits)
        sizes = (stored.relevance, stored.counts.n_queries, stored.counts.n_database, stored.items)
        for *extension, scores in evaluate_extended(stored.counts, p.extensions, p.metrics, undefined=p.undefined):
            rows += [(*key, *extension, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
