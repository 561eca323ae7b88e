"""Load a dataset: images and vectors into one file; ids, labels and official splits into another."""

import json
from pathlib import Path

import numpy as np

from protocol.datasets import load, store
from protocol.provenance import storage
from protocol.provenance.checksums import verified


def main(job):
    """Write the dataset. Its provenance record names the files that did not come from an official source."""
    fetched = [json.loads(verified(path)) for path in job.input.provenance]
    name, options = job.params.dataset, job.params.options
    data = load(name, {Path(path).name: Path(path) for path in job.input.files}, options)
    notes = [*data.notes, *(file["note"] for file in fetched if file["note"])]
    shapes = {array: rows.shape for array, rows in data.arrays.items()}
    provenance = storage.provenance(
        f"dataset {name}", parameters=options, inputs={}, sources=fetched, notes=notes, arrays=shapes
    )
    with storage.writing(job.output.content, provenance) as file:
        for array, rows in data.arrays.items():
            store(file, array, rows)
    items = {"ids": data.ids, "class_names": np.array(data.class_names, dtype=np.str_)}  # texts, even if there are none
    items |= {} if data.labels is None else {"labels": data.labels}
    items |= {f"partitions/{part}": rows for part, rows in data.partitions.items()}
    storage.write(job.output.labels, items, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
