"""CIFAR-10's first setting: 1,000 queries, the rest is the database, and 5,000 of it are the training set."""

from protocol.registry import register
from protocol.splits._cifar10 import BY_CLASS, N_CLASSES, N_ITEMS
from protocol.splits._protocol import SplitProtocol

CIFAR10_S1 = register(
    "split",
    "cifar10_s1",
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1, first setting",
    summary="CIFAR-10: 100 queries of each class, 59,000 in the database, 500 of each class of it to train on",
)(SplitProtocol(BY_CLASS, may_overlap={"database": ("train",)}, n_items=N_ITEMS, n_classes=N_CLASSES))
