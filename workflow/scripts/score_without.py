"""Compute every metric of one hasher on one feature without the queries that have a judged near-duplicate."""

import numpy as np

from protocol import auditing
from protocol.counting import read_counts
from protocol.evaluation.exclusion import read_positions
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.scores.summary import write_scores


def main(job):
    """Write one row for each split, run, code length, ground truth and metric, for codes without extension."""
    wc, p, rows = job.wildcards, job.params, []
    dataset, without = auditing.read_dataset(job.input.labels), read_positions(job.input.excluded)
    pairs = auditing.known_pairs_for(None, dataset)
    for path, key in zip(job.input.splits, p.splits, strict=True):
        split = auditing.Split(storage.read(path), dataset)
        without[key] = np.union1d(without.get(key, []), pairs.queries(split)).astype(np.int64)
    for stored in read_counts(job.input.counts, without=without):
        place = (p.dataset, wc.feature, stored.ground_truth, stored.split, stored.run, wc.hasher, stored.n_bits)
        sizes = (stored.relevance, stored.counts.n_queries, stored.counts.n_database, stored.items)
        scores = evaluate(stored.counts, p.metrics, undefined=p.undefined)
        rows += [(*place, "none", 0, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
