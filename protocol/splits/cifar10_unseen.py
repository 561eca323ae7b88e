"""CIFAR-10 with eight seen and two unseen classes, ship and truck: official test images rank the training images.

The 40,000 training images of the seen classes are the training set. Sizes and classes are those of a study of deep
hashing, whose unseen classes are the last two. Each of its iterations draws 2,000 of the 40,000 training images, and it
reports mAP@1000[min].
"""

from protocol.splits._protocol import Official, SplitProtocol
from protocol.splits.unseen import register

register(
    SplitProtocol(
        {
            "query": Official("test", 10_000),
            "train": Official("train", 50_000, classes="seen"),
            "database": Official("train", 50_000),
        },
        may_overlap={"database": ("train",)},
        n_items=60_000,
        n_classes=10,
        sample="cifar10_unseen",
        unseen=(8, 9),
    ),
    __name__,
    "cifar10_",
    source="An Empirical Study on Training Paradigms for Deep Supervised Hashing, and its code (aassxun/DSH_Analysis, "
    "data/cifar10zs.py)",
    summary="CIFAR-10 with unseen ships and trucks: test images of {queries} classes, a database of training images of "
    "{database} classes",
)
