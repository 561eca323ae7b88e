"""Audit every split of the setting, and what was fitted on it."""

from protocol import registry, storage
from protocol.audit import audit_fit, audit_split, audit_truth, write_findings
from protocol.features import Preprocessing, extracted


def main(job):
    """Write the findings, with the file each was made in; what a fit should have seen is made again from the split."""
    y = storage.read(job.input.labels).get("labels")
    findings, trained = {}, {}
    for path in job.input.splits:
        parts, passport = storage.read(path), storage.read_passport(path)
        protocol = registry.get("split", passport["maker"].removeprefix("split "))
        findings[path] = audit_split(parts, protocol, y=y, sizes=job.params.sizes)
        trained[passport["digest"]] = parts["train"]
    features = {storage.read_passport(path)["digest"]: path for path in job.input.features}
    for fitted, truth in zip(job.input.preprocessing, job.input.groundtruth, strict=True):
        passport = storage.read_passport(fitted)
        path, train = features[passport["inputs"]["features"]], trained[passport["inputs"]["splits"]]
        name, options = storage.read_passport(path)["maker"].removeprefix("feature "), passport["parameters"]["options"]
        feature, steps = registry.get("feature", name)(**options), passport["parameters"]["steps"]
        with extracted(path) as items:
            raw = items.raw(train)[:]
        findings[fitted] = audit_fit(passport, raw)
        vectors = Preprocessing.from_arrays(feature, steps, storage.read(fitted)).transform(raw)
        findings[truth] = audit_fit(storage.read_passport(truth), vectors)
        findings[truth] += audit_truth(storage.grouped(storage.read(truth)))
    write_findings(job.output.findings, findings)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
