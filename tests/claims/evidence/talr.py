"""Evidence for and against the claims of *Hashing as Tie-Aware Learning to Rank*."""

from evidence.case import Case

CASES: dict[str, Case] = {}
