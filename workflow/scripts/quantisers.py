"""Gather the shares of the nearest items that quantisers find."""

import pandas as pd

from protocol.scores.tables import read_table, write_table


def main(job):
    """Write quantisers.csv."""
    write_table(job.output.quantisers, pd.concat(map(read_table, job.input.tables), ignore_index=True))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
