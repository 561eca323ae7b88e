"""Compute every metric of the experiment from the counts of one hasher on one feature."""

from protocol.counting import read_counts
from protocol.metrics import evaluate, mean
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, code length, extension, ground truth and metric."""
    wc, p, rows = job.wildcards, job.params, []
    for stored in read_counts(job.input.counts, p.extensions):
        code = (stored.n_bits, stored.extension, stored.extension_bits)
        sizes = (stored.relevance, stored.counts.n_queries, stored.counts.n_database, stored.items)
        key = (p.dataset, wc.feature, stored.ground_truth, stored.split, stored.run, wc.hasher, *code)
        scores = evaluate(stored.counts, p.metrics, empty=p.empty)
        rows += [(*key, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
