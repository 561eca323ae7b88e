"""Work out what the figures show beyond the summary: at every radius over all runs, and of the codes of run 0."""

from pathlib import Path

from protocol import storage
from protocol.ranking import relevance_from_arrays
from protocol.report import display, write_table


def main(job):
    """Write a table for each figure; times go to a table of their own, which no result is read from."""
    lengths, extended, radii = job.params.n_bits, job.params.extended, []
    for path in job.input.counts:
        hasher, counts = Path(path).parent.name, storage.read(path)
        rows = display.radius_rows(counts, lengths=lengths, empty=job.params.empty, extended=hasher == extended)
        radii += [{"hasher": hasher} | row for row in rows]
    codes_of, counts_of = (
        {Path(path).parent.name: storage.grouped(storage.read(path)) for path in paths}
        for paths in (job.input.codes, job.input.counts0)
    )
    rules, parts = storage.grouped(storage.read(job.input.groundtruth)), storage.read(job.input.splits)
    truths = {name: relevance_from_arrays(rule, len(parts["database"])) for name, rule in rules.items()}
    tables = display.of_run(codes_of, counts_of, truths, parts, lengths)
    for name, table in (tables | {"radii": display.mean_over_runs(radii)}).items():
        write_table(job.output[name], table)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
