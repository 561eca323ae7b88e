"""CIFAR-10's first setting: 1,000 queries, the rest is the database, and 5,000 of it are the training set."""

from protocol.registry import SplitRecord
from protocol.splits._cifar10 import TRAIN_IN_DATABASE

CIFAR10_S1 = SplitRecord(
    "cifar10_s1",
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1, first setting",
    summary="CIFAR-10: 100 queries of each class, 59,000 in the database, 500 of each class of it to train on",
)(TRAIN_IN_DATABASE)
