"""Download one file of a dataset, and record its source."""

from pathlib import Path

from protocol import registry
from protocol.datasets import Downloads, fetch


def main(job):
    """Download the file that the wildcard names."""
    files = {file.name: file for file in registry.DATASETS.entry(job.params.dataset).files}
    sources = {key: job.config[key] for key in ("mirror", "mirror_sha256", "offline")}
    downloads = Downloads(job.params.dataset, Path(job.output.file).parents[2], **sources)
    fetch(files[job.wildcards.file], downloads)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
