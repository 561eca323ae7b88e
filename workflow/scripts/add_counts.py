"""Add up the counts of all shards of the database, for every split, code length and ground truth."""

from protocol.counting import added_counts, pack_counts, truths_record, write_counts
from protocol.provenance import storage
from protocol.truth.relevance import relevances_from_arrays


def main(job):
    """Write the counts of the whole database."""
    p, total, arrays, ground_truths = job.params, added_counts(job.input.shards), {}, {}
    for split, path in zip(p.splits, job.input.splits, strict=True):
        n_database = next(iter(next(iter(total[split].values())).values())).n_database
        truths = relevances_from_arrays(storage.grouped(storage.read_group(job.input.ground_truth, split)), n_database)
        ground_truths[split] = truths_record(truths, storage.read(path, ["query", "database"]))
        for n_bits, counts in total[split].items():
            arrays |= {f"{split}/{n_bits}/{name}": array for name, array in pack_counts(counts).items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")} | dict(
        zip(p.splits, job.input.splits, strict=True)
    )
    write_counts(job.output.counts, arrays, ground_truths=ground_truths, inputs=inputs)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
