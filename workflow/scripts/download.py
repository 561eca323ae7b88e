"""Put one of a dataset's files into its place below the downloads folder, and note where it came from."""

from pathlib import Path

from protocol import registry
from protocol.downloads import Place, fetch, require_local


def main(job):
    """Fetch the file that the wildcard names; offline, every file that the dataset lacks is named at once."""
    files = {file.name: file for file in registry.entry("dataset", job.params.dataset).files}
    sources = {key: job.config[key] for key in ("mirror", "mirror_sha256", "offline")}
    place = Place(job.params.dataset, Path(job.output.file).parents[2], **sources)
    require_local(files.values(), place)
    fetch(files[job.wildcards.file], place)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
