"""Build the ground truth among the training rows of one run, for the hashers that learn from it."""

from pathlib import Path

from protocol import registry
from protocol.datasets import training_labels
from protocol.features import prepared
from protocol.provenance import storage
from protocol.splits import official_parts
from protocol.truth import write_among

INPUTS = ("labels", "features", "sample", "preprocessing")


def main(job):
    """Write a ground truth whose queries and database are the training rows. No other row is read."""
    p, items, notes = job.params, storage.read(job.input.labels), []
    name, options = p.ground_truth["plugin"], p.ground_truth["options"]
    images, y = storage.read(job.input.sample, ["train"])["train"], items.get("labels")
    parameters, truth = {"ground_truth": name, **options}, registry.get("ground_truth", name)
    if p.training_labels is not None:
        own, y = y, training_labels(p.training_labels, y, official_parts(items), images)
        if registry.GROUND_TRUTHS.entry(name).needs_labels:
            n_other, n, file = int((y != own)[images].sum()), len(images), Path(p.training_labels).name
            parameters["training_labels"] = {"file": p.training_labels, "sha256": p.states[0], "n_differing": n_other}
            notes = [f"Trained on {file}: {n_other:,} of {n:,} labels ({n_other / n:.1%}) differ from the dataset's."]
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as vectors:
        train = vectors.items("train", images, y)
        fitted_on = storage.array_digest(train.X)
    provenance = storage.provenance(
        f"supervision {job.wildcards.supervision}",
        parameters=parameters,
        inputs={key: getattr(job.input, key) for key in INPUTS},
        seed=p.seed,
        notes=notes,
        fitted_on=fitted_on,
        fitted_on_labels=None if y is None else storage.array_digest(train.labels),
    )
    with storage.writing(job.output.supervision, provenance, compress=True) as file:
        write_among(file, truth, train, seed=p.seed, **options)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
