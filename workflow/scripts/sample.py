"""Draw the queries, validation partitions and training set of one run."""

from protocol import registry
from protocol.provenance import storage
from protocol.splits import Items, official_parts, read_lists, sampling_split


def main(job):
    """Write the row numbers of every partition except the database, balanced over the classes if there are labels."""
    protocol = registry.get("split", sampling_split(job.wildcards.sample)).with_options(job.params.options)
    files = protocol.files(job.params.options)
    with storage.opened(job.input.labels) as items:
        y = items["labels"][:] if "labels" in items else None
        lists = read_lists(files, items["ids"])
        known = Items(len(items["ids"]), y, official_parts(items), lists)
    parts = protocol.drawn(known, seed=job.params.seed, sizes=job.params.sizes)
    provenance = storage.provenance(
        f"sampled split {job.wildcards.sample}",
        parameters={"sizes": dict(job.params.sizes), "run": int(job.wildcards.run), **protocol.options},
        inputs={"labels": job.input.labels},
        seed=job.params.seed,
    )
    storage.write(job.output.sample, parts, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
