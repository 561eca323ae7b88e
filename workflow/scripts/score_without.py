"""Compute every metric of one hasher on one feature without the queries that have a judged near-duplicate."""

import numpy as np

from protocol import auditing
from protocol.counting import read_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.scores.summary import write_scores


def main(job):
    """Write one row for each split, run, code length, ground truth and metric, for codes without extension."""
    wc, p, remaining, rows = job.wildcards, job.params, {}, []
    dataset = auditing.read_dataset(job.input.labels)
    pairs = auditing.known_pairs_for(None, dataset)
    for path, key in zip(job.input.splits, p.splits, strict=True):
        split = auditing.Split(storage.read(path), dataset)
        remaining[key] = np.delete(np.arange(len(split.entries["query"])), pairs.queries(split))
    for stored in read_counts(job.input.counts):
        queries = remaining[stored.split, stored.run]
        if queries.size:
            place = (p.dataset, wc.feature, stored.ground_truth, stored.split, stored.run, wc.hasher, stored.n_bits)
            sizes = (stored.relevance, queries.size, stored.counts.n_database, stored.items)
            scores = evaluate(stored.counts.of_queries(queries), p.metrics, empty=p.empty)
            rows += [(*place, "none", 0, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
