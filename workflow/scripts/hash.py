"""Train one hasher on one run's training set and encode its queries and its database, at every code length."""

from collections import defaultdict

import numpy as np

from protocol import codes, registry, storage
from protocol.features import Preprocessing, extracted
from protocol.hashers import TrainingSet


def main(job):
    """Write the fitted model of every length, and packed codes, made block by block."""
    name, seeds, selection = job.wildcards.hasher, job.params.seeds, job.input.get("selection")
    chosen = storage.read_passport(selection)["chosen"] if selection else {}
    options = {n_bits: job.params.hasher_options | chosen.get(str(n_bits), {}) for n_bits in seeds}
    feature, hasher = registry.get("feature", job.wildcards.feature)(**job.params.options), registry.get("hasher", name)
    fitted = Preprocessing.from_arrays(feature, job.params.steps, storage.read(job.input.preprocessing))
    parts, packed = storage.read(job.input.splits, ["train", "query", "database"]), defaultdict(list)
    with extracted(job.input.features) as items:
        training = TrainingSet(fitted.transform(items.raw(parts.pop("train"))))
        models = {
            n_bits: hasher(n_bits=n_bits, seed=seed, **options[n_bits]).fit(training) for n_bits, seed in seeds.items()
        }
        for part, images in parts.items():
            for vectors in fitted.blocks(items.raw(images)):
                for n_bits, model in models.items():
                    packed[f"{n_bits}/{part}"].append(codes.pack(model.transform(vectors)))
    fits = {
        n_bits: {"seed": seeds[n_bits], "options": options[n_bits], **model.fit_record_}
        for n_bits, model in models.items()
    }
    passport = storage.passport(
        f"hasher {name}",
        parameters={"n_bits": list(models), **job.params.hasher_options},
        inputs=dict(job.input.items()),
        fits=fits,
        fitted_on=storage.array_digest(training.X),
    )
    learned = {f"{n_bits}/{key}": array for n_bits, model in models.items() for key, array in model.to_arrays().items()}
    storage.write(job.output.models, learned, passport)
    storage.write(job.output.codes, {key: np.concatenate(blocks) for key, blocks in packed.items()}, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
