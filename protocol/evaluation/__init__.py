"""Evaluation of any codes, from arrays or files, with all metrics of the field under a named convention."""

from protocol.evaluation.buckets import BucketSearches, bucket_search
from protocol.evaluation.code_pairs import Codes, Outputs
from protocol.evaluation.code_utilisation import CodeUtilisation
from protocol.evaluation.conventions import CONVENTIONS, Convention, Scoring
from protocol.evaluation.evaluation import Evaluator, evaluate
from protocol.evaluation.exclusion import WithoutQueries
from protocol.evaluation.ground_truth import Judgments, Labels, Nearest, Relevant
from protocol.evaluation.output import Trec
from protocol.evaluation.result import Evaluation
from protocol.evaluation.runs import RunEvaluation, evaluate_run
from protocol.evaluation.scoring import Spread, SpreadRow

__all__ = [
    "CONVENTIONS",
    "BucketSearches",
    "CodeUtilisation",
    "Codes",
    "Convention",
    "Evaluation",
    "Evaluator",
    "Judgments",
    "Labels",
    "Nearest",
    "Outputs",
    "Relevant",
    "RunEvaluation",
    "Scoring",
    "Spread",
    "SpreadRow",
    "Trec",
    "WithoutQueries",
    "bucket_search",
    "evaluate",
    "evaluate_run",
]
