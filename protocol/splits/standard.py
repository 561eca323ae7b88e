"""The literature-standard split: the database contains all items except the queries, including the training set."""

from protocol.splits._protocol import DRAWN, Drawn, Rest, declare

STANDARD = declare(
    __name__,
    source="Moran 2016, thesis section 3.5.1, figure 3.6",
    summary="Literature standard: the database contains all items except the queries, so hashers rank the items "
    "on which they were trained",
    partitions={**dict.fromkeys(DRAWN, Drawn()), "database": Rest()},
    may_overlap={"database": ("validation_query", "validation_database", "train")},
    sample="random",
)
