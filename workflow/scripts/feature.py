"""Extract one feature from all images of the dataset, or join the parts that several jobs extracted."""

from protocol import registry
from protocol.features import extract, join
from protocol.provenance import storage


def main(job):
    """Write the features of each modality, which do not depend on a training set."""
    name, options, parts = job.params.feature, job.params.options, job.input.get("parts", [])
    feature = registry.get("feature", name)(**options)
    provenance = storage.provenance(f"feature {name}", parameters=options, inputs={"content": job.input.content})
    with storage.writing(job.output.features, provenance) as file:
        if parts:
            join(file, feature, parts)
        else:
            extract(file, feature, job.input.content)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
