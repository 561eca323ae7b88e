"""Fit the preprocessing of one feature on the training set of one run."""

import numpy as np

from protocol import registry
from protocol.features import Preprocessing, extracted
from protocol.provenance import storage


def main(job):
    """Write the fitted parameters (mean, vocabulary) of each modality, and the digest of its training rows."""
    p = job.params
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    train, arrays, raws = storage.read(job.input.sample, ["train"])["train"], {}, []
    for prefix, modality in feature.modalities.items():
        with extracted(job.input.features, prefix) as items:
            raws.append(items.raw(train)[:])
        fitted = Preprocessing.fit(modality, raws[-1], steps=p.feature["steps"][prefix], seed=p.seed)
        arrays |= {f"{prefix}{name}": array for name, array in fitted.to_arrays().items()}
    provenance = storage.provenance(
        "preprocessing",
        parameters={"steps": dict(p.feature["steps"]), "options": p.feature["options"]},
        inputs=dict(job.input.items()),
        seed=p.seed,
        fitted_on=storage.array_digest(np.hstack(raws)),
    )
    storage.write(job.output.preprocessing, arrays, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
