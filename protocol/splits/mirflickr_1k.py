"""MIRFlickr-25K as in DeepHash-pytorch: the database does not contain the training set.

The partitions are drawn at random; DeepHash-pytorch's own lists are not part of this package.
"""

from protocol.splits._protocol import Drawn, Rest, declare

MIRFLICKR_1K = declare(
    __name__,
    source="DeepHash-pytorch, its dataset mirflickr (data/mirflickr/code.py)",
    summary="MIRFlickr-25K, 38 labels: 1,000 queries and 4,000 training images; the 20,000 others are the database",
    partitions={"query": Drawn(size=1_000), "train": Drawn(size=4_000), "database": Rest()},
    n_items=25_000,
    n_classes=38,
)
