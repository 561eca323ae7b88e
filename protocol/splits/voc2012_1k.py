"""Pascal VOC 2012 as in DeepHash-pytorch: the database does not contain the training set.

The partitions are drawn at random; DeepHash-pytorch's own lists are not part of this package.
"""

from protocol.splits._protocol import Drawn, Rest, declare

VOC2012_1K = declare(
    __name__,
    source="DeepHash-pytorch, its dataset voc2012 (data/voc2012/code.py)",
    summary="Pascal VOC 2012, 20 classes: 1,000 queries and 4,000 training images; the 6,540 others are the database",
    partitions={"query": Drawn(size=1_000), "train": Drawn(size=4_000), "database": Rest()},
    n_items=11_540,
    n_classes=20,
)
