"""Audit every split of the setting, and what was fitted on it."""

from collections import defaultdict

from protocol import audit, registry, storage
from protocol.features import prepared


def main(job):
    """Write the findings, with the file each was made in; what a fit should have seen is made again from the split."""
    dataset, learned = audit.read_dataset(job.input.labels), defaultdict(list)
    runs = audit.read_runs(job.input.splits, dataset)
    splits = {storage.read_passport(run.file)["digest"]: run.split for run in runs}
    copies = audit.stored_copies(job.input.content, job.input.features, dataset)
    findings = audit.audit_splits(runs, copies)
    for path in (*job.input.selections, *job.input.supervision):
        learned[storage.read_passport(path)["inputs"]["preprocessing"]].append(path)
    features = {storage.read_passport(path)["digest"]: path for path in job.input.features}
    for fitted, truth in zip(job.input.preprocessing, job.input.groundtruth, strict=True):
        passport = storage.read_passport(fitted)
        path, split = features[passport["inputs"]["features"]], splits[passport["inputs"]["splits"]]
        name, options = storage.read_passport(path)["maker"].removeprefix("feature "), passport["parameters"]["options"]
        feature, steps = registry.get("feature", name)(**options), passport["parameters"]["steps"]
        own = learned[passport["digest"]]
        wanted = (*audit.LEARNING, *audit.TEST) if own else ("train",)
        with prepared(feature, steps, path, fitted) as items:
            findings[fitted] = audit.audit_fit(passport, items.raw(split["train"]))
            vectors = {part: items.vectors(part, split[part]) for part in wanted if len(split[part])}
            queries = items.per_item(split["query"], dataset.ids)
            y = None if dataset.y is None else items.per_item(split["train"], dataset.y)
        findings[truth] = audit.audit_fit(storage.read_passport(truth), vectors["train"])
        findings[truth] += audit.audit_truth(storage.grouped(storage.read(truth)), queries)
        findings |= {file: audit.audit_learned(storage.read_passport(file), vectors, y) for file in own}
    audit.write_findings(job.output.findings, findings, audit.audit_libraries(job.input))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
