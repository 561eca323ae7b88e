"""CIFAR-10 with the queries and training set of `cifar10_s1` and a database that does not contain the training set."""

from protocol.splits._protocol import declare
from protocol.splits.cifar10_s1 import CIFAR10_S1

CIFAR10_54K = declare(
    __name__,
    source="DeepHash-pytorch, its dataset cifar10; used in none of the papers reproduced here",
    summary="CIFAR-10 as in `cifar10_s1`, but the database, with 54,000 images, does not contain the training set",
    base=CIFAR10_S1,
    may_overlap={},
)
