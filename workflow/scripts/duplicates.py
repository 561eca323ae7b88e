"""Compare every metric with and without the queries that have a judged near-duplicate."""

from protocol.scores.summary import collect, with_and_without
from protocol.scores.tables import write_table


def main(job):
    """Write duplicates.csv."""
    write_table(job.output.duplicates, with_and_without(collect(job.input.scores), collect(job.input.without)))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
