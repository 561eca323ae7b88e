"""NUS-WIDE with all 81 concepts as HashNet describes it: 5,000 queries; 10,000 training images in the database.

The partitions are drawn at random from the available images; HashNet's own lists are not part of this package. The
size of the database is not fixed, because it depends on how many of the images could still be downloaded.
"""

from protocol.registry import SplitRecord
from protocol.splits._protocol import Drawn, Rest, SplitProtocol

NUSWIDE_81 = SplitRecord(
    "nuswide_81",
    module=__name__,
    source="Cao et al. 2017, HashNet: Deep Learning to Hash by Continuation, section 4.1; sizes counted in its lists",
    summary="NUS-WIDE, 81 concepts: 5,000 queries; the rest is the database, including 10,000 training images; "
    "drawn at random",
)(
    SplitProtocol(
        {"query": Drawn(size=5_000), "train": Drawn(size=10_000), "database": Rest()},
        may_overlap={"database": ("train",)},
        n_classes=81,
    )
)
