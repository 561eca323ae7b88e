"""Train one hasher on one run's training set and encode its queries and its database, at every code length."""

from protocol import registry, storage
from protocol.features import prepared
from protocol.hashers import TrainingSet, checkpoints, packed_codes, supervision_from_file


def main(job):
    """Write the fitted model of every length, and packed codes, made block by block."""
    selection = job.input.get("selection")
    chosen = storage.read_passport(selection)["chosen"] if selection else {}
    options = {n_bits: job.params.hasher_options | chosen.get(str(n_bits), {}) for n_bits in job.params.seeds}
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    parts, arrays, models = storage.read(job.input.splits, ["train", "query", "database"]), {}, {}
    of_items = prepared(feature, job.params.steps, job.input.features, job.input.preprocessing)
    with of_items as items, checkpoints(job.output.models) as checkpoint:
        rows = parts.pop("train")
        y = supervision_from_file(job.input.get("supervision"), otherwise=items.pairs(rows))
        training = TrainingSet(items.vectors("train", rows), y)
        for n_bits, seed in job.params.seeds.items():
            hasher = registry.get("hasher", job.wildcards.hasher)(n_bits=n_bits, seed=seed, **options[n_bits])
            models[n_bits] = hasher.fit(training, checkpoint=checkpoint(n_bits))
        for part, images in parts.items():
            packed = packed_codes(models, items.blocks(part, images), of_database=part == "database")
            arrays |= {f"{n_bits}/{part}": codes for n_bits, codes in packed.items()}
    fits = {n: {"seed": model.seed, "options": options[n], **model.fit_record_} for n, model in models.items()}
    parameters = {"n_bits": list(models), **job.params.hasher_options}
    inputs, fitted_on = dict(job.input.items()), storage.array_digest(training.X)
    maker = f"hasher {job.wildcards.hasher}"
    passport = storage.passport(maker, parameters=parameters, inputs=inputs, fits=fits, fitted_on=fitted_on)
    learned = {f"{n_bits}/{key}": array for n_bits, model in models.items() for key, array in model.to_arrays().items()}
    storage.write(job.output.models, learned, passport)
    storage.write(job.output.codes, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
