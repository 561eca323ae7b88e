"""RAMAP's split of CIFAR-10, with the queries and training set of `cifar10_s1`, whose draw it shares."""

from protocol.registry import SplitRecord
from protocol.splits._cifar10 import TRAIN_IN_DATABASE

RAMAP = SplitRecord(
    "ramap",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, section 5.1",
    summary="CIFAR-10 as RAMAP's authors split it, which is as in `cifar10_s1`: 1,000 queries, 59,000 in the database",
)(TRAIN_IN_DATABASE)
