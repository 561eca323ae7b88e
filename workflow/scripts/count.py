"""Count the database items at each Hamming distance, for each split, run, code length and ground truth of a hasher."""

import itertools

from protocol.counting import added, counted, write_counts
from protocol.provenance import reuse

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts, or the sums of those of all shards. Those of extended codes follow from them."""
    p, kinds = job.params, [job.input[kind] for kind in INPUTS]
    inputs = [dict(zip(INPUTS, paths, strict=True)) for paths in zip(*kinds, strict=True)]
    files = dict(zip(p.split_runs, inputs, strict=True))
    if p.n_shards > 1:
        shards = zip(*[iter(job.input.shards)] * p.n_shards, strict=True)
        parts = zip(files.items(), shards, strict=True)
        counts = (added(split, run, of_split, paths) for ((split, run), paths), of_split in parts)
    else:
        options = {"code": p.code, "index_order": p.index_order, "earlier": job.output.counts}
        counts = (counted(split, run, paths, **options) for (split, run), paths in files.items())
    write_counts(job.output.counts, itertools.chain.from_iterable(counts), files)
    if p.n_shards == 1:
        reuse.keep(job.output.counts)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
