"""Build the ground truth among the training rows of one run, for the hashers that learn from it."""

from protocol import registry
from protocol.features import prepared
from protocol.provenance import storage
from protocol.truth import write_among


def main(job):
    """Write a ground truth whose queries and database are the training rows. No other row is read."""
    p, y = job.params, storage.read(job.input.labels).get("labels")
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    images = storage.read(job.input.sample, ["train"])["train"]
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as vectors:
        train = vectors.items("train", images, y)
        fitted_on = storage.array_digest(train.X)
    name, options = p.ground_truth["plugin"], p.ground_truth["options"]
    provenance = storage.provenance(
        f"supervision {job.wildcards.supervision}",
        parameters={"ground_truth": name, **options},
        inputs=dict(job.input.items()),
        seed=p.seed,
        fitted_on=fitted_on,
        fitted_on_labels=None if y is None else storage.array_digest(train.labels),
    )
    truth = registry.get("ground_truth", name)
    with storage.writing(job.output.supervision, provenance, compress=True) as file:
        write_among(file, truth, train, seed=p.seed, **options)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
