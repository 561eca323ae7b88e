"""Count the database items at each Hamming distance, for each split, run, code length and ground truth of a hasher."""

import itertools

from protocol.counting import added, counted, write_counts
from protocol.provenance import reuse

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts, or the sums of those of all shards. Those of extended codes follow from them."""
    p, kinds = job.params, [job.input[kind] for kind in INPUTS]
    files = {place: dict(zip(INPUTS, paths, strict=True)) for place, *paths in zip(p.places, *kinds, strict=True)}
    if p.n_shards > 1:
        shards = zip(*[iter(job.input.shards)] * p.n_shards, strict=True)
        counts = (
            added(*place, of_place, paths) for of_place, (place, paths) in zip(shards, files.items(), strict=True)
        )
    else:
        options = {"code": p.code, "index_order": p.index_order, "calls": len(files), "earlier": job.output.counts}
        counts = (counted(*place, paths, **options) for place, paths in files.items())
    write_counts(job.output.counts, itertools.chain.from_iterable(counts), files)
    if p.n_shards == 1:
        reuse.keep(job.output.counts)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
