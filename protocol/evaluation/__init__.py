"""Evaluation of any codes, from arrays or files, with all metrics of the field under a named convention."""

from protocol.evaluation.buckets import bucket_search
from protocol.evaluation.code_pairs import Codes, Outputs
from protocol.evaluation.code_utilisation import CodeUtilisation
from protocol.evaluation.conventions import CONVENTIONS
from protocol.evaluation.evaluation import Evaluator, evaluate
from protocol.evaluation.ground_truth import Judgments, Labels, Nearest, Relevant
from protocol.evaluation.result import Evaluation
from protocol.evaluation.runs import RunEvaluation, evaluate_run
