"""List the queries that are excluded from the scores of every split and run."""

import numpy as np
import pandas as pd

from protocol import auditing
from protocol.evaluation.exclusion import COLUMNS
from protocol.provenance import storage
from protocol.scores.tables import write_table


def main(job):
    """Write a row for each query of the key `exclude_queries`, or also for each one with a judged near-duplicate."""
    dataset, rows = auditing.read_dataset(job.input.labels), []
    lists = [auditing.read_excluded(path) for path in job.input.file]
    if job.params.near_duplicates:
        lists.append(auditing.known_pairs_for(None, dataset))
    for path, (split, run) in zip(job.input.splits, job.params.split_runs, strict=True):
        parts = auditing.Split(storage.read(path), dataset)
        for position in np.unique(np.concatenate([one.queries(parts) for one in lists])).tolist():
            item = int(parts.entries["query"][position])
            rows.append((split, run, position, item, dataset.ids[item]))
    write_table(job.output.excluded, pd.DataFrame(rows, columns=COLUMNS))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
