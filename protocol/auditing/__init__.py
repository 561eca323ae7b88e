"""Audit splits, what was fitted on them, and training logs; `audit` is the public function.

`inputs` reads splits and what is known about their items, `checks` makes the findings, and `output` writes them.
"""

from protocol.auditing.checks import audit_split, audit_splits
from protocol.auditing.checks.classes import audit_truth
from protocol.auditing.checks.fits import LEARNING, TEST, audit_fit, audit_learned, audit_libraries
from protocol.auditing.findings import KIND_OF, Finding, Findings, Kind
from protocol.auditing.inputs.excluded import Excluded, read_excluded
from protocol.auditing.inputs.known_pairs import SHIPPED, KnownPairs, known_pairs_for, known_pairs_sha256
from protocol.auditing.inputs.reading import Known, Run, read_dataset, read_runs, stored_knowledge
from protocol.auditing.inputs.split import Dataset, Split
from protocol.auditing.output.texts import write_findings
from protocol.auditing.public import Audit, Evidence, Fixed, audit

__all__ = [
    "KIND_OF",
    "LEARNING",
    "SHIPPED",
    "TEST",
    "Audit",
    "Dataset",
    "Evidence",
    "Excluded",
    "Finding",
    "Findings",
    "Fixed",
    "Kind",
    "Known",
    "KnownPairs",
    "Run",
    "Split",
    "audit",
    "audit_fit",
    "audit_learned",
    "audit_libraries",
    "audit_split",
    "audit_splits",
    "audit_truth",
    "known_pairs_for",
    "known_pairs_sha256",
    "read_dataset",
    "read_excluded",
    "read_runs",
    "stored_knowledge",
    "write_findings",
]
