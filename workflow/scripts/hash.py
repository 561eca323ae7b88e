"""Train one hasher on one run's training set and encode its queries and its database, at every code length."""

from protocol import codes, registry, storage
from protocol.features import Preprocessing, extracted


def main(job):
    """Write packed codes for every length, and what the fits did."""
    name, selection = job.wildcards.hasher, job.input.get("selection")
    chosen = storage.read_passport(selection)["chosen"] if selection else {}
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    fitted = Preprocessing.from_arrays(feature, job.params.steps, storage.read(job.input.preprocessing))
    parts = storage.read(job.input.splits, ["train", "query", "database"])
    with extracted(job.input.features) as items:
        train, query, database = (fitted.transform(items.raw(images)) for images in parts.values())
    arrays, fits = {}, {}
    for n_bits, seed in job.params.seeds.items():
        options = job.params.hasher_options | chosen.get(str(n_bits), {})
        model = registry.get("hasher", name)(n_bits=n_bits, seed=seed, **options).fit(train)
        arrays[f"{n_bits}/query"] = codes.pack(model.transform(query))
        arrays[f"{n_bits}/database"] = codes.pack(model.transform(database))
        fits[n_bits] = {"seed": seed, "options": options, **model.fit_record_}
    passport = storage.passport(
        f"hasher {name}",
        parameters={"n_bits": list(fits), **job.params.hasher_options},
        inputs=dict(job.input.items()),
        fits=fits,
        fitted_on=storage.array_digest(train),
    )
    storage.write(job.output.codes, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
