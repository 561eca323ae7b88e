"""Draw one run of a split protocol."""

from protocol import registry, storage


def main(job):
    """Write the row numbers of every partition, balanced over the classes where the dataset has labels."""
    items = storage.read(job.input.labels)
    sizes, seed = dict(job.params.sizes), job.params.seed
    protocol = registry.get("split", job.wildcards.split)
    arrays = protocol.split(len(items["ids"]), items.get("labels"), sizes=sizes, seed=seed)
    passport = storage.passport(
        f"split {job.wildcards.split}",
        parameters={"sizes": sizes, "run": int(job.wildcards.run)},
        inputs=dict(job.input.items()),
        seed=seed,
    )
    storage.write(job.output.splits, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
