"""Experiments about the protocols themselves (at present: the leakage study)."""

from protocol.studies.leak import COLUMNS, RANKINGS, SIDES, halves, rankings, write_scores

__all__ = ["COLUMNS", "RANKINGS", "SIDES", "halves", "rankings", "write_scores"]
