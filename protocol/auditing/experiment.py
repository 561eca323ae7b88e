"""Audit the splits of an experiment, and everything that was fitted on them, by the pipeline's files."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from protocol import datasets, registry
from protocol.auditing.checks import audit_splits
from protocol.auditing.checks.codes import audit_truth
from protocol.auditing.evidence import stored_copies
from protocol.auditing.findings import Finding, Findings, findings_of
from protocol.auditing.items import Dataset, Split
from protocol.auditing.known_pairs import known_pairs_for
from protocol.auditing.runs import read_dataset, read_runs
from protocol.features import prepared
from protocol.provenance import storage
from protocol.splits import VALIDATION

LEARNING = (*VALIDATION, "train")
"""The partitions that may be used for learning."""
TEST = ("query", "database")
"""The partitions that must only be used for the test."""


def audit_experiment(
    *,
    items: str,
    content: str,
    features: Sequence[str],
    splits: Sequence[str],
    preprocessing: Sequence[str],
    ground_truths: Sequence[str],
    learned: Sequence[str] = (),
    training_labels: str | None = None,
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
    training_labels : str or None
        The declared file of the labels for training, if these are not the dataset's own.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered, or a plug-in is not installed.
    """
    dataset, by_fit = read_dataset(items), defaultdict(list)
    copies, judged = stored_copies(content, features, dataset), known_pairs_for(None, dataset)
    runs, by_sample = [], defaultdict[str, dict[str, Split]](dict)
    for run in read_runs(splits, dataset):
        runs.append(dataclasses.replace(run, copies=copies, judged=judged))
        by_sample[storage.read_provenance(run.file)["inputs"]["sample"]][run.name] = run.split
    for path in learned:
        by_fit[storage.read_provenance(path)["inputs"]["preprocessing"]].append(path)
    findings, digests = audit_splits(runs), list(map(itemgetter("digest"), map(storage.read_provenance, features)))
    for fitted, truth in zip(preprocessing, ground_truths, strict=True):
        record = storage.read_provenance(fitted)
        path = features[digests.index(record["inputs"]["features"])]
        maker = storage.read_provenance(path)["maker"]
        feature = registry.get("feature", maker.removeprefix("feature "))(**record["parameters"]["options"])
        learned_from, of_sample = by_fit[record["digest"]], by_sample[record["inputs"]["sample"]]
        drawn = next(iter(of_sample.values()))
        with prepared(feature, record["parameters"]["steps"], path, fitted) as vectors:
            findings[fitted] = audit_fit(record, vectors.raw(drawn["train"]))
            required = (*LEARNING, *TEST) if learned_from else ("train",)
            of_parts = {part: vectors.vectors(part, drawn[part]) for part in required if len(drawn[part])}
            queries = {name: vectors.per_item(split["query"], dataset.ids) for name, split in of_sample.items()}
            taught, others = _taught(dataset, drawn["train"], training_labels)
            labels = None if taught is None else vectors.per_item(drawn["train"], taught)
        findings[truth] = audit_fit(storage.read_provenance(truth), of_parts["train"])
        for split, rules in storage.grouped(storage.read(truth)).items():
            findings[truth] += audit_truth(storage.grouped(rules), queries[split], split=split)
        findings |= {file: _learned(file, of_parts, labels, others) for file in learned_from}
    return findings


def _learned(file: str, parts: Mapping[str, NDArray], labels: NDArray | None, others: list[Finding]) -> list[Finding]:
    """Return the findings on a file with selected options, or with supervision, which may have other labels."""
    made = storage.read_provenance(file)
    found = audit_selection(made, parts) if "read" in made else audit_fit(made, parts["train"], labels)
    return found + others * ("training_labels" in made["parameters"])


def _taught(dataset: Dataset, train: NDArray, file: str | None) -> tuple[NDArray | None, list[Finding]]:
    """Return the labels from which hashers may learn, and a finding if some are not those of the dataset."""
    if file is None or dataset.y is None:
        return dataset.y, []
    taught = datasets.training_labels(file, dataset.y, dataset.official, train)
    n_other = int((taught != dataset.y)[train].sum())
    name, share = Path(file).name, f"{n_other / len(train):.1%}"
    return taught, findings_of("other-training-labels", "information", n_other, file=name, share=share)


def audit_fit(provenance: Mapping[str, Any], training: NDArray, labels: NDArray | None = None) -> list[Finding]:
    """Return a finding if something was fitted on data other than the training set of its split.

    Parameters
    ----------
    provenance : mapping
        The record of a file with fitted values; ``fitted_on`` is the digest of the data on which they were fitted, and
        ``fitted_on_labels`` that of the labels.
    training : ndarray
        The data of the training set, recomputed from the split.
    labels : ndarray, optional
        The labels of the training set, if something was fitted on them.
    """
    leaked = provenance["fitted_on"] != storage.array_digest(training)
    leaked |= labels is not None and provenance["fitted_on_labels"] != storage.array_digest(labels)
    return findings_of("preprocessing-leak", "error", int(leaked), maker=provenance["maker"])


def audit_selection(provenance: Mapping[str, Any], parts: Mapping[str, NDArray]) -> list[Finding]:
    """Return findings if options were chosen with data other than the training set and validation partitions.

    Parameters
    ----------
    provenance : mapping
        The record of a selection; ``read`` has the digest of the data that were read as each partition.
    parts : mapping of str to ndarray
        The data of all partitions, recomputed from the split. Those of `LEARNING` may be read, those of `TEST`
        may not.
    """
    digests = {name: storage.array_digest(data) for name, data in parts.items()}
    read, allowed = provenance["read"], {name: digests[name] for name in LEARNING if name in digests}
    tested = {digests[name] for name in TEST if name in digests} - set(allowed.values())
    wrong = sorted(name for name in allowed | read if allowed.get(name) != read.get(name))
    of_test = [name for name in wrong if name in TEST or read.get(name) in tested]
    other = [name for name in wrong if name not in of_test]
    return [
        *findings_of("truth-leak", "error", len(of_test), of_test, wrong=", ".join(of_test)),
        *findings_of("selection-leak", "error", len(other), other, allowed=", ".join(allowed), wrong=", ".join(other)),
    ]
