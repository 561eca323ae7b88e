"""CIFAR-10 with the queries and training set of `cifar10_s1` and the training set as the complete database.

The loaders of ITQ_PyTorch and LSH_PyTorch return these 5,000 images as the database, but their READMEs describe
another one.
"""

from protocol.splits._protocol import SameAs, declare
from protocol.splits.cifar10_s1 import CIFAR10_S1

CIFAR10_5K = declare(
    __name__,
    source="TreezzZ/ITQ_PyTorch, 44de915, and TreezzZ/LSH_PyTorch, e38b58d, data/dataloader.py (cifar10-gist); used "
    "in none of the papers reproduced here",
    summary="CIFAR-10 as in `cifar10_s1`, but the database is the training set, so a hasher ranks only the 5,000 items "
    "on which it was trained",
    base=CIFAR10_S1,
    partitions={**CIFAR10_S1.partitions, "database": SameAs("train")},
)
