"""Train one hasher on one run's training set at every code length, and encode the queries and all items."""

import numpy as np

from protocol import registry
from protocol.features import prepared
from protocol.hashers import TrainingSet, supervision, train_and_encode
from protocol.provenance import storage

SOURCES = ("features", "sample", "preprocessing", "supervision")


def main(job):
    """Write the fitted models and packed codes. A stored model is reused if nothing that it depends on has changed."""
    p, inputs, made_of = job.params, dict(job.input.items()), {}
    name, options = p.hasher["plugin"], p.hasher["options"]
    selected = storage.read_provenance(inputs["selection"])["chosen"] if "selection" in inputs else {}
    read = {name: storage.read_provenance(inputs[name])["digest"] for name in SOURCES if name in inputs}
    common = {"hasher": name, "code": p.code, "libraries": storage.versions(), "inputs": read}
    for n_bits, seed in p.seeds.items():
        made_of[n_bits] = common | {"seed": seed, "options": options | selected.get(str(n_bits), {})}
    feature, hasher = registry.get("feature", p.feature["plugin"])(**p.feature["options"]), registry.get("hasher", name)
    rows, truth = storage.read(job.input.sample, ["train", "query"]), inputs.get("supervision")
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as items:
        y = supervision(storage.read(truth)) if truth else items.pairs(rows["train"])
        training, image = TrainingSet(items.vectors("train", rows["train"]), y), items.images("database")
        blocks = {
            "query": items.blocks("query", rows["query"]),
            "items": items.blocks("database", np.flatnonzero(np.bincount(image))),
        }
        images = {"query": items.per_item(rows["query"], np.arange(image.max() + 1)), "items": image}
        train_and_encode(job.output, hasher, made_of, training, blocks, images, options=options, inputs=inputs)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
