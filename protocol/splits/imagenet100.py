"""ImageNet-100 with HashNet's lists; the training set is a part of the database."""

from protocol.splits._protocol import Official, declare

IMAGENET100 = declare(
    __name__,
    source="Cao et al. 2017, HashNet: Deep Learning to Hash by Continuation, section 4.1, and its lists",
    summary="ImageNet-100 with HashNet's lists: 5,000 queries; 128,503 images in the database, including 13,000 for "
    "training",
    partitions={
        "query": Official("test", 5_000),
        "train": Official("train", 13_000),
        "database": Official("database", 128_503),
    },
    may_overlap={"database": ("train",)},
    n_items=133_503,
    n_classes=100,
)
