"""Count the database items at each Hamming distance, for every code length, extension and ground truth."""

from protocol import codes, storage
from protocol.ranking import count, pack_counts, relevance_from_arrays


def main(job):
    """Write the counts; the extension codes are made here and really counted."""
    rules = storage.grouped(storage.read(job.input.groundtruth))
    pairs = storage.grouped(storage.read(job.input.codes))
    calls = len(pairs) * len(job.params.extensions)
    arrays = {}
    for n_bits, pair in pairs.items():
        truths = {truth: relevance_from_arrays(rule, len(pair["database"])) for truth, rule in rules.items()}
        for extension, s in job.params.extensions:
            extended = codes.extend(**pair, n_bits=int(n_bits), extension=extension, extension_bits=s)
            packed = pack_counts(count(*extended, truths, index_order=job.params.index_order, calls=calls))
            arrays |= {f"{n_bits} {extension} {s}/{name}": array for name, array in packed.items()}
    passport = storage.passport(
        "counts",
        parameters={"extensions": [list(pair) for pair in job.params.extensions]},
        inputs=dict(job.input.items()),
    )
    storage.write(job.output.counts, arrays, passport, compress=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
