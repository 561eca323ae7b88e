"""CIFAR-10 with 1,000 random queries of each class: the sizes of `cifar10_s2`, but not the official test images."""

from protocol.splits._protocol import Drawn, Rest, declare

CIFAR10_10K = declare(
    __name__,
    source="DeepHash-pytorch, its dataset cifar10-2; also the code released with He et al. 2018, Hashing as Tie-Aware "
    "Learning to Rank, for its second protocol",
    summary="CIFAR-10: 1,000 random queries of each class; the 50,000 others are both database and training set",
    partitions={"query": Drawn(per_class=1_000), "train": Drawn(per_class=5_000), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=60_000,
    n_classes=10,
)
