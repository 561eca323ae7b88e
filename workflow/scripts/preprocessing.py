"""Fit the preprocessing of one feature on the training set of one run."""

from protocol import registry
from protocol.features import fit_preprocessing
from protocol.provenance import storage


def main(job):
    """Write the fitted parameters (mean, vocabulary) of each modality, and the digest of its training rows."""
    p, train = job.params, storage.read(job.input.sample, ["train"])["train"]
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    arrays, raw = fit_preprocessing(feature, p.feature["steps"], job.input.features, train, seed=p.seed)
    provenance = storage.provenance(
        "preprocessing",
        parameters={"steps": dict(p.feature["steps"]), "options": p.feature["options"]},
        inputs=dict(job.input.items()),
        seed=p.seed,
        fitted_on=storage.array_digest(raw),
    )
    storage.write(job.output.preprocessing, arrays, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
