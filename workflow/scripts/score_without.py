"""Compute every metric of one hasher on one feature without the queries that have a judged near-duplicate."""

from pathlib import Path

import numpy as np

from protocol import auditing
from protocol.counting import unpack_counts
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.scores.summary import write_scores


def main(job):
    """Write one row for each split, run, code length, ground truth and metric, for codes without extension."""
    wc, p, remaining, rows = job.wildcards, job.params, {}, []
    dataset = auditing.read_dataset(job.input.labels)
    pairs = auditing.known_pairs_for(None, dataset)
    for path in map(Path, job.input.splits):
        split = auditing.Split(storage.read(path), dataset)
        remaining[path.parents[1].name, path.parent.name] = np.delete(
            np.arange(len(split.entries["query"])), pairs.queries(split)
        )
    for path in job.input.counts:
        run, described = Path(path).parents[1].name, storage.read_provenance(path)["parameters"]
        for split, of_split in storage.grouped(storage.read(path)).items():
            queries = remaining[split, run]
            for place, arrays in storage.grouped(of_split).items():
                if not queries.size or place.split()[1] != "none":
                    continue
                for truth, counts in unpack_counts(arrays).items():
                    key = (p.dataset, wc.feature, truth, split, run.removeprefix("run"), wc.hasher, *place.split())
                    own = described["ground_truths"][split][truth]
                    sizes = (own["relevance"], queries.size, counts.n_database, own["items"])
                    scores = evaluate(counts.of_queries(queries), p.metrics, empty=p.empty)
                    rows += [(*key, name, *sizes, mean(values)) for name, values in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
