"""Write the report: one HTML page that opens offline."""

from contextlib import nullcontext

import pandas as pd

from protocol import storage
from protocol.report import page


def main(job):
    """Gather the tables of the setting and render the page."""
    passport = storage.read_passport(job.input.content)
    has_images = "images" in passport["arrays"]
    with storage.streamed(job.input.content, "images") if has_images else nullcontext() as images:
        html = page(
            setting=job.params.setting,
            passport=passport,
            items=storage.read(job.input.labels),
            images=images,
            summary=pd.read_csv(job.input.summary),
            findings=pd.read_csv(job.input.findings),
            selection=next(map(pd.read_csv, job.input.selection), None),
            splits={path: storage.read(path) for path in job.input.splits},
            published=job.input.published,
        )
    with storage.replacing(job.output.report) as path:
        path.write_text(html)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
