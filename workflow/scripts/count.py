"""Count the database items at each Hamming distance, for each split, run, code length and ground truth of a hasher."""

import itertools

from protocol.counting import counted, write_counts
from protocol.provenance import reuse

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts. Those of extended codes follow from them (`HammingCounts.extended`)."""
    p, kinds = job.params, [job.input[kind] for kind in INPUTS]
    files = {place: dict(zip(INPUTS, paths, strict=True)) for place, *paths in zip(p.combinations, *kinds, strict=True)}
    options = {"code": p.code, "index_order": p.index_order, "calls": len(files), "earlier": job.output.counts}
    counts = itertools.chain.from_iterable(counted(*place, paths, **options) for place, paths in files.items())
    write_counts(job.output.counts, counts, files)
    reuse.keep(job.output.counts)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
