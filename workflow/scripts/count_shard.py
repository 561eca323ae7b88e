"""Count the items of one shard of the database at each Hamming distance."""

from protocol import codes
from protocol.counting import count_in_shards, pack_counts, shard
from protocol.provenance import storage
from protocol.truth.relevance import relevance_of_part


def main(job):
    """Write the counts of the shard. Only its part of the codes and labels of the database is read."""
    p, arrays, number = job.params, {}, int(job.wildcards.shard.partition("-of-")[0]) - 1
    with storage.opened(job.input.codes) as stored, storage.opened(job.input.ground_truth) as rules:
        for split, path in zip(p.splits, job.input.splits, strict=True):
            parts = storage.read(path, ["query", "database"])
            rows = codes.rows_of_split(stored, parts["database"], split)
            n_database = int(rows.sum())
            part, stored_rules = shard(n_database, number, p.n_shards), storage.grouped(storage.grouped(rules)[split])
            truths = {truth: relevance_of_part(rule, n_database, part) for truth, rule in stored_rules.items()}
            for n_bits, pair in codes.of_shard(stored, parts, rows, part, split):
                counts = count_in_shards(pair["query"], pair["database"], n_bits, truths, buckets=False)
                arrays |= {f"{split}/{n_bits}/{name}": array for name, array in pack_counts(counts).items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")}
    record = storage.provenance(
        "counts of a shard",
        parameters={"number": number, "n_shards": p.n_shards},
        inputs=inputs | dict(zip(p.splits, job.input.splits, strict=True)),
    )
    storage.write(job.output.counts, arrays, record, compress=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
