"""Read codes that were computed elsewhere, for the queries and databases of the splits of one run."""

from protocol.evaluation.code_pairs import precomputed_codes
from protocol.inputs.arrays import path_of
from protocol.provenance import storage


def main(job):
    """Write the packed codes by split. Only their number of rows can be checked against the split."""
    p, wc, arrays = job.params, job.wildcards, {}
    splits = dict(zip(p.files, job.input.splits, strict=True))
    for split, files in p.files.items():
        parts = storage.read(splits[split], ["query", "database"])
        where = f"codes.{wc.hasher}, {split} split, run {wc.run}"
        arrays[split] = precomputed_codes(files, parts, name=where, **p.options)
    named = sorted({path for files in p.files.values() for roles in files.values() for path in roles.values()})
    provenance = storage.provenance(
        "precomputed codes",
        parameters={**p.options, "files": {path: storage.file_sha256(path_of(path)) for path in named}},
        inputs=splits,
        notes=[f"Codes {wc.hasher!r} were made outside this pipeline; how they were learned is not recorded."],
    )
    storage.write(job.output.codes, storage.flattened(arrays), provenance)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
