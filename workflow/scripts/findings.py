"""Audit every split of the setting, and what was fitted on it."""

from collections import defaultdict

from protocol import registry, storage
from protocol.audit import LEARNING, audit_fit, audit_selection, audit_split, audit_truth, write_findings
from protocol.features import prepared


def main(job):
    """Write the findings, with the file each was made in; what a fit should have seen is made again from the split."""
    y = storage.read(job.input.labels).get("labels")
    findings, splits, selections = {}, {}, defaultdict(list)
    for path in job.input.splits:
        parts, passport = storage.read(path), storage.read_passport(path)
        protocol = registry.get("split", passport["maker"].removeprefix("split "))
        findings[path] = audit_split(parts, protocol, y=y, sizes=job.params.sizes)
        splits[passport["digest"]] = {name: parts[name] for name in LEARNING}
    for path in job.input.selections:
        selections[storage.read_passport(path)["inputs"]["preprocessing"]].append(path)
    features = {storage.read_passport(path)["digest"]: path for path in job.input.features}
    for fitted, truth in zip(job.input.preprocessing, job.input.groundtruth, strict=True):
        passport = storage.read_passport(fitted)
        path, parts = features[passport["inputs"]["features"]], splits[passport["inputs"]["splits"]]
        name, options = storage.read_passport(path)["maker"].removeprefix("feature "), passport["parameters"]["options"]
        feature, steps = registry.get("feature", name)(**options), passport["parameters"]["steps"]
        own = selections[passport["digest"]]
        with prepared(feature, steps, path, fitted) as items:
            findings[fitted] = audit_fit(passport, items.raw(parts["train"]))
            vectors = {name: items.vectors(name, parts[name]) for name in (LEARNING if own else ["train"])}
        findings[truth] = audit_fit(storage.read_passport(truth), vectors["train"])
        findings[truth] += audit_truth(storage.grouped(storage.read(truth)))
        findings |= {path: audit_selection(storage.read_passport(path), vectors) for path in own}
    write_findings(job.output.findings, findings)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
