"""Fit the preprocessing of one feature on the training set of one run."""

from protocol import registry, storage
from protocol.features import Preprocessing, extracted


def main(job):
    """Write what was learned (mean, vocabulary), and from which training rows."""
    feature = registry.get("feature", job.wildcards.feature)(**job.params.options)
    train = storage.read(job.input.splits, ["train"])["train"]
    with extracted(job.input.features) as items:
        raw = items.raw(train)[:]
    fitted = Preprocessing.fit(feature, raw, steps=job.params.steps, seed=job.params.seed)
    passport = storage.passport(
        "preprocessing",
        parameters={"steps": list(job.params.steps), "options": job.params.options},
        inputs=dict(job.input.items()),
        seed=job.params.seed,
        fitted_on=storage.array_digest(raw),
    )
    storage.write(job.output.preprocessing, fitted.to_arrays(), passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
