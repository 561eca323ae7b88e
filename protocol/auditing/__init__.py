"""Audit splits, what was fitted on them, and training logs; `audit` is the public function.

`items`, `evidence` and `runs` read splits and what is known about their items, and `checks` makes the findings.
`experiment` audits the files of the pipeline; `fixing` writes splits without misplaced items.
"""

from protocol.auditing.checks import audit_split, audit_splits
from protocol.auditing.checks.classes import audit_truth
from protocol.auditing.evidence import Evidence, Known
from protocol.auditing.findings import KIND_OF, Finding, Findings, Kind, write_findings
from protocol.auditing.items import Dataset, Split
from protocol.auditing.known_pairs import (
    SHIPPED,
    Excluded,
    KnownPairs,
    known_pairs_for,
    known_pairs_sha256,
    read_excluded,
)
from protocol.auditing.public import Audit, Fixed, audit
from protocol.auditing.runs import Run, read_dataset, read_runs

__all__ = [
    "KIND_OF",
    "SHIPPED",
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
    "audit_split",
    "audit_splits",
    "audit_truth",
    "known_pairs_for",
    "known_pairs_sha256",
    "read_dataset",
    "read_excluded",
    "read_runs",
    "write_findings",
]
