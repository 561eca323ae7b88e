"""Compute the numbers that the figures show beyond the summary: curves over all runs, and tables of run 0."""

from protocol import codes
from protocol.counting import read_counts
from protocol.counting.counts_file import read_truths
from protocol.evaluation.exclusion import read_positions
from protocol.provenance import storage
from protocol.report import examples


def main(job):
    """Write a table for each figure."""
    p, split, radii, curves = job.params, job.wildcards.split, [], []
    without = read_positions(job.input.excluded)
    for path, hasher in zip(job.input.counts, p.hashers, strict=True):
        for stored in read_counts(path, split=split, without=without):
            radii += [{"hasher": hasher} | row for row in examples.radius_rows(stored, undefined=p.undefined)]
            curves += [{"hasher": hasher} | row for row in examples.curve_rows(stored, undefined=p.undefined)]
    parts = storage.read(job.input.splits)
    codes_of = {
        hasher: codes.of_split(storage.read(path), parts, split)
        for path, hasher in zip(job.input.codes, p.hashers, strict=True)
    }
    truths = read_truths(job.input.ground_truth, split, len(parts["database"]))
    tables = examples.of_run(codes_of, truths, parts, p.n_bits, without=without.get((split, 0), ()))
    tables |= {"radii": examples.mean_over_runs(radii), "curves": examples.mean_over_runs(curves)}
    for name, table in tables.items():
        examples.write(job.output[name], name, table)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
