"""Studies: questions about the protocols themselves, each answered by an experiment of its own."""

from protocol.studies.leak import COLUMNS, RANKINGS, SIDES, halves, rankings, write_scores

__all__ = ["COLUMNS", "RANKINGS", "SIDES", "halves", "rankings", "write_scores"]
