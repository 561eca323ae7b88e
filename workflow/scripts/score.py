"""Compute every metric of the experiment from the counts of one hasher on one feature."""

from protocol.counting import read_counts
from protocol.metrics import evaluate, mean
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, code length, extension, ground truth and metric."""
    wc, p, rows = job.wildcards, job.params, []
    for path, (_, run) in zip(job.input.counts, p.runs, strict=True):
        for own in read_counts(path, p.extensions):
            code = (own.n_bits, own.extension, own.extension_bits)
            sizes = (own.relevance, own.counts.n_queries, own.counts.n_database, own.items)
            key = (p.dataset, wc.feature, own.ground_truth, own.split, run, wc.hasher, *code)
            scores = evaluate(own.counts, p.metrics, empty=p.empty)
            rows += [(*key, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
