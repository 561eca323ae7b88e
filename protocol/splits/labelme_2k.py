"""LabelMe: 2,000 queries; the rest is the database, with 5,000 training images."""

from protocol.splits._protocol import Drawn, Rest, declare

LABELME_2K = declare(
    __name__,
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1",
    summary="LabelMe: 2,000 queries; 20,019 images in the database, including 5,000 training images; drawn at random",
    partitions={"query": Drawn(size=2_000), "train": Drawn(size=5_000), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=22_019,
)
