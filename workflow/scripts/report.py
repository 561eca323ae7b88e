"""Write the report: one HTML page that opens offline."""

from protocol.provenance import storage
from protocol.report import page, reading


def main(job):
    """Gather the experiment's results and render the page."""
    files = dict(job.input.items())
    with reading(files, config=job.params.config) as results:
        html = page(results)
    storage.write_text(job.output.report, html)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
