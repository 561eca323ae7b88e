"""CIFAR-10 or CIFAR-100 for noisy training labels, which exist for the official training images alone (CIFAR-N)."""

from protocol.splits._protocol import Drawn, Official, declare

CIFAR_NOISY = declare(
    __name__,
    source="this project, with the queries and the database of `cifar10_s2` and the training size of `cifar10_s1`; "
    "labels: Wei et al. 2022, Learning with Noisy Labels Revisited",
    summary="CIFAR: the 10,000 official test images are queries; the 50,000 others are the database, including 5,000 "
    "training images",
    partitions={"query": Official("test", 10_000), "train": Drawn(size=5_000), "database": Official("train", 50_000)},
    may_overlap={"database": ("train",)},
    n_items=60_000,
)
