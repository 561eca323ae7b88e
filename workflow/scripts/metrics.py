"""Gather the scores of an experiment, summarise them over the runs, and list the runs."""

from protocol.scores.summary import COLUMNS, collect, runs_of, summarise
from protocol.scores.tables import write_table


def main(job):
    """Write metrics.csv, summary.csv and runs.csv."""
    scores, p = collect(job.input.scores), job.params
    write_table(job.output.metrics, scores[list(COLUMNS)])
    write_table(job.output.summary, summarise(scores, empty=p.empty, options=p.options, supervision=p.supervision))
    write_table(job.output.runs, runs_of(scores))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
