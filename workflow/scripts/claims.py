"""Check the claims of the papers against the results of the experiment and the stored reference results."""

from protocol.papers import Results, ledger, write_ledger
from protocol.provenance.checksums import verify


def main(job):
    """Write the ledger. The stored reference results are part of the project and have no checksums."""
    verify(job.input.summary)
    write_ledger(job.output.claims, ledger(Results([job.input.summary, *job.input.reference])), checksum=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
