"""Studies: questions about the protocols themselves, each answered by a separate experiment."""

from protocol.studies.leak import COLUMNS, RANKINGS, SIDES, halves, rankings, write_scores

__all__ = ["COLUMNS", "RANKINGS", "SIDES", "halves", "rankings", "write_scores"]
