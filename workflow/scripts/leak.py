"""Train one hasher inside each of a run's two databases, at every size and code length, and rank both databases."""

from protocol import registry, storage
from protocol.features import Preprocessing, extracted
from protocol.hashers import TrainingSet
from protocol.ranking import relevance_from_arrays
from protocol.studies import SIDES, rankings, write_scores


def main(job):
    """Write one row per training size, code length and ground truth, with the four scores."""
    wc, p, rows = job.wildcards, job.params, []
    feature, hasher = registry.get("feature", wc.feature)(**p.options), registry.get("hasher", wc.hasher)
    fitted = Preprocessing.from_arrays(feature, p.steps, storage.read(job.input.preprocessing))
    parts = {side: storage.read(job.input[f"splits_{side}"]) for side in SIDES}
    with extracted(job.input.features) as items:
        X = {side: {name: fitted.transform(items.raw(of)) for name, of in parts[side].items()} for side in SIDES}
    database, truths = {side: X[side]["database"] for side in SIDES}, {}
    for side in SIDES:
        rules = storage.grouped(storage.read(job.input[f"groundtruth_{side}"]))
        truths[side] = {name: relevance_from_arrays(rule, len(database[side])) for name, rule in rules.items()}
    inside = {(side, size): TrainingSet(X[side][f"inside/{size}"]) for side in SIDES for size, _ in p.seeds}
    for size, n_bits in p.seeds:
        models = {
            side: hasher(n_bits=n_bits, seed=seed, **p.hasher_options).fit(inside[side, size])
            for side, seed in p.seeds[size, n_bits].items()
        }
        scores = rankings(models, X["a"]["query"], database, truths, empty=p.empty, calls=len(p.seeds))
        place = (p.dataset, wc.feature, wc.run, wc.hasher, n_bits, size, len(X["a"][f"inside/{size}"]))
        rows += [(*place, truth, *four.values()) for truth, four in scores.items()]
    write_scores(job.output.scores, rows)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
