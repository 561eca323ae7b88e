"""Audit every split of the setting, and what was fitted on it."""

from protocol import registry, storage
from protocol.audit import audit_fit, audit_split, audit_truth, write_findings


def main(job):
    """Write the findings, with the place where each was made."""
    y = storage.read(job.input.labels).get("labels")
    findings = {}
    for path in job.input.splits:
        protocol = registry.get("split", storage.read_passport(path)["maker"].removeprefix("split "))
        findings[path] = audit_split(storage.read(path), protocol, y=y, sizes=job.params.sizes)
    trained = {
        storage.read_passport(path)["digest"]: storage.read(path, ["train"])["train"] for path in job.input.splits
    }
    for path in (*job.input.preprocessing, *job.input.groundtruth):
        findings[path] = audit_fit(storage.read_passport(path), trained)
    for path in job.input.groundtruth:
        findings[path] += audit_truth(storage.grouped(storage.read(path)))
    write_findings(job.output.findings, findings)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
