"""NUS-WIDE with its 21 most frequent concepts: queries and training images are drawn for each concept, none twice.

An image drawn for one concept often shows others too, so most concepts have more images than were drawn for them.
"""

from protocol.splits._protocol import Drawn, Rest, declare

NUSWIDE_21 = declare(
    __name__,
    source="He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.1, and the authors' code (split_nus.m)",
    summary="NUS-WIDE, 21 concepts: 100 queries and 500 training images of each; 193,734 images in the database",
    partitions={"query": Drawn(per_class=100), "train": Drawn(per_class=500), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=195_834,
    n_classes=21,
)
