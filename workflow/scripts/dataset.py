"""Load a dataset: its images into one file, the items' names and labels into another."""

import json
from pathlib import Path

from protocol import registry, storage


def main(job):
    """Load the dataset from its files; what did not come from the official ones is noted."""
    fetched = [json.loads(Path(path).read_text()) for path in job.input.provenance]
    data = registry.get("dataset", job.params.dataset)({Path(path).name: Path(path) for path in job.input.files})
    items = {"ids": data.ids, "class_names": list(data.class_names)}
    if data.labels is not None:
        items["labels"] = data.labels
    passport = storage.passport(
        f"dataset {job.params.dataset}",
        parameters={},
        inputs={},
        sources=fetched,
        notes=[*data.notes, *(file["note"] for file in fetched if file["note"])],
    )
    storage.write(job.output.images, {"images": data.images}, passport)
    storage.write(job.output.labels, items, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
