"""Wiki with its authors' lists: the test items are the queries; the training items are both training set and database.

The authors rank the test items against each other; here, no query's own pair is in the database.
"""

from protocol.splits._protocol import Official, declare

WIKI_OFFICIAL = declare(
    __name__,
    source="Rasiwasia et al. 2010, A New Approach to Cross-Modal Multimedia Retrieval, and its lists",
    summary="Wiki: the 693 official test items are the queries; the 2,173 others are both database and training set",
    partitions={"query": Official("test", 693), **dict.fromkeys(("train", "database"), Official("train", 2_173))},
    may_overlap={"database": ("train",)},
    n_items=2_866,
    n_classes=10,
)
