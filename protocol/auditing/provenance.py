"""Check on which data models were fitted and options chosen, using the provenance records of files."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.provenance.storage import array_digest
from protocol.splits import VALIDATION

LEARNING = (*VALIDATION, "train")
"""The partitions that may be used for learning."""
TEST = ("query", "database")
"""The partitions that must only be used for the test."""


def audit_fit(provenance: Mapping[str, Any], training: NDArray, labels: NDArray | None = None) -> list[Finding]:
    """Return a finding if something was fitted on data other than the training set of its split.

    Parameters
    ----------
    provenance : mapping
        The record of a file with fitted values; ``fitted_on`` is the digest of the data on which they were fitted, and
        ``fitted_on_labels`` that of the labels.
    training : ndarray
        The data of the training set, computed again from the split.
    labels : ndarray, optional
        The labels of the training set, if something was fitted on them.
    """
    leaked = provenance["fitted_on"] != array_digest(training)
    leaked |= labels is not None and provenance["fitted_on_labels"] != array_digest(labels)
    return found("preprocessing-leak", "error", int(leaked), maker=provenance["maker"])


def audit_learned(provenance: Mapping[str, Any], parts: Mapping[str, NDArray], labels: NDArray | None) -> list[Finding]:
    """Return findings on the inputs of hashers other than features: chosen options, or supervision.

    Parameters
    ----------
    provenance : mapping
        The record of a selection (`audit_selection`), or of a supervision (`audit_fit`).
    parts : mapping of str to ndarray
        The data of all partitions, computed again from the split.
    labels : ndarray or None
        Labels of the training set.
    """
    return audit_selection(provenance, parts) if "read" in provenance else audit_fit(provenance, parts["train"], labels)


def audit_selection(provenance: Mapping[str, Any], parts: Mapping[str, NDArray]) -> list[Finding]:
    """Return findings if options were chosen with data other than the training set and validation partitions.

    Parameters
    ----------
    provenance : mapping
        The record of a selection; ``read`` has the digest of the data that were read as each partition.
    parts : mapping of str to ndarray
        The data of all partitions, computed again from the split. Those of `LEARNING` may be read, those of `TEST`
        may not.
    """
    digests = {name: array_digest(data) for name, data in parts.items()}
    read, allowed = provenance["read"], {name: digests[name] for name in LEARNING if name in digests}
    tested = {digests[name] for name in TEST if name in digests} - set(allowed.values())
    wrong = sorted(name for name in allowed | read if allowed.get(name) != read.get(name))
    of_test = [name for name in wrong if name in TEST or read.get(name) in tested]
    other = [name for name in wrong if name not in of_test]
    return [
        *found("truth-leak", "error", len(of_test), of_test, wrong=", ".join(of_test)),
        *found("selection-leak", "error", len(other), other, allowed=", ".join(allowed), wrong=", ".join(other)),
    ]
