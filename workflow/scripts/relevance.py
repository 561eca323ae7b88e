"""Build the ground truths of one run."""

from protocol import registry, storage
from protocol.features import Preprocessing, extracted
from protocol.groundtruth import Items


def main(job):
    """Write, for every ground truth, the rule that says which database items are relevant to which query."""
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    fitted = Preprocessing.from_arrays(feature, job.params.steps, storage.read(job.input.preprocessing))
    y = storage.read(job.input.labels).get("labels")
    parts, items = storage.read(job.input.splits, ["query", "database", "train"]), {}
    with extracted(job.input.features) as found:
        for name, images in parts.items():
            items[name] = Items(fitted.transform(found.raw(images)), None if y is None else found.per_item(images, y))
    arrays = {}
    for truth, options in job.params.truths.items():
        built = registry.get("ground_truth", truth)(**items, seed=job.params.seed, **options)
        arrays |= {f"{truth}/{name}": array for name, array in built.items()}
    passport = storage.passport(
        "ground truth",
        parameters=job.params.truths,
        inputs=dict(job.input.items()),
        seed=job.params.seed,
        fitted_on=storage.array_digest(items["train"].X),
    )
    storage.write(job.output.groundtruth, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
