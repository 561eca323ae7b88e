"""Choose one hasher's options from its grid on one run's validation partitions, at every code length."""

from protocol import registry
from protocol.features import prepared
from protocol.hashers import TrainingSet, supervision
from protocol.hashers.selection import Validation, select
from protocol.provenance import storage
from protocol.truth import Items
from protocol.truth.relevance import relevance_from_arrays

PARTITIONS = ("validation_query", "validation_database", "train")
SEARCHED = ("code", "hasher", "grid", "criterion", "ground_truth", "ground_truth_seed")


def main(job):
    """Write the score of every grid point and the chosen options. The test queries and database are not read."""
    p, inputs, items = job.params, dict(job.input.items()), []
    read = {name: storage.read_provenance(path)["digest"] for name, path in inputs.items()}
    common = {"libraries": storage.versions(), "inputs": read} | {name: getattr(p, name) for name in SEARCHED}
    made_of = {n_bits: common | {"seed": seed} for n_bits, seed in p.model_seeds.items()}
    y, parts = storage.read(job.input.labels).get("labels"), storage.read(job.input.sample, PARTITIONS)
    feature, options = registry.get("feature", p.feature["plugin"])(**p.feature["options"]), p.hasher["options"]
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as vectors:
        for name, images in parts.items():
            items.append(Items(vectors.vectors(name, images), None if y is None else vectors.per_item(images, y)))
        among = inputs.get("supervision")
        learned_from = supervision(storage.read(among)) if among else vectors.pairs(parts["train"])
    (query, database, train), build = items, registry.get("ground_truth", p.ground_truth["plugin"])
    truth = build(*items, seed=p.ground_truth_seed, **p.ground_truth["options"])
    relevance, criterion = relevance_from_arrays(truth, len(database.X)), p.criterion
    validation = Validation(query.X, database.X, relevance, criterion["metric"], criterion["undefined"])
    training, hasher = TrainingSet(train.X, learned_from), registry.get("hasher", p.hasher["plugin"])
    about = {"dataset": p.dataset, **dict(job.wildcards.items()), "run": int(job.wildcards.run), **criterion}
    shared = {"options": options, "combination": about, "inputs": inputs}
    select(job.output.selection, hasher, p.grid, made_of, training, validation, **shared)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
