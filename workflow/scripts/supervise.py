"""Say which training rows of one run belong together, for the hashers that learn from it."""

from protocol import registry, storage
from protocol.features import Preprocessing, extracted
from protocol.groundtruth import Items, write_among


def main(job):
    """Write a ground truth whose queries and database are the training rows; no other row is looked at."""
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    fitted = Preprocessing.from_arrays(feature, job.params.steps, storage.read(job.input.preprocessing))
    y, images = storage.read(job.input.labels).get("labels"), storage.read(job.input.splits, ["train"])["train"]
    with extracted(job.input.features) as found:
        train = Items(fitted.transform(found.raw(images)), None if y is None else found.per_item(images, y))
    truth = registry.get("ground_truth", job.params.truth)
    passport = storage.passport(
        f"supervision {job.wildcards.supervision}",
        parameters={"ground_truth": job.params.truth, **job.params.truth_options},
        inputs=dict(job.input.items()),
        seed=job.params.seed,
        fitted_on=storage.array_digest(train.X),
        fitted_on_labels=None if y is None else storage.array_digest(train.labels),
    )
    with storage.writing(job.output.supervision, passport, compress=True) as file:
        write_among(file, truth, train, seed=job.params.seed, **job.params.truth_options)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
