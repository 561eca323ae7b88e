"""Add up the counts of all shards of the database, for all splits, runs, code lengths and ground truths of a hasher."""

from protocol.counting import Counted, added_counts, group_of, pack_counts, truths_record, write_counts
from protocol.provenance import storage
from protocol.truth.relevance import relevances_from_arrays

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts of the whole database."""
    inputs, p = {name: job.input[name] for name in INPUTS}, job.params
    shards = [job.input.shards[cell * p.n_shards : (cell + 1) * p.n_shards] for cell in range(len(p.cells))]
    files = zip(p.cells, shards, *inputs.values(), strict=True)
    write_counts(
        job.output.counts,
        (counted for cell, *paths in files for counted in counts_of(cell, *paths)),
        cells=p.cells,
        inputs=inputs,
    )


def counts_of(cell, of_shards, _, of_truths, of_split):
    """Yield the counts of one split and run."""
    split, run = cell
    total = added_counts(of_shards, split)
    n_database = next(iter(next(iter(total.values())).values())).n_database
    truths = relevances_from_arrays(storage.grouped(storage.read_group(of_truths, split)), n_database)
    recorded = truths_record(truths, storage.read(of_split, ["query", "database"]))
    for n_bits, counts in total.items():
        yield Counted(group_of(split, run, n_bits), pack_counts(counts), recorded)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
