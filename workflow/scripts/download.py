"""Put one of a dataset's files into the downloads folder, and note where it came from."""

import json
from pathlib import Path

from protocol import registry, storage
from protocol.datasets import fetch


def main(job):
    """Fetch the file that the wildcard names."""
    files = registry.entry("dataset", job.params.dataset).facts["files"]
    file = next(file for file in files if file.name == job.wildcards.file)
    mirror = job.config.get("mirror") and f"{job.config['mirror']}/{job.params.dataset}"
    provenance = fetch(file, Path(job.output.file).parent, mirror=mirror, sha256=job.wildcards.sha256)
    with storage.replacing(job.output.provenance) as path:
        path.write_text(json.dumps(provenance, indent=1))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
