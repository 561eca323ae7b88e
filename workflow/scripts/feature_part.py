"""Extract one feature from one part of the images of a large dataset."""

from protocol import registry
from protocol.features import extract
from protocol.provenance import storage


def main(job):
    """Write the features of the images in one part. All parts except the last have the same size."""
    name, options = job.params.feature, job.params.options
    feature, part = registry.get("feature", name)(**options), int(job.wildcards.part)
    provenance = storage.provenance(
        f"feature {name}", parameters=options, inputs={"content": job.input.content}, part=part
    )
    with storage.writing(job.output.features, provenance) as file:
        extract(file, feature, job.input.content, part=part, n_parts=job.params.n_parts)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
