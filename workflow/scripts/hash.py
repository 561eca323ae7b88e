"""Train one hasher on one run's training set and encode its queries and its database, at every code length."""

from collections import defaultdict

import numpy as np

from protocol import codes, registry, storage
from protocol.features import Prepared
from protocol.hashers import TrainingSet


def main(job):
    """Write the fitted model of every length, and packed codes, made block by block."""
    name, options, seeds = job.wildcards.hasher, job.params.hasher_options, job.params.seeds
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    prepared = Prepared(feature, job.params.steps, job.input.features, job.input.preprocessing)
    images = storage.read(job.input.splits, ["train", "query", "database"])
    training, hasher = TrainingSet(prepared.vectors(images.pop("train"))), registry.get("hasher", name)
    models = {n_bits: hasher(n_bits=n_bits, seed=seed, **options).fit(training) for n_bits, seed in seeds.items()}
    passport = storage.passport(
        f"hasher {name}",
        parameters={"n_bits": list(models), **options},
        inputs=dict(job.input.items()),
        fits={n_bits: {"seed": seeds[n_bits], **model.fit_record_} for n_bits, model in models.items()},
        fitted_on=storage.array_digest(training.X),
    )
    learned = {n_bits: model.to_arrays().items() for n_bits, model in models.items()}
    arrays = {f"{n_bits}/{key}": array for n_bits, items in learned.items() for key, array in items}
    storage.write(job.output.models, arrays, passport)
    packed = defaultdict(list)
    for part, rows in images.items():
        for vectors in prepared.blocks(rows):
            for n_bits, model in models.items():
                packed[f"{n_bits}/{part}"].append(codes.pack(model.transform(vectors)))
    storage.write(job.output.codes, {key: np.concatenate(blocks) for key, blocks in packed.items()}, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
