"""Draw one run of a split protocol."""

import numpy as np

from protocol import registry, storage
from protocol.checks import n_classes
from protocol.splits import list_paths, read_lists


def main(job):
    """Write the row numbers of every partition, balanced over the classes where the dataset has labels."""
    items, protocol = storage.read(job.input.labels), registry.get("split", job.wildcards.split)
    ids, y, seed = np.char.decode(items["ids"], "utf-8"), items.get("labels"), job.params.seed
    files = {name: file for name, file in job.params.lists.items() if file is not None}
    arrays = protocol.split(
        len(ids),
        y,
        seed=seed,
        sizes=job.params.sizes,
        official=storage.grouped(items).get("partitions", {}),
        lists=read_lists(files, ids, n_classes=n_classes(y)),
    )
    lists = {name: storage.file_sha256(path) for name, path in list_paths(protocol, files).items()}
    passport = storage.passport(
        f"split {job.wildcards.split}",
        parameters={"sizes": dict(job.params.sizes), "lists": lists, "run": int(job.wildcards.run)},
        inputs={"labels": job.input.labels},
        seed=seed,
    )
    storage.write(job.output.splits, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
