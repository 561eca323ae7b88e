"""MIRFlickr-25K as DeepHash-pytorch draws it: the training set is no part of the database.

The protocol is drawn anew; DeepHash-pytorch's own lists are not part of this package.
"""

from protocol.registry import SplitRecord
from protocol.splits._protocol import Drawn, Rest, SplitProtocol

MIRFLICKR_1K = SplitRecord(
    "mirflickr_1k",
    source="DeepHash-pytorch, its dataset mirflickr (data/mirflickr/code.py)",
    summary="MIRFlickr-25K, 38 labels: 1,000 queries, 4,000 to train on, the 20,000 others are the database",
)(
    SplitProtocol(
        {"query": Drawn(size=1_000), "train": Drawn(size=4_000), "database": Rest()},
        n_items=25_000,
        n_classes=38,
    )
)
