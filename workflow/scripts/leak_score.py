"""Train one hasher inside each of a run's two databases, at every size and code length, and rank both databases."""

from protocol import registry
from protocol.auditing.leak_study import SIDES, rankings, write_scores
from protocol.features import prepared
from protocol.hashers import TrainingSet
from protocol.provenance import storage
from protocol.truth.relevance import relevances_from_arrays


def main(job):
    """Write one row per training size, code length and ground truth, with the four scores."""
    wc, p, rows, X, truths = job.wildcards, job.params, [], {}, {}
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    hasher = registry.get("hasher", p.hasher["plugin"])
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as items:
        for side, path in zip(SIDES, job.input.sides, strict=True):
            parts = storage.read(path)
            X[side] = {name: items.vectors(name, images) for name, images in parts.items()}
    database = {side: X[side]["database"] for side in SIDES}
    for side, rules in storage.grouped(storage.read(job.input.ground_truth)).items():
        truths[side] = relevances_from_arrays(storage.grouped(rules), len(database[side]))
    inside = {(side, size): TrainingSet(X[side][f"inside/{size}"]) for side in SIDES for size, _ in p.seeds}
    for size, n_bits in p.seeds:
        models = {
            side: hasher(n_bits=n_bits, seed=seed, **p.hasher["options"]).fit(inside[side, size])
            for side, seed in p.seeds[size, n_bits].items()
        }
        scores = rankings(models, X["a"]["query"], database, truths, undefined=p.undefined, calls=len(p.seeds))
        key = (p.dataset, wc.feature, wc.run, wc.hasher, n_bits, size, len(X["a"][f"inside/{size}"]))
        rows += [(*key, truth, *four.values()) for truth, four in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
