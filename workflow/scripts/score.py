"""Compute every metric of the experiment from the counts of one hasher on one feature."""

from protocol.counting import read_counts
from protocol.evaluation.exclusion import read_positions
from protocol.metrics import score_rows
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, code length, ground truth, extension and metric."""
    wc, p = job.wildcards, job.params
    counts = read_counts(job.input.counts, without=read_positions(job.input.excluded))
    of = (p.dataset, wc.feature, wc.hasher)
    write_scores(job.output.scores, score_rows(counts, of, p.extensions, p.metrics, undefined=p.undefined))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
