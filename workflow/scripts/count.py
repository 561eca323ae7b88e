"""Count the database items at each Hamming distance, for every split, code length, extension and ground truth."""

from protocol import codes
from protocol.counting import count, pack_counts, truths_record, write_counts
from protocol.provenance import storage
from protocol.truth.relevance import relevances_from_arrays


def main(job):
    """Write the counts. The extension codes are computed here, and counted like all other codes."""
    stored, p, arrays, ground_truths = storage.read(job.input.codes), job.params, {}, {}
    rules = storage.grouped(storage.read(job.input.ground_truth))
    for split, path in zip(p.splits, job.input.splits, strict=True):
        chosen = storage.read(path, ["query", "database"])
        pairs = codes.of_split(stored, chosen["database"], split)
        n_database, own = len(next(iter(pairs.values()))["database"]), storage.grouped(rules[split])
        truths = relevances_from_arrays(own, n_database)
        ground_truths[split] = truths_record(truths, chosen)
        calls = len(p.splits) * len(pairs) * len(p.extensions)
        for n_bits, pair in pairs.items():
            for extension, s in p.extensions:
                extended = codes.extend(**pair, n_bits=n_bits, extension=extension, extension_bits=s)
                packed = pack_counts(count(*extended, truths, index_order=p.index_order, calls=calls))
                arrays |= {f"{split}/{n_bits} {extension} {s}/{name}": array for name, array in packed.items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")} | dict(
        zip(p.splits, job.input.splits, strict=True)
    )
    write_counts(job.output.counts, arrays, extensions=p.extensions, ground_truths=ground_truths, inputs=inputs)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
