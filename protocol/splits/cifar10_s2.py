"""CIFAR-10, the second common protocol: the test images are the queries; all others are both training set and database.

The authors' released code draws 1,000 queries of each class at random instead; this protocol follows the paper.
"""

from protocol.splits._protocol import Official, declare

CIFAR10_S2 = declare(
    __name__,
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1, second protocol",
    summary="CIFAR-10: the 10,000 official test images are queries; the 50,000 others are both database and training "
    "set",
    partitions={"query": Official("test", 10_000), **dict.fromkeys(("train", "database"), Official("train", 50_000))},
    may_overlap={"database": ("train",)},
    n_items=60_000,
    n_classes=10,
)
