"""Evaluation of any codes, from arrays or files, with all metrics of the field under a named convention."""

from protocol.evaluation.attribution import Attribution, attribute
from protocol.evaluation.binarisation import Quantisation, Rescoring, quantisation
from protocol.evaluation.buckets import BucketSearches, bucket_search
from protocol.evaluation.code_pairs import Codes, Outputs
from protocol.evaluation.code_utilisation import CodeUtilisation
from protocol.evaluation.conventions import CONVENTIONS, Convention
from protocol.evaluation.evaluation import Evaluator, evaluate
from protocol.evaluation.ground_truth import Judgments, Labels, Nearest, Relevant
from protocol.evaluation.output import Trec
from protocol.evaluation.representations import Hashing, Quantisers
from protocol.evaluation.result import Evaluation, WithoutQueries
from protocol.evaluation.scoring import Scoring, SpreadRow

__all__ = [
    "CONVENTIONS",
    "Attribution",
    "BucketSearches",
    "CodeUtilisation",
    "Codes",
    "Convention",
    "Evaluation",
    "Evaluator",
    "Hashing",
    "Judgments",
    "Labels",
    "Nearest",
    "Outputs",
    "Quantisation",
    "Quantisers",
    "Relevant",
    "Rescoring",
    "Scoring",
    "SpreadRow",
    "Trec",
    "WithoutQueries",
    "attribute",
    "bucket_search",
    "evaluate",
    "quantisation",
]
