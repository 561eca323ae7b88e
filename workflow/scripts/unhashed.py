"""Score the vectors of a feature, before the preprocessing, as the reference for all codes, in every split and run."""

import numpy as np

from protocol import registry
from protocol.counting import distance_counts
from protocol.counting.counts_file import items_without, read_truths, truths_record
from protocol.evaluation.conventions import is_defined
from protocol.evaluation.exclusion import read_positions
from protocol.features import prepared
from protocol.metrics import in_database_order, means_of_blocks
from protocol.provenance import storage
from protocol.scores.metadata import UNHASHED
from protocol.scores.summary import write_scores


def main(job):
    """Write one row per split, run, ground truth and metric, with 32 bits for each number of a vector."""
    p, wc, rows = job.params, job.wildcards, []
    names, excluded = [name for name in p.metrics if is_defined(name, p.distance)], read_positions(job.input.excluded)
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    files = zip(p.split_runs, job.input.splits, job.input.preprocessing, job.input.ground_truths, strict=True)
    for (split, run), split_file, fitted, truth_file in files:
        parts = storage.read(split_file, ["query", "database"])
        with prepared(feature, dict.fromkeys(p.feature["steps"], ()), job.input.features, fitted) as items:
            query, database = (items.vectors(name, images) for name, images in parts.items())
        truths = read_truths(truth_file, split, len(database))
        recorded, left_out = truths_record(truths, parts), excluded.get((split, run), np.empty(0, dtype=np.int64))
        for truth, relevance in truths.items() if left_out.size < len(query) else ():
            counts = distance_counts(query, database, p.distance, relevance, index_order=in_database_order(names))
            means = means_of_blocks(counts, names, undefined=p.undefined, without=left_out)
            key = (p.dataset, wc.feature, truth, split, run, UNHASHED, 32 * query.shape[1], "none", 0)
            sizes = (len(query) - left_out.size, len(database), items_without(recorded[truth]["items"], left_out))
            rows += [(*key, name, relevance.kind, *sizes, value) for name, value in means.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
