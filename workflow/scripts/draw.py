"""Draw the queries, validation partitions and training set of one run."""

from protocol import registry
from protocol.inputs.validation import n_classes
from protocol.provenance import storage
from protocol.splits import drawing_split, official_parts, read_lists


def main(job):
    """Write the row numbers of every partition except the database, balanced over the classes if there are labels."""
    protocol = registry.get("split", drawing_split(job.wildcards.draw))
    files = {name: file for name, file in job.params.lists.items() if file is not None}
    with storage.opened(job.input.labels) as items:
        y = items["labels"][:] if "labels" in items else None
        parts = protocol.drawn(
            len(items["ids"]),
            y,
            seed=job.params.seed,
            sizes=job.params.sizes,
            official=official_parts(items),
            lists=read_lists(files, items["ids"], n_classes=n_classes(y)),
        )
    provenance = storage.provenance(
        f"draw {job.wildcards.draw}",
        parameters={"sizes": dict(job.params.sizes), "run": int(job.wildcards.run)},
        inputs={"labels": job.input.labels},
        seed=job.params.seed,
    )
    storage.write(job.output.draw, parts, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
