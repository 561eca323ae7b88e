"""Write the report: one HTML page that opens offline."""

from protocol.provenance import storage
from protocol.report import page, read_results


def main(job):
    """Gather the experiment's results and render the page."""
    results = read_results(dict(job.input.items()), config=job.params.config)
    with storage.replacing(job.output.report) as path:
        path.write_text(page(results))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
