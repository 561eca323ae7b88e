"""MS-COCO as HashNet describes it: 5,000 queries; the rest is the database, with 10,000 training images.

The partitions are drawn at random; HashNet's own lists are not part of this package. Those lists differ from the
description: their database contains 112,218 images, among them all 5,000 queries (repository thuml/HashNet,
``data/coco``).
"""

from protocol.splits._protocol import Drawn, Rest, declare

COCO_5K = declare(
    __name__,
    source="Cao et al. 2017, HashNet: Deep Learning to Hash by Continuation, section 4.1; not its lists, whose "
    "database includes the queries",
    summary="MS-COCO, 80 classes: 5,000 queries; 117,218 images in the database, including 10,000 for training; "
    "drawn at random",
    partitions={"query": Drawn(size=5_000), "train": Drawn(size=10_000), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=122_218,
    n_classes=80,
)
