"""Evidence for and against the claims of *On the Evaluation Metric for Hashing*."""

from evidence.case import Case

CASES: dict[str, Case] = {}
