"""Choose one hasher's options from its grid on one run's validation partitions, at every code length."""

from protocol import registry
from protocol.features import prepared
from protocol.hashers import TrainingSet, supervision
from protocol.hashers.selection import Validation, points, search, selection_provenance
from protocol.provenance import reuse, storage
from protocol.truth import Items
from protocol.truth.relevance import relevance_from_arrays

PARTITIONS = ("validation_query", "validation_database", "train")
SEARCHED = ("code", "hasher", "grid", "criterion", "ground_truth", "ground_truth_seed")


def main(job):
    """Write the score of every grid point and the chosen options. The test queries and database are not read."""
    p, inputs, grid = job.params, dict(job.input.items()), points(job.params.grid)
    read = {name: storage.read_provenance(path)["digest"] for name, path in inputs.items()}
    common = {"libraries": storage.versions(), "inputs": read} | {name: getattr(p, name) for name in SEARCHED}
    made_of = {n_bits: common | {"seed": seed} for n_bits, seed in p.model_seeds.items()}
    reusable, parts = reuse.unchanged([job.output.selection], made_of), storage.read(job.input.sample, PARTITIONS)
    feature, items = registry.get("feature", p.feature["plugin"])(**p.feature["options"]), {}
    hasher, y = registry.get("hasher", p.hasher["plugin"]), storage.read(job.input.labels).get("labels")
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as vectors:
        for name, images in parts.items():
            items[name] = Items(vectors.vectors(name, images), None if y is None else vectors.per_item(images, y))
        among = inputs.get("supervision")
        learned_from = supervision(storage.read(among)) if among else vectors.pairs(parts["train"])
    build, (query, database, train) = registry.get("ground_truth", p.ground_truth["plugin"]), items.values()
    truth = build(query, database, train, seed=p.ground_truth_seed, **p.ground_truth["options"])
    relevance = relevance_from_arrays(truth, len(database.X))
    validation = Validation(query.X, database.X, relevance, p.criterion["metric"], p.criterion["undefined"])
    seeds, training = {n: p.model_seeds[n] for n in made_of if n not in reusable}, TrainingSet(train.X, learned_from)
    scores = {n_bits: earlier.arrays()[0]["scores"] for n_bits, earlier in reusable.items()}
    scores |= search(hasher, grid, training, validation, seeds=seeds, options=p.hasher["options"])
    combination = {"dataset": p.dataset, **dict(job.wildcards.items()), "run": int(job.wildcards.run), **p.criterion}
    about = {"combination": combination, "options": p.hasher["options"], "inputs": inputs}
    record = selection_provenance(hasher, grid, scores, made_of, **about)
    record["read"] = {name: storage.array_digest(part.X) for name, part in items.items()}
    storage.write(job.output.selection, {f"{n_bits}/scores": scores[n_bits] for n_bits in sorted(scores)}, record)
    reuse.keep(job.output.selection)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
