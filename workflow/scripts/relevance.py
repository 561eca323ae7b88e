"""Build the ground truths of one run."""

from protocol import registry, storage
from protocol.features import Preprocessing
from protocol.groundtruth import Items
from protocol.splits import items_of


def main(job):
    """Write, for every ground truth, the rule that says which database items are relevant to which query."""
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    raw = storage.read(job.input.features)
    prepared = Preprocessing.from_arrays(feature, job.params.steps, storage.read(job.input.preprocessing))
    y = storage.read(job.input.labels).get("labels")
    parts = storage.read(job.input.splits, ["query", "database", "train"])
    items = {}
    for name, part in parts.items():
        rows = items_of(part, raw["image"])
        items[name] = Items(prepared.transform(raw["X"][rows]), None if y is None else y[raw["image"][rows]])
    arrays = {}
    for truth, options in job.params.truths.items():
        built = registry.get("ground_truth", truth)(**items, seed=job.params.seed, **options)
        arrays |= {f"{truth}/{name}": array for name, array in built.items()}
    passport = storage.passport(
        "ground truth",
        parameters=job.params.truths,
        inputs=dict(job.input.items()),
        seed=job.params.seed,
        fitted_on=storage.array_digest(parts["train"]),
    )
    storage.write(job.output.groundtruth, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
