"""Add up the counts of all shards of the database, for every split, code length, extension and ground truth."""

from protocol import storage
from protocol.identity import items_sha256
from protocol.ranking import ground_truth_sha256, pack_counts, relevance_from_arrays, unpack_counts


def main(job):
    """Write the counts of the whole database."""
    p, total, arrays, described = job.params, {}, {}, {}
    for path in job.input.shards:
        for split, of_split in storage.grouped(storage.read(path)).items():
            for place, packed in storage.grouped(of_split).items():
                before, own = total.setdefault(split, {}).get(place), unpack_counts(packed)
                total[split][place] = {truth: before[truth] + own[truth] for truth in own} if before else own
    for split, path in zip(p.splits, job.input.splits, strict=True):
        digests = {part: storage.array_digest(rows) for part, rows in storage.read(path, ["query", "database"]).items()}
        n_database = next(iter(next(iter(total[split].values())).values())).n_database
        described[split] = {}
        for truth, rule in storage.grouped(storage.read_group(job.input.ground_truth, split)).items():
            kind = relevance_from_arrays(rule, n_database)
            items = items_sha256(**digests, ground_truth=ground_truth_sha256(kind))
            described[split][truth] = {"relevance": kind.kind, "items": items}
        for place, counts in total[split].items():
            arrays |= {f"{split}/{place}/{name}": array for name, array in pack_counts(counts).items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")}
    record = storage.passport(
        "counts",
        parameters={"extensions": [list(pair) for pair in p.extensions], "ground_truths": described},
        inputs=inputs | dict(zip(p.splits, job.input.splits, strict=True)),
    )
    storage.write(job.output.counts, arrays, record, compress=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
