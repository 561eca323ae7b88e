"""Choose one hasher's options from its grid on one run's validation partitions, at every code length."""

from protocol import registry, storage
from protocol.features import Preprocessing, extracted
from protocol.groundtruth import Items
from protocol.hashers import TrainingSet, supervision_from_file
from protocol.ranking import relevance_from_arrays
from protocol.selection import Validation, best, points, search

PARTITIONS = ("validation_query", "validation_database", "train")  # all that is read of the split


def main(job):
    """Write the score of every point and the options chosen; test queries and database have no part in them."""
    params, cell, criterion = job.params, job.params.cell, job.params.criterion
    feature, hasher = registry.get("feature", cell["feature"])(**params.options), registry.get("hasher", cell["hasher"])
    fitted = Preprocessing.from_arrays(feature, params.steps, storage.read(job.input.preprocessing))
    y, items = storage.read(job.input.labels).get("labels"), {}
    with extracted(job.input.features) as found:
        for name, images in storage.read(job.input.splits, PARTITIONS).items():
            items[name] = Items(fitted.transform(found.raw(images)), None if y is None else found.per_item(images, y))
    query, database, train = items.values()
    build = registry.get("ground_truth", criterion["ground_truth"])
    truth = build(query, database, train, seed=params.truth_seed, **params.truth_options)
    relevance = relevance_from_arrays(truth, len(database.X))
    validation = Validation(query.X, database.X, relevance, criterion["metric"], criterion["empty"])
    grid, training = points(params.grid), TrainingSet(train.X, supervision_from_file(job.input.get("supervision")))
    scores = search(hasher, grid, training, validation, seeds=params.model_seeds, options=params.hasher_options)
    passport = storage.passport(
        "selection",
        parameters={**cell, **criterion, "n_bits": list(scores), "options": params.hasher_options},
        inputs=dict(job.input.items()),
        points=grid,
        default={option: hasher().get_params()[option] for option in params.grid},
        chosen={n_bits: grid[best(own)] for n_bits, own in scores.items()},
        read={name: storage.array_digest(part.X) for name, part in items.items()},
    )
    storage.write(job.output.selection, {f"{n_bits}/scores": own for n_bits, own in scores.items()}, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
