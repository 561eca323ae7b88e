"""CIFAR-10, the first common protocol: 1,000 queries; the rest is the database, with 5,000 training images."""

from protocol.splits._protocol import Drawn, Rest, declare

CIFAR10_S1 = declare(
    __name__,
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1, first protocol; also Jiang, Li, Li, On "
    "the Evaluation Metric for Hashing (RAMAP), section 5.1",
    summary="CIFAR-10: 100 queries per class; 59,000 images in the database, including 500 training images per class",
    partitions={"query": Drawn(per_class=100), "train": Drawn(per_class=500), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=60_000,
    n_classes=10,
    sample="cifar10_1k_5k",
)
