"""Audit: findings on how a split was made, and on what was fitted on it."""

from protocol.auditing.audit import Findings, about, audit_split, audit_splits, n_errors
from protocol.auditing.copies import equal_content, first_equal, stored_copies, within_distance
from protocol.auditing.findings import Finding
from protocol.auditing.kinds import KINDS, Kind
from protocol.auditing.libraries import audit_libraries
from protocol.auditing.pairs import audit_pairs, read_pairs
from protocol.auditing.passports import LEARNING, TEST, audit_fit, audit_learned, audit_selection
from protocol.auditing.reading import Run, known_dataset, read_dataset, read_lists, read_runs
from protocol.auditing.relevance import audit_relevance, audit_truth
from protocol.auditing.split import Dataset, Split
from protocol.auditing.writing import markdown, text, write_findings, write_json

__all__ = [
    "KINDS",
    "LEARNING",
    "TEST",
    "Dataset",
    "Finding",
    "Findings",
    "Kind",
    "Run",
    "Split",
    "about",
    "audit_fit",
    "audit_learned",
    "audit_libraries",
    "audit_pairs",
    "audit_relevance",
    "audit_selection",
    "audit_split",
    "audit_splits",
    "audit_truth",
    "equal_content",
    "first_equal",
    "known_dataset",
    "markdown",
    "n_errors",
    "read_dataset",
    "read_lists",
    "read_pairs",
    "read_runs",
    "stored_copies",
    "text",
    "within_distance",
    "write_findings",
    "write_json",
]
