"""Evidence for and against the claims of *Learning to Hash for Large Scale Image Retrieval*."""

from evidence.case import Case

CASES: dict[str, Case] = {}
