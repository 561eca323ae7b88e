"""Write the report: one HTML page that opens offline."""

import pandas as pd

from protocol import storage
from protocol.report import page


def main(job):
    """Gather the tables of the setting and render the page."""
    html = page(
        setting=job.params.setting,
        passport=storage.read_passport(job.input.labels),
        items=storage.read(job.input.labels),
        summary=pd.read_csv(job.input.summary),
        findings=pd.read_csv(job.input.findings),
        splits={path: storage.read(path) for path in job.input.splits},
        published=job.input.published,
    )
    with storage.replacing(job.output.report) as path:
        path.write_text(html)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
