"""Draw one run of the leak study: its queries, its items outside, and two databases with training sets inside."""

from protocol.auditing.leak_study import halves
from protocol.provenance import storage


def main(job):
    """Write the row numbers for each side. Both sides have the same queries and the same items outside."""
    y = storage.read(job.input.labels).get("labels")
    sides = halves(y, **job.params.sizes, seed=job.params.seed)
    for path, (side, parts) in zip(job.output.sides, sides.items(), strict=True):
        provenance = storage.provenance(
            f"leak side {side}",
            parameters=dict(job.params.sizes),
            inputs=dict(job.input.items()),
            seed=job.params.seed,
        )
        storage.write(path, parts, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
