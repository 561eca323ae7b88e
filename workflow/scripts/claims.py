"""Judge the claims of the papers on the experiment's rows, and on the stored reference results."""

from protocol.claims import Results, judge, write_json


def main(job):
    """Write the ledger."""
    write_json(job.output.claims, judge(Results([job.input.summary, *job.input.reference])))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
