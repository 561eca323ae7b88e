"""Build the ground truths of one run, for the database of every split protocol of a sampled split."""

from protocol import registry
from protocol.features import prepared
from protocol.provenance import storage


def main(job):
    """Write, for every split and ground truth, the data that determine the relevant database items of each query."""
    p, y, arrays = job.params, storage.read(job.input.labels).get("labels"), {}
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as vectors:
        for split, path in zip(p.splits, job.input.splits, strict=True):
            parts = storage.read(path, ["query", "database", "train"])
            items = {name: vectors.items(name, images, y) for name, images in parts.items()}
            for truth, variant in p.ground_truths.items():
                built = registry.get("ground_truth", variant["plugin"])(**items, seed=p.seed, **variant["options"])
                arrays |= {f"{split}/{truth}/{name}": array for name, array in built.items()}
        fitted_on = storage.array_digest(items["train"].X)
    inputs = {name: job.input[name] for name in ("labels", "features", "preprocessing")}
    provenance = storage.provenance(
        "ground truth",
        parameters=p.ground_truths,
        inputs=inputs | dict(zip(p.splits, job.input.splits, strict=True)),
        seed=p.seed,
        fitted_on=fitted_on,
    )
    storage.write(job.output.ground_truth, arrays, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
