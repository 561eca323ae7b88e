"""Audit splits, what was fitted on them, and training logs; `audit` is the public function."""

from protocol.auditing.all_checks import Findings, audit_split, audit_splits
from protocol.auditing.copies import Copied, equal_content, first_equal, stored_copies, within_distance
from protocol.auditing.difference import Difference, ProtocolDifference, difference
from protocol.auditing.findings import Finding
from protocol.auditing.groups import Groups, audit_groups, groups_from
from protocol.auditing.identification import Comparison, Match, identify, nearest
from protocol.auditing.inputs import known_dataset
from protocol.auditing.kinds import KINDS, Kind
from protocol.auditing.known_pairs import (
    SHIPPED,
    KnownPairs,
    affected_queries,
    known_pairs_for,
    known_pairs_from,
    known_pairs_sha256,
    write_affected,
)
from protocol.auditing.label_issues import LabelIssues, audit_label_issues, label_issues_from
from protocol.auditing.libraries import audit_libraries
from protocol.auditing.pairs import audit_pairs, pairs_from
from protocol.auditing.provenance import LEARNING, TEST, audit_fit, audit_learned, audit_selection
from protocol.auditing.public import Audit, audit
from protocol.auditing.reading import Run, read_dataset, read_lists, read_runs
from protocol.auditing.relevance import audit_relevance, audit_truth
from protocol.auditing.split import Dataset, Split
from protocol.auditing.training_log import Reported, audit_training_log, read_logs
from protocol.auditing.writing import write_findings, write_json

__all__ = [
    "KINDS",
    "LEARNING",
    "SHIPPED",
    "TEST",
    "Audit",
    "Comparison",
    "Copied",
    "Dataset",
    "Difference",
    "Finding",
    "Findings",
    "Groups",
    "Kind",
    "KnownPairs",
    "LabelIssues",
    "Match",
    "ProtocolDifference",
    "Reported",
    "Run",
    "Split",
    "affected_queries",
    "audit",
    "audit_fit",
    "audit_groups",
    "audit_label_issues",
    "audit_learned",
    "audit_libraries",
    "audit_pairs",
    "audit_relevance",
    "audit_selection",
    "audit_split",
    "audit_splits",
    "audit_training_log",
    "audit_truth",
    "difference",
    "equal_content",
    "first_equal",
    "groups_from",
    "identify",
    "known_dataset",
    "known_pairs_for",
    "known_pairs_from",
    "known_pairs_sha256",
    "label_issues_from",
    "nearest",
    "pairs_from",
    "read_dataset",
    "read_lists",
    "read_logs",
    "read_runs",
    "stored_copies",
    "within_distance",
    "write_affected",
    "write_findings",
    "write_json",
]
