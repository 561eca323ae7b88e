"""Compute every metric of the setting from the counts of one hasher's runs."""

from pathlib import Path

from protocol import storage
from protocol.metrics import evaluate, mean
from protocol.ranking import HammingCounts
from protocol.report import write_rows


def main(job):
    """Write one row per run, code length, extension, ground truth and metric."""
    wc, rows = job.wildcards, []
    for path in job.input.counts:
        run = Path(path).parents[1].name.removeprefix("run")
        grouped = storage.grouped(storage.read(path))
        for place, arrays in grouped.items():
            n_bits, extension, s, truth = place.split("/")
            for metric, values in evaluate(HammingCounts.from_arrays(arrays), job.params.metrics).items():
                cell = (job.params.dataset, wc.feature, truth, wc.split, run, wc.hasher, n_bits, extension, s)
                rows.append((*cell, metric, mean(values)))
    write_rows(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
