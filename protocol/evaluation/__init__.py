"""Evaluation of any codes, from arrays or files, with all metrics of the field under a named convention."""

from protocol.evaluation.conventions import CONVENTIONS, Convention
from protocol.evaluation.data import EvaluationData
from protocol.evaluation.evaluation import Evaluation, evaluate
from protocol.evaluation.results import table, write_json, write_per_query, write_pr_curves, write_top_n_curves
from protocol.evaluation.spread import SpreadRow
from protocol.evaluation.trec import Trec, TrecOptions

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Evaluation",
    "EvaluationData",
    "SpreadRow",
    "Trec",
    "TrecOptions",
    "evaluate",
    "table",
    "write_json",
    "write_per_query",
    "write_pr_curves",
    "write_top_n_curves",
]
