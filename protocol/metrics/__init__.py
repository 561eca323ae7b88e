"""Metrics as pure functions of the counts, one file per family; ``records.toml`` declares their names and facts."""

from protocol.metrics._by_name import ALL, evaluate, everything, keywords, means_of_blocks, score_rows
from protocol.metrics._records import bracketed, in_database_order, needs
from protocol.metrics._ties import ORDERS, mean
from protocol.metrics.auprc import AVERAGES, PRCurve, pr_curve
from protocol.metrics.neighbours import neighbours_found
from protocol.metrics.precision_recall_cutoff import TopKCurve, top_k_curve
