"""Train one hasher on one run's training set at every code length, and encode the queries and all items."""

import numpy as np

from protocol import registry, storage
from protocol.features import prepared
from protocol.hashers import TrainingSet, checkpoints, packed_codes, supervision_from_file, unchanged

SOURCES = ("features", "draw", "preprocessing", "supervision")


def main(job):
    """Write the fitted models and packed codes; a model that would become the same again is kept as it is."""
    p, inputs = job.params, dict(job.input.items())
    chosen = storage.read_passport(inputs["selection"])["chosen"] if "selection" in inputs else {}
    options = {n_bits: p.hasher_options | chosen.get(str(n_bits), {}) for n_bits in p.seeds}
    read = {name: storage.read_passport(inputs[name])["digest"] for name in SOURCES if name in inputs}
    made_of = {
        n_bits: {"code": p.code, "seed": seed, "options": options[n_bits], "inputs": read}
        for n_bits, seed in p.seeds.items()
    }
    kept = unchanged(job.output.models, job.output.codes, made_of)
    feature, hasher = registry.get("feature", p.feature)(**p.options), registry.get("hasher", p.hasher)
    parts, models = storage.read(job.input.draw, ["train", "query"]), {}
    of_items = prepared(feature, p.steps, job.input.features, job.input.preprocessing)
    with of_items as items, checkpoints(job.output.models) as checkpoint:
        y = supervision_from_file(inputs.get("supervision"), otherwise=items.pairs(parts["train"]))
        training = TrainingSet(items.vectors("train", parts["train"]), y)
        for n_bits in sorted(p.seeds.keys() - kept.keys()):
            model = hasher(n_bits=n_bits, seed=p.seeds[n_bits], **options[n_bits])
            models[n_bits] = model.fit(training, checkpoint=checkpoint(n_bits))
        image = items.images("database")
        of_queries = packed_codes(models, items.blocks("query", parts["query"]))
        of_all = packed_codes(models, items.blocks("database", np.unique(image)), of_database=True)
    fits, learned, codes = {}, {}, {"image": image}
    for n_bits, own in kept.items():
        fits[n_bits], learned[n_bits], codes[n_bits] = own
    for n_bits, model in models.items():
        fits[n_bits] = {"made_of": made_of[n_bits], **model.fit_record_}
        learned[n_bits], codes[n_bits] = model.to_arrays(), {"query": of_queries[n_bits], "items": of_all[n_bits]}
    passport = storage.passport(
        f"hasher {p.hasher}",
        parameters={"n_bits": sorted(p.seeds), **p.hasher_options},
        inputs=inputs,
        fits=fits,
        fitted_on=storage.array_digest(training.X),
    )
    storage.write(job.output.models, storage.flattened(learned), passport)
    storage.write(job.output.codes, storage.flattened(codes), passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
