"""List the queries that the key `exclude_queries` excludes from the scores of every split and run."""

import pandas as pd

from protocol import auditing
from protocol.evaluation.exclusion import COLUMNS
from protocol.provenance import storage
from protocol.scores.tables import write_table


def main(job):
    """Write excluded.csv, with a row for each excluded query."""
    dataset, excluded, rows = auditing.read_dataset(job.input.labels), auditing.read_excluded(*job.input.file), []
    for path, (split, run) in zip(job.input.splits, job.params.splits, strict=True):
        parts = auditing.Split(storage.read(path), dataset)
        for position in excluded.queries(parts).tolist():
            item = int(parts.entries["query"][position])
            rows.append((split, run, position, item, dataset.ids[item]))
    write_table(job.output.excluded, pd.DataFrame(rows, columns=COLUMNS))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
