"""Add the database of one split protocol to a sampled split."""

from protocol import registry
from protocol.inputs.validation import n_classes
from protocol.provenance import storage
from protocol.splits import Items, official_parts, read_lists


def main(job):
    """Write the row numbers of every partition."""
    parts = storage.read(job.input.sample)
    drawn, protocol = storage.read_provenance(job.input.sample), registry.get("split", job.wildcards.split)
    protocol = protocol.with_options(job.params.options)
    files = protocol.files(job.params.options)
    with storage.opened(job.input.labels) as items:
        labels = items["labels"][:] if (files or protocol.divides_classes) and "labels" in items else None
        lists = read_lists(files, items["ids"], n_classes(labels))
        known = Items(len(items["ids"]), labels, official_parts(items), lists)
    parts = protocol.completed(parts, known, seed=drawn["seed"])
    digests = {name: storage.file_sha256(path) for name, path in protocol.list_paths(files).items()}
    provenance = storage.provenance(
        f"split {job.wildcards.split}",
        parameters=drawn["parameters"] | {"lists": digests},
        inputs={"labels": job.input.labels, "sample": job.input.sample},
        seed=drawn["seed"],
    )
    storage.write(job.output.splits, parts, provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
