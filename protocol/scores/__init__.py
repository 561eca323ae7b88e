"""Tables of scores: what identifies a score, the summary of an experiment, tests and intervals, and their output."""

from protocol.scores.identity import PROTOCOL
from protocol.scores.statistics import Effect, Lead, Mean, effect, holm, lead, mean_of, shared_variance
from protocol.scores.summary import COLUMNS, collect, read_summary, runs_of, summarise, with_and_without, write_scores
from protocol.scores.tables import Table, read_table, write_csv, write_table

__all__ = [
    "COLUMNS",
    "PROTOCOL",
    "Effect",
    "Lead",
    "Mean",
    "Table",
    "collect",
    "effect",
    "holm",
    "lead",
    "mean_of",
    "read_summary",
    "read_table",
    "runs_of",
    "shared_variance",
    "summarise",
    "with_and_without",
    "write_csv",
    "write_scores",
    "write_table",
]
