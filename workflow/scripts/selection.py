"""Choose one hasher's options from its grid on one run's validation partitions, at every code length."""

from protocol import registry, storage
from protocol.features import prepared
from protocol.groundtruth import Items
from protocol.hashers import TrainingSet, supervision_from_file
from protocol.ranking import relevance_from_arrays
from protocol.selection import Validation, best, points, search

PARTITIONS = ("validation_query", "validation_database", "train")


def main(job):
    """Write the score of every point and the options chosen; a draw holds no database, and its queries are not read."""
    p, criterion, wc = job.params, job.params.criterion, job.wildcards
    feature, hasher = registry.get("feature", p.feature)(**p.options), registry.get("hasher", p.hasher)
    y, items = storage.read(job.input.labels).get("labels"), {}
    with prepared(feature, p.steps, job.input.features, job.input.preprocessing) as found:
        for name, images in storage.read(job.input.draw, PARTITIONS).items():
            items[name] = Items(found.vectors(name, images), None if y is None else found.per_item(images, y))
        supervision = supervision_from_file(job.input.get("supervision"), otherwise=found.pairs(images))
    query, database, train = items.values()
    build = registry.get("ground_truth", p.ground_truth)
    truth = build(query, database, train, seed=p.ground_truth_seed, **p.ground_truth_options)
    relevance = relevance_from_arrays(truth, len(database.X))
    validation = Validation(query.X, database.X, relevance, criterion["metric"], criterion["empty"])
    grid, training = points(p.grid), TrainingSet(train.X, supervision)
    scores = search(hasher, grid, training, validation, seeds=p.model_seeds, options=p.hasher_options)
    place = {"dataset": p.dataset, "feature": wc.feature, "draw": wc.draw, "run": int(wc.run), "hasher": wc.hasher}
    passport = storage.passport(
        "selection",
        parameters={**place, **criterion, "n_bits": list(scores), "options": p.hasher_options},
        inputs=dict(job.input.items()),
        points=grid,
        default={option: hasher().get_params()[option] for option in p.grid},
        chosen={n_bits: grid[best(own)] for n_bits, own in scores.items()},
        read={name: storage.array_digest(part.X) for name, part in items.items()},
    )
    storage.write(job.output.selection, {f"{n_bits}/scores": own for n_bits, own in scores.items()}, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
