"""Count the database items at each Hamming distance, for each split, run, code length and ground truth of a hasher."""

from protocol import codes
from protocol.counting import Counted, count, group_of, pack_counts, truths_record, write_counts
from protocol.provenance import reuse, storage
from protocol.truth.relevance import relevances_from_arrays

INPUTS = ("codes", "ground_truths", "splits")


def main(job):
    """Write the counts. Those of extended codes follow from them (`HammingCounts.extended`)."""
    inputs, cells = {name: job.input[name] for name in INPUTS}, job.params.cells
    files = zip(cells, *inputs.values(), strict=True)
    counts = (counted for cell, *paths in files for counted in counts_of(cell, *paths, job))
    write_counts(job.output.counts, counts, cells=cells, inputs=inputs)
    reuse.keep(job.output.counts)


def counts_of(cell, of_codes, of_truths, of_split, job):
    """Yield the counts of one split and run; earlier ones at code lengths for which nothing has changed."""
    p, (split, run), rows = job.params, cell, storage.read(of_split, ["query", "database"])
    pairs = codes.of_split(storage.read(of_codes), rows["database"], split)
    n_database = len(next(iter(pairs.values()))["database"])
    truths = relevances_from_arrays(storage.grouped(storage.read_group(of_truths, split)), n_database)
    recorded, made_of = truths_record(truths, rows), {}
    for n_bits, pair in pairs.items():
        digests = {part: storage.array_digest(packed) for part, packed in pair.items()}
        origin = {"code": p.code, "index_order": p.index_order, "ground_truths": recorded, "codes": digests}
        made_of[group_of(split, run, n_bits)] = origin
    reusable, calls = reuse.unchanged([job.output.counts], made_of), len(p.cells) * len(pairs)
    for group, (n_bits, pair) in zip(made_of, pairs.items(), strict=True):
        if group in reusable:
            (arrays,) = reusable[group].arrays()
        else:
            both = pair["query"], pair["database"]
            arrays = pack_counts(count(*both, n_bits, truths, index_order=p.index_order, calls=calls))
        yield Counted(group, arrays, recorded, made_of[group])


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
