"""Audit the splits of an experiment, and everything that was fitted on them, by the files of the pipeline."""

from collections import defaultdict
from collections.abc import Sequence

from protocol import registry
from protocol.auditing.checks import audit_splits
from protocol.auditing.checks.classes import audit_truth
from protocol.auditing.checks.fits import LEARNING, TEST, audit_fit, audit_learned
from protocol.auditing.findings import Findings
from protocol.auditing.inputs.reading import read_dataset, read_runs, stored_knowledge
from protocol.auditing.inputs.split import Split
from protocol.features import prepared
from protocol.provenance import storage


def audit_experiment(
    *,
    items: str,
    content: str,
    features: Sequence[str],
    splits: Sequence[str],
    preprocessing: Sequence[str],
    ground_truths: Sequence[str],
    learned: Sequence[str] = (),
) -> Findings:
    """Return the findings by file. The vectors that a fit should have read are recomputed from the split.

    Parameters
    ----------
    items, content : str
        The files of the dataset.
    features : sequence of str
        The ``features.h5`` of each feature.
    splits : sequence of str
        The ``splits.h5`` of all runs.
    preprocessing, ground_truths : sequence of str
        The ``preprocessing.h5`` and the ``ground_truth.h5`` of all runs, in the same order.
    learned : sequence of str
        The files with selected options, and with supervision.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered, or a plug-in is not installed.
    """
    dataset, by_fit = read_dataset(items), defaultdict(list)
    by_sample: defaultdict[str, dict[str, Split]] = defaultdict(dict)
    known = stored_knowledge(content, features, dataset)
    for run in (runs := read_runs(splits, dataset, known=known)):
        by_sample[storage.read_provenance(run.file)["inputs"]["sample"]][run.name] = run.split
    for path in learned:
        by_fit[storage.read_provenance(path)["inputs"]["preprocessing"]].append(path)
    findings = audit_splits(runs)
    by_digest = {storage.read_provenance(path)["digest"]: path for path in features}
    for fitted, truth in zip(preprocessing, ground_truths, strict=True):
        record = storage.read_provenance(fitted)
        maker = storage.read_provenance(path := by_digest[record["inputs"]["features"]])["maker"]
        feature = registry.get("feature", maker.removeprefix("feature "))(**record["parameters"]["options"])
        own, drawn = by_fit[record["digest"]], next(iter(by_sample[record["inputs"]["sample"]].values()))
        with prepared(feature, record["parameters"]["steps"], path, fitted) as vectors:
            findings[fitted] = audit_fit(record, vectors.raw(drawn["train"]))
            required = (*LEARNING, *TEST) if own else ("train",)
            of_parts = {part: vectors.vectors(part, drawn[part]) for part in required if len(drawn[part])}
            queries = vectors.per_item(drawn["query"], dataset.ids)
            y = None if dataset.y is None else vectors.per_item(drawn["train"], dataset.y)
        findings[truth] = audit_fit(storage.read_provenance(truth), of_parts["train"])
        for split, rules in storage.grouped(storage.read(truth)).items():
            findings[truth] += audit_truth(storage.grouped(rules), queries, split=split)
        findings |= {file: audit_learned(storage.read_provenance(file), of_parts, y) for file in own}
    return findings
