"""Add the database of one split protocol to a draw."""

import numpy as np

from protocol import registry
from protocol.inputs.validation import n_classes
from protocol.provenance import storage
from protocol.splits import list_paths, read_lists


def main(job):
    """Write the row numbers of every partition."""
    items, parts = storage.read(job.input.labels), storage.read(job.input.draw)
    drawn, protocol = storage.read_provenance(job.input.draw), registry.get("split", job.wildcards.split)
    ids = np.char.decode(items["ids"], "utf-8")
    files = {name: file for name, file in job.params.lists.items() if file is not None}
    parts["database"] = protocol.database(
        parts,
        len(ids),
        official=storage.grouped(items).get("partitions", {}),
        lists=read_lists(files, ids, n_classes=n_classes(items.get("labels"))),
    )
    lists = {name: storage.file_sha256(path) for name, path in list_paths(protocol, files).items()}
    provenance = storage.provenance(
        f"split {job.wildcards.split}",
        parameters=drawn["parameters"] | {"lists": lists},
        inputs={"labels": job.input.labels, "draw": job.input.draw},
        seed=drawn["seed"],
    )
    storage.write(job.output.splits, parts, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
