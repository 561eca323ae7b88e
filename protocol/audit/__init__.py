"""Audit: findings on how a split was made, and on what was fitted on it."""

from protocol.audit.findings import Finding, write_findings
from protocol.audit.splits import LEARNING, audit_fit, audit_selection, audit_split, audit_truth

__all__ = ["LEARNING", "Finding", "audit_fit", "audit_selection", "audit_split", "audit_truth", "write_findings"]
