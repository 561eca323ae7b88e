"""Extract one feature from all images of the dataset or from one part of them, or join such parts."""

from protocol import registry
from protocol.features import extract, join
from protocol.provenance import storage


def main(job):
    """Write the features of each modality, which do not depend on a training set. Only the last part may be smaller."""
    name, options, parts = job.params.feature["plugin"], job.params.feature["options"], job.input.get("parts", [])
    feature, part = registry.get("feature", name)(**options), job.wildcards.get("part")
    divided = {} if part is None else {"part": int(part), "n_parts": job.params.n_parts}
    described = {key: divided[key] for key in divided if key == "part"}
    inputs = {"content": job.input.content}
    provenance = storage.provenance(f"feature {name}", parameters=options, inputs=inputs, **described)
    with storage.writing(job.output.features, provenance) as file:
        if parts:
            join(file, feature, parts)
        else:
            extract(file, feature, job.input.content, **divided)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
