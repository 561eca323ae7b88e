"""Count the database items at each Hamming distance, for every code length, extension and ground truth."""

from protocol import codes, storage
from protocol.ranking import count, pack_counts, relevance_from_arrays


def main(job):
    """Write the counts; the extension codes are made here and really counted."""
    packed = storage.read(job.input.codes)
    n_database = len(next(iter(packed.values())))  # arrays come sorted by name, so database before query
    grouped = storage.grouped(storage.read(job.input.groundtruth))
    truths = {truth: relevance_from_arrays(arrays, n_database) for truth, arrays in grouped.items()}
    arrays = {}
    for n_bits in sorted({int(name.split("/")[0]) for name in packed}):
        pair = packed[f"{n_bits}/query"], packed[f"{n_bits}/database"]
        for extension, s in job.params.extensions:
            extended = codes.extend(*pair, n_bits, extension=extension, extension_bits=s)
            packed_counts = pack_counts(count(*extended, truths))
            arrays |= {f"{n_bits} {extension} {s}/{name}": array for name, array in packed_counts.items()}
    passport = storage.passport(
        "counts",
        parameters={"extensions": [list(pair) for pair in job.params.extensions]},
        inputs={name: storage.read_passport(path)["digest"] for name, path in job.input.items()},
    )
    storage.write(job.output.counts, arrays, passport, compress=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
