"""Count the database items at each Hamming distance, for every split, code length and ground truth."""

from protocol import codes
from protocol.counting import count, pack_counts, truths_record, write_counts
from protocol.provenance import storage
from protocol.truth.relevance import relevances_from_arrays


def main(job):
    """Write the counts. Those of extended codes follow from them (`HammingCounts.extended`)."""
    stored, p, arrays, ground_truths = storage.read(job.input.codes), job.params, {}, {}
    rules = storage.grouped(storage.read(job.input.ground_truth))
    for split, path in zip(p.splits, job.input.splits, strict=True):
        chosen = storage.read(path, ["query", "database"])
        pairs = codes.of_split(stored, chosen["database"], split)
        n_database, own = len(next(iter(pairs.values()))["database"]), storage.grouped(rules[split])
        truths = relevances_from_arrays(own, n_database)
        ground_truths[split] = truths_record(truths, chosen)
        calls = len(p.splits) * len(pairs)
        for n_bits, pair in pairs.items():
            both = pair["query"], pair["database"]
            packed = pack_counts(count(*both, n_bits, truths, index_order=p.index_order, calls=calls))
            arrays |= {f"{split}/{n_bits}/{name}": array for name, array in packed.items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")} | dict(
        zip(p.splits, job.input.splits, strict=True)
    )
    write_counts(job.output.counts, arrays, ground_truths=ground_truths, inputs=inputs)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
