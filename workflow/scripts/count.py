"""Count the database items at each Hamming distance, for every split, code length, extension and ground truth."""

from protocol import codes, storage
from protocol.identity import items_sha256
from protocol.ranking import count, ground_truth_sha256, pack_counts, relevance_from_arrays


def main(job):
    """Write the counts; the extension codes are made here and really counted."""
    stored, p, arrays, described = storage.read(job.input.codes), job.params, {}, {}
    rules = storage.grouped(storage.read(job.input.ground_truth))
    for split, path in zip(p.splits, job.input.splits, strict=True):
        chosen = storage.read(path, ["query", "database"])
        digests = {part: storage.array_digest(items) for part, items in chosen.items()}
        pairs = codes.of_split(stored, chosen["database"], split)
        n_database, own = len(next(iter(pairs.values()))["database"]), storage.grouped(rules[split])
        truths = {truth: relevance_from_arrays(rule, n_database) for truth, rule in own.items()}
        described[split] = {
            truth: {"relevance": kind.kind, "items": items_sha256(**digests, ground_truth=ground_truth_sha256(kind))}
            for truth, kind in truths.items()
        }
        calls = len(p.splits) * len(pairs) * len(p.extensions)
        for n_bits, pair in pairs.items():
            for extension, s in p.extensions:
                extended = codes.extend(**pair, n_bits=n_bits, extension=extension, extension_bits=s)
                packed = pack_counts(count(*extended, truths, index_order=p.index_order, calls=calls))
                arrays |= {f"{split}/{n_bits} {extension} {s}/{name}": array for name, array in packed.items()}
    inputs = {name: job.input[name] for name in ("codes", "ground_truth")}
    passport = storage.passport(
        "counts",
        parameters={"extensions": [list(pair) for pair in p.extensions], "ground_truths": described},
        inputs=inputs | dict(zip(p.splits, job.input.splits, strict=True)),
    )
    storage.write(job.output.counts, arrays, passport, compress=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
