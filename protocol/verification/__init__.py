"""Results that anyone can check: records of scores, and the tables of experiments, computed again from the codes."""

from protocol.verification.records import DIGITS, Check, Verification, verify

__all__ = ["DIGITS", "Check", "Verification", "verify"]
