"""Compute every metric of the setting from the counts of one hasher's runs."""

from pathlib import Path

from protocol import storage
from protocol.metrics import evaluate, mean, write_rows
from protocol.ranking import unpack_counts


def main(job):
    """Write one row per run, code length, extension, ground truth and metric."""
    wc, rows = job.wildcards, []
    for path in job.input.counts:
        run = Path(path).parents[1].name.removeprefix("run")
        for place, arrays in storage.grouped(storage.read(path)).items():
            for truth, counts in unpack_counts(arrays).items():
                cell = (job.params.dataset, wc.feature, truth, wc.split, run, wc.hasher, *place.split())
                scores = evaluate(counts, job.params.metrics, empty=job.params.empty)
                rows += [(*cell, name, mean(values)) for name, values in scores.items()]
    write_rows(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
