"""Add up the counts of all shards of the database, for each split, run, code length and ground truth of a hasher."""

import itertools

from protocol.counting import added, write_counts

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts of the whole database."""
    p, kinds = job.params, [job.input[kind] for kind in INPUTS]
    files = {place: dict(zip(INPUTS, paths, strict=True)) for place, *paths in zip(p.combinations, *kinds, strict=True)}
    shards = zip(*[iter(job.input.shards)] * p.n_shards, strict=True)
    counts = (added(*place, own, paths) for own, (place, paths) in zip(shards, files.items(), strict=True))
    write_counts(job.output.counts, itertools.chain.from_iterable(counts), files)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
