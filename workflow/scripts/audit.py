"""Audit every split of the experiment, and everything that was fitted on it."""

from collections import defaultdict

from protocol import auditing, registry
from protocol.features import prepared
from protocol.provenance import storage


def main(job):
    """Write the findings by file. The vectors that a fit should have read are recomputed from the split."""
    dataset, learned, splits = auditing.read_dataset(job.input.labels), defaultdict(list), defaultdict(dict)
    known = auditing.stored_knowledge(job.input.content, job.input.features, dataset)
    for run in (runs := auditing.read_runs(job.input.splits, dataset, known=known)):
        splits[storage.read_provenance(run.file)["inputs"]["sample"]][run.name] = run.split
    for path in (*job.input.selections, *job.input.supervision):
        learned[storage.read_provenance(path)["inputs"]["preprocessing"]].append(path)
    findings = auditing.audit_splits(runs)
    features = {storage.read_provenance(path)["digest"]: path for path in job.input.features}
    for fitted, truth in zip(job.input.preprocessing, job.input.ground_truths, strict=True):
        record = storage.read_provenance(fitted)
        maker = storage.read_provenance(path := features[record["inputs"]["features"]])["maker"]
        feature = registry.get("feature", maker.removeprefix("feature "))(**record["parameters"]["options"])
        own, drawn = learned[record["digest"]], next(iter(splits[record["inputs"]["sample"]].values()))
        with prepared(feature, record["parameters"]["steps"], path, fitted) as items:
            findings[fitted] = auditing.audit_fit(record, items.raw(drawn["train"]))
            required = (*auditing.LEARNING, *auditing.TEST) if own else ("train",)
            vectors = {part: items.vectors(part, drawn[part]) for part in required if len(drawn[part])}
            queries = items.per_item(drawn["query"], dataset.ids)
            y = None if dataset.y is None else items.per_item(drawn["train"], dataset.y)
        findings[truth] = auditing.audit_fit(storage.read_provenance(truth), vectors["train"])
        for split, rules in storage.grouped(storage.read(truth)).items():
            findings[truth] += auditing.audit_truth(storage.grouped(rules), queries, split=split)
        findings |= {file: auditing.audit_learned(storage.read_provenance(file), vectors, y) for file in own}
    results = (path for path in job.input if path.endswith(".h5"))
    auditing.write_findings(job.output.audit, findings, auditing.audit_libraries(results))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
