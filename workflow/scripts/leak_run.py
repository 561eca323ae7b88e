"""One run of the leak study: draw two databases, train every hasher inside each of them, and rank both."""

from protocol import registry
from protocol.auditing.leak_study import halves, scores_of_feature, write_scores
from protocol.features import fit_preprocessing, prepared
from protocol.provenance import storage


def main(job):
    """Write one row per feature, hasher, training size, code length and ground truth, with the four scores.

    Everything except the hashers is fitted once, on items that are in neither database.
    """
    p, rows, y = job.params, [], storage.read(job.input.labels).get("labels")
    sides = halves(y, **p.sizes, seed=p.seed)
    for path, (name, described) in zip(job.input.features, p.features.items(), strict=True):
        feature, seeds = registry.get("feature", described["plugin"])(**described["options"]), p.seeds[name]
        outside, steps = sides["a"]["train"], described["steps"]
        fitted, _ = fit_preprocessing(feature, steps, path, outside, seed=seeds["preprocessing"])
        options = {key: described[key] for key in ("ground_truths", "hashers")} | {"undefined": p.undefined}
        with prepared(feature, steps, path, fitted) as items:
            scores = scores_of_feature(items, sides, y, seeds=seeds, **options)
            rows += [(p.dataset, name, job.wildcards.run, *row) for row in scores]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
