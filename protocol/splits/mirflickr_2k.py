"""MIRFlickr-25K for cross-modal retrieval: the 20,015 images with enough tags, 2,000 of them as queries.

The partitions are drawn at random. DCMH's Python code uses the first 2,000 items of its file as queries and the next
10,000 as the training set, its MATLAB code draws them; that file is not part of this package.
"""

from protocol.splits._protocol import Drawn, Rest, declare

MIRFLICKR_2K = declare(
    __name__,
    source="Jiang and Li 2017, Deep Cross-Modal Hashing, section 4.1, and the authors' code (DCMH_demo.py)",
    summary="MIRFlickr-25K, 24 labels: 2,000 queries; 18,015 images in the database, including 10,000 for training; "
    "drawn at random",
    partitions={"query": Drawn(size=2_000), "train": Drawn(size=10_000), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=20_015,
    n_classes=24,
)
