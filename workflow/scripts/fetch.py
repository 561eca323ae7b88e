"""Put one of a dataset's files into its place below the downloads folder, and note where it came from."""

import json
from pathlib import Path

from protocol import registry, storage
from protocol.downloads import Place, fetch, require_local


def main(job):
    """Fetch the file that the wildcard names; offline, every file that the dataset lacks is named at once."""
    files = {file.name: file for file in registry.entry("dataset", job.params.dataset).facts["files"]}
    downloads = Path(job.output.file).parents[2]
    given = {key: job.config[key] for key in ("mirror", "mirror_sha256", "offline") if key in job.config}
    place = Place(job.params.dataset, downloads, **given)
    require_local(files.values(), place)
    provenance = fetch(files[job.wildcards.file], place)
    with storage.replacing(job.output.provenance) as path:
        path.write_text(json.dumps(provenance, indent=1))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
