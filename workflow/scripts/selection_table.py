"""Gather the scores and choices of all searches into one table."""

from protocol.hashers.selection import write_table


def main(job):
    """Write selection.csv."""
    write_table(job.output.table, job.input.selections)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
